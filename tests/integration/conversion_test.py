#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Conversions as processes: killed and started again, in parts, under a launcher."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

from support import (COMMAND, GOOD, USAGE, CommandTest, gzip_bytes, main, make_records, read_file, run, run_good,
                     run_json, start, tfrecord, write_file)

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ID = "0123456789abcdef" * 2
INTERRUPTED = 130


def files_below(folder):
    """The bytes of all files, by their paths."""
    found = {}
    for below, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(below, name)
            found[os.path.relpath(path, folder)] = read_file(path)
    return found


class ConversionTest(CommandTest):
    def put_sources(self, files=6, records=1500):
        """TFRecord files, every other one compressed; gives their folder."""
        os.mkdir(self.path("src"))
        self.framed = b""
        for i in range(files):
            data = tfrecord(make_records(records + 100 * i, seed=60 + i, longest=3000))
            self.framed += data
            name = f"{i}.tfrecord" + (".gz" if i % 2 else "")
            write_file(self.path("src", name), gzip_bytes(data) if i % 2 else data)
        return self.path("src")

    def test_killed_at_any_time_it_continues_and_ends_with_the_same_files(self):
        source = self.put_sources()
        seed = random.SystemRandom().randrange(1 << 32)
        print(f"seed {seed}")
        draws = random.Random(seed)
        for flags in ([], ["--shuffle", "3"], ["--split", "train=0.8,val=0.2"], ["--overwrite"]):
            with self.subTest(flags=flags):
                datasets = ["train", "val"] if "--split" in flags else [""]
                arguments = ["convert", source, "--dataset-id", ID, "--shards", "40", *flags, "--to"]
                begin = time.monotonic()
                run_good(*arguments, self.path("whole"))
                seconds = time.monotonic() - begin
                target = self.path("target")
                if "--overwrite" in flags:
                    run_good("convert", source, "--to", target, "--shards", "7")
                replaces = os.path.exists(target)
                kills = kept = 0
                while True:
                    process = start(*arguments, target, "--json")
                    try:
                        # Each time it gets a little longer, so that an unlucky machine comes to an end as well.
                        out, errors = process.communicate(timeout=draws.uniform(0, seconds * (0.5 + kills / 20)))
                        # It may have been killed when all was done but its report.
                        if process.returncode == USAGE and kills and b"already exists" in errors:
                            break
                        self.assertEqual(process.returncode, GOOD, errors)
                        kept = json.loads(out)["kept_shards"]
                        break
                    except subprocess.TimeoutExpired:
                        process.kill()
                        process.communicate()
                        kills += 1
                    whole = [name for name in datasets if os.path.exists(os.path.join(target, name, "manifest.dvt"))]
                    self.assertIn(whole, [datasets] if replaces else [[], datasets])
                    for name in whole:
                        self.assertTrue(run_json("verify", os.path.join(target, name))["ok"])
                    if not whole:
                        self.assertNotEqual(run("inspect", target).returncode, GOOD, "it looks finished")
                print(f"{kills} kills, then {kept} shards were there")
                self.assertEqual(files_below(target), files_below(self.path("whole")))
                self.assertEqual(sorted(os.listdir(self.folder)), ["src", "target", "whole"])
                shutil.rmtree(target)
                shutil.rmtree(self.path("whole"))

    def test_an_interrupt_keeps_what_is_finished_and_says_so(self):
        source = self.put_sources()
        target = self.path("target")
        arguments = ["convert", source, "--to", target, "--shards", "60", "--jobs", "1", "--dataset-id", ID]
        process = start(*arguments)
        work = target + ".partial"
        deadline = time.monotonic() + 60
        while not (os.path.isdir(work) and sum(name.startswith("shard") for name in os.listdir(work)) >= 3):
            self.assertLess(time.monotonic(), deadline, "the conversion does not begin")
            self.assertIsNone(process.poll(), "the conversion was over too soon")
            time.sleep(0.0005)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.assertIn(b"of 60 shards are finished and kept; run the same command again to continue", errors)
        self.assertEqual([name for name in os.listdir(work) if ".partial-" in name], [])
        self.assert_fails(USAGE, *arguments, "--block-bytes", "1K", says=["block_bytes", "--no-resume"])
        self.assertGreaterEqual(run_json(*arguments)["kept_shards"], 3)
        self.assertFalse(os.path.exists(work))
        self.assertEqual(run_good("cat", target, "--format", "tfrecord"), self.framed)

    def test_a_shuffle_needs_no_more_memory_for_more_data(self):
        peaks = []
        for megabytes in (64, 256):
            source = self.path(f"lines-{megabytes}")
            with open(source, "wb") as lines:
                for i in range(megabytes):
                    lines.write(random.Random(i).randbytes(1 << 19).hex().encode() + b"\n")
                    lines.write(b"".join(b"%d\n" % (i * 10_000 + n) for n in range(10_000)))
            process = start("convert", source, "--from", "lines", "--to", self.path("target"), "--overwrite", "--codec",
                            "none", "--shard-bytes", "16M", "--jobs", "2", "--shuffle", "1", "--memory", "16M")
            process.stdout.read()
            errors = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            process.stdout.close()
            process.stderr.close()
            self.assertEqual(status, 0, errors)
            peaks.append(usage.ru_maxrss / 1024)
        print(f"at most {peaks} MiB in memory")
        self.assertLess(peaks[1], peaks[0] + 48)

    def test_an_unfinished_conversion_does_not_open(self):
        source = self.put_sources(files=2)
        target = self.path("target")
        run_good("convert", source, "--to", target, "--shards", "4", "--part", "0/2")
        staged = target + ".partial"
        for command in (["inspect", target], ["inspect", staged], ["cat", staged],
                        ["plan", staged, "--world", "1", "--batch", "1"]):
            self.assertNotEqual(run(*command).returncode, GOOD, command)
        for path in (target, staged):
            self.assertIn(f"`dovetail merge {target}`".encode(), run("inspect", path).stderr)
        self.assert_fails(1, "merge", target, says="part 1 of 2 is missing")
        self.assert_fails(2, "merge", staged, says=f"give the name that it will have, {target}")
        self.assert_fails(2, "merge", os.path.abspath(__file__), says="give the folder")

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_four_processes_under_a_launcher_make_one_dataset(self):
        source = self.put_sources()
        target = self.path("target")
        command = [COMMAND, "convert", source, "--to", target, "--shards", "10", "--dataset-id", ID, "--jobs", "1",
                   "--part", "auto", "--json"]
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(["mpirun", "--oversubscribe", "-np", "4", *command], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        parts = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(sorted(part["part"] for part in parts), ["0/4", "1/4", "2/4", "3/4"])
        self.assertEqual(sorted(part["shards"] for part in parts), [2, 2, 3, 3])
        merged = run_json("merge", target)
        self.assertEqual(merged["records"], sum(part["records"] for part in parts))
        run_good("convert", source, "--to", self.path("whole"), "--shards", "10", "--dataset-id", ID)
        self.assertEqual(files_below(target), files_below(self.path("whole")))
        self.assertEqual(run_good("cat", target, "--format", "tfrecord"), self.framed)

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_the_commands_of_the_document_work_as_printed(self):
        with open(os.path.join(ROOT, "docs", "convert.md"), encoding="utf-8") as document:
            blocks = re.findall(r"^```sh\n(.*?)^```$", document.read(), re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 3)
        os.rename(self.put_sources(files=4, records=300), self.path("raw"))
        # More processes than cores: what the option --oversubscribe is to Open MPI 4, and from 5 on to PRRTE in it.
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_rmaps_base_oversubscribe="1",
                           PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
                           PATH=f"{os.path.dirname(os.path.abspath(COMMAND))}:{os.environ['PATH']}")
        for block in blocks:
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", block], cwd=self.folder, env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
            self.assertEqual(done.returncode, 0, f"{block}\n{done.stdout.decode()}")

    def test_wrong_parts_and_splits_are_usage_errors(self):
        source = self.put_sources(files=1, records=10)
        target = self.path("target")
        for part in ("4/4", "1", "x/2", "1/", "-1/2", "1/0"):
            self.assert_fails(USAGE, "convert", source, "--to", target, "--part=" + part, says=part)
        for split in ("train=0.9", "a=0.5,b=0.6", "../a=1"):
            self.assert_fails(USAGE, "convert", source, "--to", target, "--split", split, says="split")
        self.assertFalse(os.path.exists(target))


if __name__ == "__main__":
    main()
