#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs on the page of `inspect --html` work as they are copied, for any names of path and columns."""

import contextlib
import html
import io
import os
import re
import shutil
import subprocess

from fixtures import main, skip_all
from programs import ShellTest
from support import COMMAND, tfrecord

import dovetail

if not os.path.exists(COMMAND):
    skip_all("built without the command")

INCLUDE = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include"))
COMPILER = shutil.which("c++") or ""
PROGRAM = re.compile(r'<pre class="program" data-language="(.*?)">(.*?)</pre>', re.DOTALL)
HOSTILE = "a 'b' $(c) \"d\"\\1 \t&amp;<i>"


class PageProgramsTest(ShellTest):
    def programs(self, path, *flags):
        subprocess.run([COMMAND, "inspect", path, "--html", "page.html", *flags], check=True, stdout=subprocess.DEVNULL)
        with open("page.html", encoding="utf-8") as file:
            return {language: html.unescape(text) for language, text in PROGRAM.findall(file.read())}

    def check(self, path, *flags):
        found = self.programs(path, *flags)
        self.assertEqual(list(found), ["Python", "C++", "shell"])
        self.run_shell(found["shell"])
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(found["Python"], "page.html", "exec"), {})
        self.assertTrue(printed.getvalue())
        if COMPILER:
            done = subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-I", INCLUDE, "-x", "c++", "-"],
                                  input=found["C++"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, found["C++"] + done.stdout)
        return found

    def write(self, path, records, **options):
        with dovetail.DatasetWriter(path, **options) as writer:
            writer.extend(records)

    def test_columns_that_are_stored(self):
        self.write("digits", (dovetail.example(text=b"x", label=i) for i in range(100)), schema="text:bytes, label:i64")
        found = self.check("digits")
        self.assertIn('batch["label"]', found["Python"])
        self.assertIn("columns=True", found["Python"])

    def test_columns_that_were_found_and_names_that_need_quotes(self):
        self.write(HOSTILE, (dovetail.example(**{HOSTILE: i}) for i in range(10)))
        self.check(HOSTILE, "--features")

    def test_records_without_columns(self):
        self.write("-bytes", (b"record %d" % i for i in range(100)))
        self.check("./-bytes")

    def test_sources_are_converted(self):
        with open("it's.tfrecord", "wb") as file:
            file.write(tfrecord([b"a", b"b"]))
        found = self.programs("it's.tfrecord")
        self.assertEqual(list(found), ["shell"])
        self.run_shell(found["shell"])
        self.assertEqual(len(dovetail.open("dataset")), 2)

    def test_an_empty_dataset_has_no_program(self):
        self.write("nothing", [])
        self.assertEqual(self.programs("nothing"), {})


if __name__ == "__main__":
    main()
