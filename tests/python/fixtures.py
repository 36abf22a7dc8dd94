# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python module share: records, datasets, damage, and programs run by another interpreter."""

import copy
import os
import pickle
import subprocess
import sys
import textwrap

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from support import SKIPPED, FolderTest, flip_byte, main, make_records, read_file, write_file  # noqa: E402


def skip_all(reason):
    """Ends the program as a test that cannot run here."""
    print("skipped:", reason)
    sys.exit(SKIPPED)


try:
    import numpy as np
except ImportError:
    skip_all("NumPy is not installed")

import dovetail  # noqa: E402


def write_dataset(folder, records, shards=4, **options):
    """Packs records into exactly so many shards, with small runs and blocks, so that there are many of them."""
    options = {"block_bytes": 1024, "run_records": 16, **options}
    with dovetail.DatasetWriter(folder, shards=shards, expected_records=len(records), **options) as writer:
        writer.extend(records)
    return folder


def damage_record(path, record):
    """Flips a bit in the stored bytes of a record that lies there as it is. Gives its offset."""
    offset = read_file(path).index(record)
    flip_byte(path, offset)
    return offset


class ModuleTest(FolderTest):
    """A test of the module, with a temporary folder of its own."""

    def make_dataset(self, count=400, name="dataset", seed=1, longest=200, **options):
        """Gives its path; `self.records` are its records."""
        self.records = make_records(count, seed, longest)
        return write_dataset(self.path(name), self.records, **options)

    def open_reader(self, dataset, batch=16, **options):
        """As rank 0 of 1 where nothing else is asked for, and with few threads."""
        options = {"rank": 0, "world": 1, "io_threads": 2, "decode_threads": 1, "registration": "off", **options}
        reader = dovetail.Reader(dataset, batch=batch, **options)
        self.addCleanup(reader.close)
        return reader

    def start_program(self, text, *arguments, **options):
        """Starts a program of Python in a process of its own."""
        command = [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(text), *map(str, arguments)]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        process = subprocess.Popen(command, **options)
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def run_program(self, text, *arguments, seconds=60, code=0):
        """Runs it to its end, which must come with this exit code and, for 0, without a word on standard error."""
        process = self.start_program(text, *arguments)
        out, errors = process.communicate(timeout=seconds)
        self.assertEqual(process.returncode, code, f"{out}\n{errors}")
        if code == 0:
            self.assertEqual(errors, "")
        return out


class ErrorTest(ModuleTest):
    def check(self, kind, call, *arguments, path=None, offset=None, code=None, says=(), **named):
        """The call raises exactly this kind, which knows all of this and survives pickling and copying."""
        with self.assertRaises(dovetail.DovetailError) as caught:
            call(*arguments, **named)
        error = caught.exception
        self.assertIs(type(error), kind, error)
        self.assertEqual(error.path, path, error)
        if offset is not None:
            self.assertEqual(error.offset, offset, error)
        self.assertEqual(error.code, code, error)
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(word, str(error))
        if path is not None:
            self.assertIn(os.fsencode(path).decode(errors="backslashreplace"), str(error))
        self.assertNotIn("\n", str(error))
        for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            self.assertIs(type(twin), type(error))
            for name in ("code", "detail", "path", "offset", "errno", "strerror", "filename"):
                self.assertEqual(getattr(twin, name, None), getattr(error, name, None), name)
            self.assertEqual(str(twin), str(error))
        return error


__all__ = ["ErrorTest", "ModuleTest", "damage_record", "main", "make_records", "np", "read_file", "skip_all",
           "write_dataset", "write_file"]
