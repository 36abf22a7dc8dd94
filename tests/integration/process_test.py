#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command among other processes: signals, closed pipes, full disks, launchers."""

import os
import resource
import signal
import subprocess
import time

from support import (COMMAND, GOOD, IO, CommandTest, main, make_records, run, run_json, start, write_file)

INTERRUPTED = 130


class ProcessTest(CommandTest):
    def interrupt(self, number):
        """Signals a conversion once it has begun to write; gives the process when it has ended."""
        source = write_file(self.path("lines"), b"one line of text\n" * 4_000_000)
        target = self.path("target")
        staged = target + ".partial"
        process = start("convert", source, "--from", "lines", "--to", target, "--jobs", "1")
        deadline = time.monotonic() + 60
        while not (os.path.isdir(staged) and ".dovetail-part-00000-of-00001.conversion" in os.listdir(staged)):
            self.assertLess(time.monotonic(), deadline, "the conversion does not begin")
            self.assertIsNone(process.poll(), "the conversion was over too soon")
            time.sleep(0.001)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        return process.returncode, errors

    def test_interrupts_remove_every_file(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                code, errors = self.interrupt(number)
                self.assertEqual(code, INTERRUPTED, errors)
                self.assertEqual(os.listdir(self.folder), ["lines"])

    def test_a_closed_pipe_is_silent(self):
        dataset = self.make_dataset(make_records(20_000, seed=40))
        for form in ("hex", "tfrecord"):
            process = start("cat", dataset, "--format", form)
            process.stdout.read(10)
            process.stdout.close()
            errors = process.stderr.read()
            process.stderr.close()
            self.assertEqual((process.wait(timeout=60), errors), (GOOD, b""))

    def test_a_full_disk_leaves_nothing_that_looks_finished(self):
        source = write_file(self.path("lines"), b"".join(b"%d\n" % (i * 7919) for i in range(400_000)))
        target = self.path("target")

        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        done = run("convert", source, "--from", "lines", "--to", target, "--codec", "none", preexec_fn=limit_files)
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertIn(target, done.stderr.decode())
        self.assertEqual(os.listdir(self.folder), ["lines"])

    def test_full_standard_output_is_an_error(self):
        dataset = self.make_dataset(make_records(100, seed=41))
        for arguments in (("cat", dataset), ("inspect", dataset), ("plan", dataset, "--world", "1", "--batch", "1")):
            with self.subTest(command=arguments[0]), open("/dev/full", "wb") as full:
                done = subprocess.run([COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, IO)
                self.assertIn(b"standard output", done.stderr)

    def test_an_ids_file_that_cannot_be_written_is_an_error(self):
        dataset = self.make_dataset(make_records(100, seed=42))
        for path in ("/dev/full", self.path("no", "folder")):
            self.assert_fails(IO, "read", dataset, "--rank", "0", "--world", "1", "--batch", "1", "--ids", path,
                              says=path)

    def test_launchers_are_recognised(self):
        dataset = self.make_dataset(make_records(100, seed=43))
        launchers = ({"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"},
                     {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                      "OMPI_COMM_WORLD_LOCAL_SIZE": "4"})
        digests = {run_json("read", dataset, "--rank", "1", "--world", "4", "--batch", "5")["digest"]}
        for launcher in launchers:
            done = subprocess.run([COMMAND, "read", dataset, "--batch", "5", "--json"], env=launcher, check=True,
                                  stdout=subprocess.PIPE)
            digests.add(done.stdout.partition(b'"digest":"')[2][:32].decode())
        self.assertEqual(len(digests), 1)


if __name__ == "__main__":
    main()
