#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`dovetail recover`: what is whole is saved, what is lost is told, and the exit code says which of the two it was."""

import fcntl
import json
import os
import resource
import shutil
import signal
import time

from support import (DAMAGED, GOOD, IO, USAGE, CommandTest, flip_byte, main, make_records, read_file, run, run_good,
                     run_json, start, write_file)

INTERRUPTED = 130


def cat(path):
    return run_good("cat", path, "--format", "tfrecord")


class RecoverTest(CommandTest):
    def recover(self, code, *arguments):
        done = run("recover", *arguments, "--json")
        self.assertEqual(done.returncode, code, done.stderr.decode())
        report = json.loads(done.stdout)
        self.assertTrue(run_json("verify", arguments[1])["ok"])
        self.assertEqual(report["ok"], code == GOOD)
        self.assertEqual(report["lost_regions"], len(report["lost"]))
        self.assertLessEqual(report["source_bytes"], report["checked_bytes"])
        self.assertLessEqual(report["checked_bytes"], 9 * report["source_bytes"])
        return report

    def test_a_good_shard_and_a_good_dataset_are_copied(self):
        dataset = self.make_dataset(make_records(300, seed=80))
        shard = os.path.join(dataset, "shard-000001.dvt")
        report = self.recover(GOOD, shard, self.path("copy.dvt"))
        self.assertEqual((report["lost"], report["expected_records"]), ([], report["records"]))
        self.assertEqual(cat(self.path("copy.dvt")), cat(shard))
        self.recover(GOOD, dataset, self.path("copy"), "--dataset-id", "0" * 32)
        self.assertEqual(cat(self.path("copy")), cat(dataset))

    def test_a_cut_file_gives_its_whole_blocks(self):
        dataset = self.make_dataset(make_records(300, seed=81), "dataset", 1)
        shard = os.path.join(dataset, "shard-000000.dvt")
        blocks = run_json("inspect", shard, "--blocks")["block_list"]
        last = blocks[len(blocks) // 2]
        cut = write_file(self.path("cut.dvt"), read_file(shard)[:last["offset"] + 70])
        report = self.recover(DAMAGED, cut, self.path("out.dvt"))
        self.assertEqual((report["records"], report["expected_records"]), (last["first_record"], None))
        self.assertEqual(report["lost"][0]["records"], [last["first_record"], last["first_record"] + last["records"]])
        self.assertEqual(cat(self.path("out.dvt")), run_good("cat", shard, "--format", "tfrecord", "--range",
                                                             f"0:{last['first_record']}"))

    def test_what_a_killed_writer_leaves_is_saved(self):
        lines = [b"line %d of a long text" % i for i in range(2_000_000)]
        source = write_file(self.path("lines"), b"\n".join(lines) + b"\n")
        work = self.path("target.partial")
        process = start("convert", source, "--from", "lines", "--to", self.path("target"), "--shards", "1", "--codec",
                        "none", "--jobs", "1")
        deadline = time.monotonic() + 60
        partial = []
        while not partial:
            self.assertLess(time.monotonic(), deadline, "the conversion does not begin")
            self.assertIsNone(process.poll(), "the conversion was over too soon")
            names = os.listdir(work) if os.path.isdir(work) else []
            partial = [os.path.join(work, name) for name in names if name.startswith(".shard-000000.dvt.partial-")]
            partial = [path for path in partial if os.path.exists(path) and os.path.getsize(path) > 1 << 20]
        process.kill()
        process.communicate()
        report = self.recover(DAMAGED, partial[0], self.path("saved.dvt"))
        self.assertGreater(report["records"], 10_000)
        saved = run_good("cat", self.path("saved.dvt"), "--format", "raw")
        self.assertEqual(saved, b"".join(lines[:report["records"]]))

    def test_a_dataset_with_a_removed_and_a_damaged_shard(self):
        dataset = self.make_dataset(make_records(500, seed=82))
        counts = [shard["records"] for shard in run_json("inspect", dataset)["shards"]]
        damaged = os.path.join(dataset, "shard-000002.dvt")
        block = run_json("inspect", damaged, "--blocks")["block_list"][2]
        flip_byte(damaged, block["offset"] + 65)
        os.remove(os.path.join(dataset, "shard-000001.dvt"))
        report = self.recover(DAMAGED, dataset, self.path("out"))
        self.assertEqual([lost["records"] for lost in report["lost"]],
                         [[0, counts[1]], [block["first_record"], block["first_record"] + block["records"]]])
        self.assertEqual(report["expected_records"], 500)
        self.assertEqual(report["records"], 500 - counts[1] - block["records"])
        self.assertEqual([shard["records"] for shard in run_json("inspect", self.path("out"))["shards"]],
                         [counts[0], 0, counts[2] - block["records"], counts[3]])

    def test_the_text_names_every_place_and_ends_with_a_verdict(self):
        dataset = self.make_dataset(make_records(300, seed=83))
        shard = os.path.join(dataset, "shard-000000.dvt")
        block = run_json("inspect", shard, "--blocks")["block_list"][1]
        self.assertTrue(run("recover", shard, self.path("good.dvt")).stdout.startswith(b"good: saved "))
        flip_byte(shard, block["offset"] + 65)
        done = run("recover", shard, self.path("out.dvt"))
        lines = done.stdout.decode().splitlines()
        self.assertEqual((done.returncode, len(lines)), (DAMAGED, 2))
        self.assertTrue(lines[0].startswith(f"{shard}:{block['offset']}: "), lines[0])
        self.assertIn(f"records [{block['first_record']}, {block['first_record'] + block['records']})", lines[0])
        self.assertTrue(lines[1].startswith("damaged: 1 place; saved "), lines[1])
        done = run("recover", shard, self.path("again.dvt"), "--regions", "0")
        self.assertEqual(done.returncode, DAMAGED)
        self.assertEqual(done.stdout.decode().splitlines(), ["and 1 more place", lines[1]])

    def test_files_of_another_dataset_are_told(self):
        dataset = self.make_dataset(make_records(300, seed=85), "dataset", 3)
        os.remove(os.path.join(dataset, "manifest.dvt"))
        other = self.make_dataset(make_records(50, seed=86), "other", 1)
        stray = os.path.join(dataset, "stray.dvt")
        os.rename(os.path.join(other, "shard-000000.dvt"), stray)
        report = self.recover(DAMAGED, dataset, self.path("out"))
        self.assertEqual((report["records"], report["expected_records"]), (300, None))
        told = {lost["file"]: lost["reason"] for lost in report["lost"]}
        self.assertIn("another dataset", told[stray])

    def test_what_a_stopped_conversion_has_finished_is_saved(self):
        source = write_file(self.path("lines"), b"".join(b"line %d\n" % i for i in range(1000)))
        part = run_json("convert", source, "--from", "lines", "--to", self.path("target"), "--shards", "4", "--part",
                        "0/2")
        staged = self.path("target.partial")
        with open(os.path.join(staged, ".dovetail-lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assert_fails(DAMAGED, "recover", staged, self.path("out"), says="a writer is running here")
        self.assert_fails(USAGE, "recover", staged, self.path("target"), says="another target")
        self.assertFalse(os.path.exists(self.path("out")))
        report = self.recover(DAMAGED, staged, self.path("out"))
        self.assertEqual((report["records"], report["shards"]), (part["records"], 2))
        self.assertEqual(run_good("cat", self.path("out"), "--format", "raw", "--range", "0:2"), b"line 0line 1")
        os.rename(self.path("out"), self.path("target.replaced"))  # which a writer of target would put back
        self.assert_fails(USAGE, "recover", self.path("target.replaced"), self.path("target"), "--overwrite",
                          says="another target")

    def make_large(self):
        """A dataset of one shard that takes a while to recover."""
        source = write_file(self.path("lines"), b"".join(b"%d of a long text\n" % (i * 7919) for i in range(3_000_000)))
        run_good("convert", source, "--from", "lines", "--to", self.path("large"), "--shards", "1", "--codec", "none")
        return self.path("large")

    def test_a_recovery_that_is_stopped_leaves_nothing_that_looks_finished(self):
        dataset = self.make_large()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            for source in (os.path.join(dataset, "shard-000000.dvt"), dataset):
                with self.subTest(signal=number, source=source):
                    folder = self.path("target")
                    os.makedirs(folder, exist_ok=True)
                    target = os.path.join(folder, "out.dvt") if source.endswith(".dvt") else folder
                    written = folder if source.endswith(".dvt") else self.path("target.partial")
                    process = start("recover", source, target)
                    deadline = time.monotonic() + 60
                    while not (os.path.isdir(written) and any(".partial-" in name for name in os.listdir(written))):
                        self.assertLess(time.monotonic(), deadline, "the recovery does not begin")
                        self.assertIsNone(process.poll(), "the recovery was over too soon")
                        time.sleep(0.0005)
                    process.send_signal(number)
                    output, errors = process.communicate(timeout=60)
                    self.assertEqual(output, b"")
                    self.assertEqual([name for name in os.listdir(folder) if ".partial-" not in name], [])
                    if number == signal.SIGKILL:
                        self.assertNotEqual(run("inspect", written).returncode, GOOD, "it looks finished")
                        shutil.rmtree(written)
                    else:
                        self.assertEqual((process.returncode, os.listdir(folder)), (INTERRUPTED, []), errors)
                        self.assertEqual(sorted(os.listdir(self.folder)), ["large", "lines", "target"])

    def test_a_full_disk_leaves_nothing(self):
        dataset = self.make_large()

        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))

        for source in (os.path.join(dataset, "shard-000000.dvt"), dataset):
            target = self.path("out")
            done = run("recover", source, target, preexec_fn=limit_files)
            self.assertEqual((done.returncode, done.stdout), (IO, b""), done.stderr)
            self.assertIn(target, done.stderr.decode())
            self.assertFalse(os.path.exists(target))
            self.assertEqual([name for name in os.listdir(self.folder) if ".partial-" in name], [])

    def test_what_cannot_be_done_is_refused(self):
        dataset = self.make_dataset(make_records(50, seed=84), "dataset", 1)
        shard = os.path.join(dataset, "shard-000000.dvt")
        before = read_file(shard)
        self.assert_fails(USAGE, "recover", shard, shard, "--overwrite", says=[shard, "another target"])
        self.assert_fails(USAGE, "recover", dataset, dataset, "--overwrite", says=dataset)
        run_good("convert", dataset, "--to", self.path("split"), "--split", "train=0.5,val")
        self.assert_fails(USAGE, "recover", self.path("split", "val"), self.path("split"), "--overwrite",
                          says="another target")
        self.assert_fails(USAGE, "recover", shard, self.path("x.dvt"), "--dataset-id", "12", says="32 hex digits")
        self.assertEqual(read_file(shard), before)
        noise = write_file(self.path("noise"), b"no block" * 1000)
        self.assert_fails(USAGE, "recover", noise, self.path("out.dvt"), says=[noise, "found"])
        self.assert_fails(IO, "recover", self.path("missing"), self.path("out.dvt"), says="missing")
        self.assert_fails(USAGE, "recover", shard, noise, says="exists")
        self.assertFalse(os.path.exists(self.path("out.dvt")))
        run_good("recover", shard, noise, "--overwrite")


if __name__ == "__main__":
    main()
