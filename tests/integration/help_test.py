#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the command says of itself: its help, examples that work, and what was meant by a word that it does not know."""

import os
import re
import shutil
import subprocess

from payloads import png
from support import COMMAND, GOOD, USAGE, CommandTest, main, make_records, run, run_good, tfrecord, write_file


def subcommands():
    listing = run_good("--help").decode().split("Subcommands:")[1].split("Exit codes")[0]
    return re.findall(r"^  ([a-z]+) ", listing, re.MULTILINE)


def examples(*command):
    return re.findall(r"^ *(dovetail .*)$", run_good(*command, "--help").decode().split("Examples:\n")[1], re.MULTILINE)


class HelpTest(CommandTest):
    def test_alone_it_prints_its_help(self):
        self.assertEqual(run_good(), run_good("--help"))

    def test_help_is_a_subcommand_too(self):
        self.assertEqual(run_good("help"), run_good("--help"))
        for name in subcommands():
            self.assertEqual(run_good("help", name), run_good(name, "--help"))
        self.assert_fails(USAGE, "help", "convrt", says="did you mean 'convert'?")

    def prepare(self):
        """Files that the examples name, in a folder of their own."""
        shutil.rmtree(self.path("work"), ignore_errors=True)
        for label in ("cat", "dog"):
            os.makedirs(self.path("work", "images", label))
            for i in range(3):
                write_file(self.path("work", "images", label, f"{i}.png"), png(2 + i, 3))
        records = make_records(1000, seed=700)
        source = write_file(self.path("work", "train.tfrecord"), tfrecord(records))
        run_good("convert", source, "--to", self.path("work", "data"), "--shards", "2", "--run-records", "8")
        for part in ("0/2", "1/2"):
            run_good("convert", source, "--to", self.path("work", "parts"), "--shards", "2", "--part", part)
        for rank in ("0", "1"):
            read = run_good("read", self.path("work", "data"), "--rank", rank, "--world", "2", "--batch", "8", "--json")
            write_file(self.path("work", f"rank-{rank}.json"), read)

    def test_two_examples_end_each_help_and_work(self):
        os.symlink(os.path.abspath(shutil.which(COMMAND)), self.path("dovetail"))
        path = {"PATH": self.folder + os.pathsep + os.environ["PATH"]}
        for command in ((), *((name,) for name in subcommands())):
            lines = examples(*command)
            self.assertEqual(len(lines), 2, command)
            for line in lines:
                with self.subTest(line=line):
                    self.assertTrue(line.startswith(" ".join(("dovetail", *command))))
                    self.prepare()
                    if not command:
                        shutil.rmtree(self.path("work", "data"))
                        subprocess.run(["sh", "-c", lines[0]], cwd=self.path("work"), env={**os.environ, **path},
                                       stdout=subprocess.DEVNULL, check=True)
                        if line == lines[0]:
                            continue
                    done = subprocess.run(["sh", "-c", line], cwd=self.path("work"), stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, timeout=120, env={**os.environ, **path})
                    self.assertEqual(done.returncode, GOOD, done.stderr)

    def test_it_says_what_may_have_been_meant(self):
        for arguments, says in ((("inspekt",), "unknown subcommand 'inspekt'; did you mean 'inspect'?"),
                                (("inspekt", "x", "--json"), "did you mean 'inspect'?"),
                                (("raed", "x"), "did you mean 'read'?"),
                                (("read", "x", "--word", "2"), "option --word of 'read'; did you mean '--world'?"),
                                (("read", "--word=2"), "did you mean '--world'?"),
                                (("plan", "x", "--tial", "pad"), "did you mean '--tail'?"),
                                (("read", "x", "--state_out", "s"), "did you mean '--state-out'?"),
                                (("read", "x", "--batch_size", "2"), "did you mean '--batch'?"),
                                (("read", "x", "--batchsize", "2"), "did you mean '--batch'?"),
                                (("convert", "--shufle", "1"), "did you mean '--shuffle'?"),
                                (("--versoin",), "unknown option --versoin; did you mean '--version'?"),
                                (("convert", "x", "--codec", "snapy"), "not 'snapy'; did you mean 'snappy'?"),
                                (("cat", "x", "y"), "'cat' takes no more arguments: 'y'"),
                                (("cat", "--", "x", "--foo"), "'cat' takes no more arguments: '--foo'"),
                                (("cat", "x", "-"), "'cat' takes no more arguments: '-'"),
                                (("cat", "--foo", "--", "x"), "unknown option --foo of 'cat'")):
            with self.subTest(arguments=arguments):
                self.assert_fails(USAGE, *arguments, says=says)

    def test_nothing_is_guessed_that_is_far_off(self):
        for arguments, says in ((("fly",), "unknown subcommand 'fly'\n"),
                                (("convert", "x", "--codec", "lz4"), "it must be none, snappy or zstd, not 'lz4'\n"),
                                (("inspect", "--" + "x" * 10_000), "unknown option --xxx")):
            self.assertNotIn("did you mean", self.assert_fails(USAGE, *arguments, says=says))

    def test_the_help_to_try_is_that_of_the_subcommand(self):
        self.assertIn("Try 'dovetail read --help'.", self.assert_fails(USAGE, "read"))
        self.assertIn("Try 'dovetail --help'.", self.assert_fails(USAGE, "fly"))


class CountsTest(CommandTest):
    """One of a thing is no plural."""

    def test_one_record_in_one_file(self):
        write_file(self.path("one.txt"), b"x\n")
        dataset = self.path("one")
        plan = ("--world", "1", "--batch", "1")
        outputs = [run_good("convert", self.path("one.txt"), "--to", dataset), run_good("verify", dataset),
                   run_good("inspect", dataset), run_good("inspect", self.path("one.txt")),
                   run_good("plan", dataset, *plan), run_good("read", dataset, "--rank", "0", *plan),
                   run_good("recover", dataset, self.path("saved"))]
        write_file(self.path("one.tfrecord"), tfrecord([b"x"]))
        outputs.append(run_good("index", self.path("one.tfrecord")))
        self.assertIn("1 file, 2 B", outputs[0].decode())
        self.assertEqual(outputs[1].decode(), "good: the 1 record in 1 block is good\n")
        for output in outputs:
            self.assertNotRegex(output.decode(), r"(?<![\d.])1 (?!of )[a-z]+s\b")


class QuietTest(CommandTest):
    def test_a_machine_without_a_device_is_not_warned_of(self):
        dataset = self.make_dataset(make_records(20, seed=701))
        done = run("read", dataset, "--rank", "0", "--world", "1", "--batch", "2")
        self.assertEqual((done.returncode, done.stderr), (GOOD, b""))
        self.assertNotIn("no CUDA", done.stdout.decode())


if __name__ == "__main__":
    main()
