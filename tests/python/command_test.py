#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command that the package carries: `python -m dovetail`, and the program that pip makes of a wheel."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import dovetail
from fixtures import ModuleTest, main, read_file, skip_all, write_file

COMMAND = os.environ.get("DOVETAIL_COMMAND", "")
PACKAGE = os.path.dirname(dovetail.__file__)
if not COMMAND:
    skip_all("the command is not built")
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import backend  # noqa: E402


class ProcessTest(ModuleTest):
    def said(self, *command, text=b"", **options):
        """Exit code, output and errors of a process."""
        done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, **options)
        return done.returncode, done.stdout, done.stderr


class CommandTest(ProcessTest):
    def assert_same(self, *arguments, code=0, text=b""):
        """`python -m dovetail` does just what the command does."""
        expected = self.said(COMMAND, *arguments, text=text)
        self.assertEqual(expected[0], code, expected)
        self.assertEqual(self.said(sys.executable, "-m", "dovetail", *arguments, text=text), expected)

    def test_python_runs_the_command(self):
        self.assert_same("--version")
        self.assert_same("verify", self.make_dataset())
        self.assert_same("convert", "--help")

    def test_exit_codes_and_standard_input_are_those_of_the_command(self):
        self.assert_same("verify", code=2)
        self.assert_same("verify", self.path("missing"), code=3)
        packed = self.path("packed")
        code, _, errors = self.said(sys.executable, "-m", "dovetail", "convert", "-", "--from", "jsonl", "--to", packed,
                                    text=b'{"a": 1}\n{"a": 2}\n')
        self.assertEqual((code, dovetail.verify(packed).records), (0, 2), errors)

    def test_arguments_need_not_be_text(self):
        self.assert_same("verify", os.fsencode(self.folder) + b"/\xff \n", code=3)

    def test_without_the_command_it_says_which_file_is_missing(self):
        shutil.copytree(PACKAGE, self.path("dovetail"), ignore=shutil.ignore_patterns("bin"))
        missing = os.path.join(os.path.realpath(self.folder), "dovetail", "bin", "dovetail")
        code, out, errors = self.said(sys.executable, "-m", "dovetail", "--version", cwd=self.folder,
                                      env={**os.environ, "PYTHONPATH": self.folder})
        self.assertEqual((code, out, errors.decode()),
                         (3, b"", f"dovetail: error: cannot run the command: {missing}: No such file or directory\n"))


@unittest.skipUnless(importlib.util.find_spec("ensurepip"), "there is no ensurepip, which makes environments")
class WheelTest(ProcessTest):
    def setUp(self):
        super().setUp()
        name = backend.write_wheel(self.folder, backend.package_files(pathlib.Path(PACKAGE)))
        self.run_good(sys.executable, "-m", "venv", "--system-site-packages", self.path("environment"))
        self.bin = self.path("environment", "bin")
        self.before = self.installed()
        self.pip("install", "--no-index", "--no-deps", self.path(name))

    def run_good(self, *command):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        code, out, errors = self.said(*command, cwd=self.folder, env=environment)
        self.assertEqual(code, 0, errors)
        return out.decode()

    def pip(self, *arguments):
        self.run_good(os.path.join(self.bin, "pip"), *arguments)

    def installed(self):
        return {path for path in pathlib.Path(self.path("environment")).rglob("*") if "__pycache__" not in path.parts}

    def test_pip_installs_the_command_and_removes_it(self):
        command = os.path.join(self.bin, "dovetail")
        version = self.said(COMMAND, "--version")[1].decode()
        self.assertEqual(self.run_good(command, "--version"), version)
        self.assertEqual(self.run_good(os.path.join(self.bin, "python"), "-m", "dovetail", "--version"), version)

        write_file(self.path("lines.jsonl"), b'{"a": 1}\n{"a": 2}\n')
        packed = self.path("packed")
        self.run_good(command, "convert", self.path("lines.jsonl"), "--to", packed)
        self.assertIn("2 records", self.run_good(command, "verify", packed))
        self.assertIn("records          2,", self.run_good(command, "inspect", packed))

        carried, = pathlib.Path(self.path("environment")).glob(f"lib/*/site-packages/dovetail/{backend.COMMAND}")
        self.assertEqual(read_file(carried), read_file(COMMAND))
        self.pip("uninstall", "-y", "dovetail")
        self.assertEqual(self.installed(), self.before)


if __name__ == "__main__":
    main()
