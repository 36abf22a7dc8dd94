#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Standard input and pipes as sources: what they make, what they cannot be, and how waiting for them ends."""

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import resource
import signal
import subprocess
import tarfile
import threading
import time
import unittest

from support import (COMMAND, DAMAGED, GOOD, IO, USAGE, CommandTest, main, make_records, read_file, run, run_good,
                     run_json, start, tfrecord, write_file)

ID = "0123456789abcdef" * 2
INTERRUPTED = 130
STREAM = b"(standard input)"


def files_below(folder):
    return {os.path.relpath(os.path.join(below, name), folder): read_file(os.path.join(below, name))
            for below, _, names in os.walk(folder) for name in names}


def json_lines(count):
    return b"".join(b'{"i": %d, "text": "%s"}\n' % (i, b"x" * (i * 7919 % 200)) for i in range(count))


def tar_of(records):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for i, record in enumerate(records):
            entry = tarfile.TarInfo(f"{i}.bin")
            entry.size = len(record)
            archive.addfile(entry, io.BytesIO(record))
    return packed.getvalue()


class StreamsTest(CommandTest):
    def targets(self):
        """Everything in the test's folder, hidden files too."""
        return sorted(os.listdir(self.path("")))

    def run_without_input(self, *command):
        """Runs a command whose standard input stays open and gives nothing."""
        reading, writing = os.pipe()
        try:
            return subprocess.run(command, stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  cwd=self.path(""), timeout=60)
        except subprocess.TimeoutExpired:
            self.fail("it waits")
        finally:
            os.close(reading)
            os.close(writing)

    def test_a_stream_makes_the_files_that_its_bytes_make_as_a_file(self):
        data = gzip.compress(json_lines(4000))
        source = write_file(self.path("a.jsonl.gz"), data)
        for flags in (["--shards", "5", "--jobs", "3"], ["--shuffle", "3"], ["--shard-bytes", "100K"],
                      ["--split", "train=0.8,val=0.2"]):
            with self.subTest(flags=flags):
                arguments = ["convert", "--dataset-id", ID, *flags]
                run_good(*arguments, source, "--overwrite", "--to", self.path("of_file"))
                done = run(*arguments, "-", "--overwrite", "--to", self.path("of_stream"), "--json", input=data)
                self.assertEqual(done.returncode, GOOD, done.stderr)
                report = json.loads(done.stdout)
                self.assertEqual((report["records"], report["input_bytes"]), (4000, len(data)))
                self.assertEqual([source["path"] for source in report["sources"]], ["-"])
                self.assertEqual(files_below(self.path("of_stream")), files_below(self.path("of_file")))

    def test_pipes_are_streams_by_their_paths_and_stand_among_files(self):
        write_file(self.path("first.jsonl"), json_lines(10))
        os.mkfifo(self.path("pipe"))
        reading, writing = os.pipe()

        def feed():
            time.sleep(0.3)  # a pipe without a writer is waited for
            write_file(self.path("pipe"), json_lines(20))
            with os.fdopen(writing, "wb") as file:
                file.write(json_lines(30))

        feeder = threading.Thread(target=feed)
        feeder.start()
        done = run("convert", self.path("first.jsonl"), self.path("pipe"), f"/dev/fd/{reading}", "--to",
                   self.path("out"), "--json", pass_fds=[reading])
        os.close(reading)
        feeder.join()
        self.assertEqual(done.returncode, GOOD, done.stderr)
        self.assertEqual(run_good("cat", self.path("out"), "--format", "raw"),
                         (json_lines(10) + json_lines(20) + json_lines(30)).replace(b"\n", b""))

    def test_the_format_is_found_by_content_or_has_to_be_said(self):
        records = make_records(50, seed=1)
        for name, data in (("jsonl", json_lines(50)), ("tfrecord", tfrecord(records)), ("tar", tar_of(records))):
            for pack in (bytes, gzip.compress, bz2.compress, lzma.compress):
                report = json.loads(run("convert", "-", "--overwrite", "--to", self.path("out"), "--json",
                                        input=pack(data)).stdout)
                self.assertEqual((report["records"], report["sources"][0]["format"]), (50, name))
        table = b"name,number\na,1\nb,2\n"
        refused = run("convert", "-", "--to", self.path("text"), input=table)
        self.assertEqual(refused.returncode, USAGE)
        self.assertIn(STREAM, refused.stderr)
        self.assertIn(b"--from csv or --from lines", refused.stderr)
        for word, count in (("csv", 2), ("lines", 3)):
            report = json.loads(run("convert", "-", "--from", word, "--overwrite", "--to", self.path("text"), "--json",
                                    input=table).stdout)
            self.assertEqual(report["records"], count)

    def test_streams_become_tfrecords(self):
        records = make_records(300, seed=2)
        done = run("convert", "-", "--to-tfrecord", self.path("all.tfrecord"), input=gzip.compress(tfrecord(records)))
        self.assertEqual(done.returncode, GOOD, done.stderr)
        self.assertEqual(read_file(self.path("all.tfrecord")), tfrecord(records))

    def test_what_a_stream_cannot_do_is_refused_before_it_is_read(self):
        run_good("convert", write_file(self.path("a.jsonl"), json_lines(3)), "--to", self.path("there"))
        run_good("convert", self.path("a.jsonl"), "--to-tfrecord", self.path("all.tfrecord"))
        run_good("convert", self.path("a.jsonl"), "--to-tfrecord", self.path("exported"))
        before = self.targets()
        for arguments, said in (
                (["-", "-", "--to", "x"], b"given twice"),
                (["-", "--to", "x", "--part", "0/2"], b"part"),
                (["-", "--to", "x", "--from", "folder"], b"stream is one file"),
                (["-", "--to", "x", "--from", "mds"], b"stream is one file"),
                (["-", "--to", "there"], b"already"),
                (["-", "--to-tfrecord", "all.tfrecord"], b"exists"),
                (["-", "--to-tfrecord", "x.tfrecord", "--shards", "2"], b"names one"),
                (["-", "--to-tfrecord", "exported"], b"exists")):
            with self.subTest(arguments=arguments):
                done = self.run_without_input(COMMAND, "convert", *arguments)
                self.assertEqual(done.returncode, USAGE, done.stderr)
                self.assertIn(said, done.stderr)
        self.assertEqual(self.targets(), before)
        shard = read_file(os.path.join(self.path("there"), sorted(os.listdir(self.path("there")))[-1]))
        packed = run("convert", "-", "--to", self.path("x"), input=shard)
        self.assertEqual(packed.returncode, USAGE)
        self.assertIn(b"Dovetail shard", packed.stderr)
        self.assertEqual(self.targets(), before)

    def test_text_is_refused_where_it_begins(self):
        for pack in (bytes, gzip.compress):
            process = start("convert", "-", "--to", self.path("x"), stdin=subprocess.PIPE)
            line = pack(os.urandom(1 << 21).hex().encode() + b"\n")
            try:
                process.stdin.write(line)
                process.stdin.flush()
                process.wait(30)  # while there may be more
            except BrokenPipeError:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                self.fail("it waits")
            finally:
                told = process.stderr.read() if process.poll() is not None else b""
                process.stdout.close()
                process.stderr.close()
                try:
                    process.stdin.close()
                except BrokenPipeError:
                    pass
            self.assertEqual(process.returncode, USAGE, told)
            self.assertIn(b"--from csv or --from lines", told)
        pixels = bytes(i % 251 for i in range(2 << 20))  # an IDX file is told by its size, too
        images = b"\0\0\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (2048, 32, 32)) + pixels
        done = run("convert", "-", "--to", self.path("x"), "--json", input=images)
        self.assertEqual(done.returncode, GOOD, done.stderr)
        self.assertEqual(json.loads(done.stdout)["sources"][0]["format"], "idx")

    def test_a_stream_has_one_name_in_errors(self):
        other = write_file(self.path("other.csv"), b"a,c\n1,2\n")
        for sources in (["-", other], [other, "-"]):
            done = run("convert", *sources, "--from", "csv", "--to", self.path("x"), input=b"a,b\n1,2\n")
            self.assertNotEqual(done.returncode, GOOD)
            self.assertIn(STREAM, done.stderr)
            self.assertIn(b"other.csv", done.stderr)
            self.assertNotIn(b"/proc/", done.stderr)
        for arguments in (["--part", "0/2"], ["--from", "tfrecord"]):
            done = run("convert", "-", *arguments, "--to", self.path("x"), input=b"")
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertIn(STREAM, done.stderr)

    def test_a_missing_proc_is_told_before_anything_is_read(self):
        hidden = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                  'mount -t tmpfs none /proc && exec "$@"', "sh"]
        try:
            possible = subprocess.run([*hidden, "true"], stderr=subprocess.DEVNULL).returncode == 0
        except FileNotFoundError:
            possible = False
        if not possible:
            self.skipTest("/proc cannot be hidden here")
        done = self.run_without_input(*hidden, COMMAND, "convert", "-", "--to", self.path("x"))
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertIn(b"if /proc is mounted", done.stderr)
        self.assertEqual(self.targets(), [])

    def test_what_a_killed_copy_has_left_is_no_unfinished_output(self):
        os.mkdir(self.path("in"))
        source = write_file(self.path("in", "a.jsonl"), json_lines(3))
        write_file(self.path("in", ".dovetail-unnamed.partial-1-0123abcd"), b"begun")
        done = run("convert", os.path.dirname(source), "--to", self.path("out"), "--json")
        self.assertEqual(done.returncode, GOOD, done.stderr)
        self.assertEqual(json.loads(done.stdout)["records"], 3)

    def test_damage_and_emptiness_leave_nothing_and_name_the_stream(self):
        whole = gzip.compress(json_lines(2000))
        for data, code, said in ((whole[:-20], DAMAGED, b"(standard input):"),
                                 (json_lines(9) + b"no json\n", DAMAGED, b"line 10"), (b"", USAGE, b"empty")):
            done = run("convert", "-", "--to", self.path("out"), input=data)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(STREAM, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertNotIn(b"/proc/", done.stderr)
            self.assertEqual(self.targets(), [])
        done = run("convert", "-", "--to", self.path("out"), "--on-error", "skip", input=whole[:-20])
        self.assertEqual(done.returncode, GOOD, done.stderr)
        self.assertIn(STREAM, done.stderr)
        self.assertNotIn(b"/proc/", done.stderr + done.stdout)

    def test_waiting_for_a_stream_ends_with_an_interrupt(self):
        os.mkfifo(self.path("pipe"))
        for source in ("-", self.path("pipe")):
            process = start("convert", source, "--to", self.path("out"), stdin=subprocess.PIPE)
            time.sleep(0.5)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            process.wait(30)  # while nothing was written and nothing closed
            process.communicate()
            self.assertEqual(process.returncode, INTERRUPTED)
            self.assertEqual(self.targets(), ["pipe"])

    def test_a_disk_without_room_is_named(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        done = run("convert", "-", "--to", self.path("out"), input=json_lines(40_000), preexec_fn=limit)
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertIn(b"cannot copy (standard input) here", done.stderr)
        self.assertIn(os.fsencode(self.path("")), done.stderr)
        self.assertEqual(self.targets(), [])

    def test_a_closed_standard_input_is_an_error(self):
        for target in ("--to", "--to-tfrecord"):
            done = subprocess.run(["sh", "-c", f'exec "{COMMAND}" convert - {target} "{self.path("out")}" <&-'],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(done.returncode, IO, done.stderr)
            self.assertIn(STREAM, done.stderr)
            self.assertIn(os.strerror(errno.EBADF).encode(), done.stderr)
            self.assertEqual(self.targets(), [])

    def test_a_pipe_is_closed_where_its_first_writer_leaves(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        process = start("convert", pipe, "-", "--from", "jsonl", "--to", self.path("out"), "--json",
                        stdin=subprocess.PIPE)
        write_file(pipe, json_lines(20))
        refused = None
        for _ in range(200):  # until the end was seen
            try:
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            except OSError as error:
                refused = error.errno
                break
            time.sleep(0.05)
        done, told = process.communicate(json_lines(10), timeout=60)
        self.assertEqual(process.returncode, GOOD, told)
        self.assertEqual(json.loads(done)["records"], 30)
        self.assertEqual(refused, errno.ENXIO, "a second writer has nobody who reads")

    def test_standard_input_is_known_by_its_other_names(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        os.symlink("/dev/stdin", self.path("link"))
        os.symlink("pipe", self.path("other"))
        for source in ("/dev/stdin", self.path("link"), "/dev/fd/0", pipe):
            with self.subTest(source=source):
                reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
                write_file(pipe, json_lines(20))  # and its writer has left
                process = start("convert", source, "--overwrite", "--to", self.path("out"), "--json", stdin=reading)
                try:
                    done, told = process.communicate(timeout=30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    self.fail("it waits")
                finally:
                    os.close(reading)
                self.assertEqual(process.returncode, GOOD, told)
                self.assertEqual(json.loads(done)["records"], 20)
        for sources in (["-", "/dev/stdin"], ["-", self.path("link")], [pipe, self.path("other")]):
            with self.subTest(sources=sources):
                done = run("convert", *sources, "--to", self.path("x"), input=json_lines(20))
                self.assertEqual(done.returncode, USAGE, done.stderr)
                self.assertIn(b"given twice", done.stderr)

    def test_stopped_it_continues_with_the_same_bytes_and_with_no_others(self):
        data = tfrecord([bytes([i % 251]) * 100_000 for i in range(1500)])
        target = self.path("out")
        arguments = ["convert", "-", "--shards", "150", "--jobs", "1", "--to", target]
        process = start(*arguments, stdin=subprocess.PIPE)
        process.stdin.write(data)
        process.stdin.close()
        work = target + ".partial"
        while process.poll() is None:
            if os.path.isdir(work) and sum(name.startswith("shard") for name in os.listdir(work)) > 2:
                process.kill()
                break
            time.sleep(0.001)
        process.wait()
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(process.returncode, -signal.SIGKILL)
        other = run(*arguments, input=data[:100_016])
        self.assertEqual(other.returncode, USAGE)
        self.assertIn(b"another conversion is unfinished here", other.stderr)
        done = run(*arguments, "--json", input=data)
        self.assertEqual(done.returncode, GOOD, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["records"], 1500)
        self.assertGreater(report["kept_shards"], 0)
        self.assertEqual(run_json("verify", target)["records"], 1500)
        self.assertFalse(os.path.exists(work))


if __name__ == "__main__":
    main()
