# SPDX-License-Identifier: Apache-2.0
"""Tests that look at a whole process from its beginning to its end."""

import os
import subprocess
import textwrap

from fixtures import ModuleTest

# What all programs begin with.
PRELUDE = """
import gc, os, signal, sys, threading
import dovetail
dataset = sys.argv[1]

def open_reader(**options):
    options = {"batch": 16, "rank": 0, "world": 1, "io_threads": 2, "decode_threads": 1, **options}
    return dovetail.Reader(dataset, **options)

def settled():
    '''Threads, descriptors and mappings of this process.'''
    gc.collect()
    threads = len(os.listdir("/proc/self/task"))
    files = sorted(os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
                   if os.path.exists(f"/proc/self/fd/{n}"))
    with open("/proc/self/maps") as lines:
        mapped = sum(1 for line in lines if "rw-s" in line or "dvt" in line or "io_uring" in line)
    return threads, files, mapped

def resident():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
"""


class ProgramTest(ModuleTest):
    def setUp(self):
        super().setUp()
        self.dataset = self.make_dataset(2000)

    def run_program(self, text, *arguments, **options):
        return super().run_program(PRELUDE + textwrap.dedent(text), self.dataset, *arguments, **options)

    def start_program(self, text, *arguments, **options):
        text = text if text.startswith(PRELUDE) else PRELUDE + textwrap.dedent(text)
        arguments = arguments if arguments[:1] == (self.dataset,) else (self.dataset, *arguments)
        return super().start_program(text, *arguments, **options)


class ShellTest(ModuleTest):
    """A test in a folder of its own, whose shell finds the command."""

    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        tools = os.path.dirname(os.path.abspath(os.environ.get("DOVETAIL_COMMAND", "dovetail")))
        self.environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        os.chdir(self.folder)

    def run_shell(self, text):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(done.returncode, 0, text + done.stdout.decode(errors="replace"))
