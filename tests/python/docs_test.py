#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python of the documents runs as printed, each page from top to bottom in one program."""

import os
import re
import socket
import tempfile
import unittest

from fixtures import main, skip_all

try:
    import PIL  # noqa: F401
    import pandas  # noqa: F401
    import standins
    import torch  # noqa: F401
except ImportError as missing:
    skip_all(f"{missing.name} is not installed")

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class DocsTest(unittest.TestCase):
    def setUp(self):
        launcher = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
                    "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "USE_LIBUV": "0"}
        for name, value in launcher.items():
            self.addCleanup(os.environ.pop, name, None)
            os.environ[name] = value
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def run_page(self, page):
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            text = file.read()
        names = {"__name__": "page"}
        blocks = list(BLOCK.finditer(text))
        self.assertTrue(blocks, f"{page} has no Python")
        for block in blocks:
            line = text.count("\n", 0, block.start(1))
            exec(compile("\n" * line + block.group(1), page, "exec"), names)  # so that failures name the page's lines

    def test_the_page_of_python_runs(self):
        self.run_page("docs/python.md")

    def test_the_page_of_transforms_runs(self):
        self.run_page("docs/transform.md")

    def test_the_page_of_inspection_runs(self):
        self.run_page("docs/inspection.md")

    def test_the_page_of_trainers_runs(self):
        standins.install(over_packages=False)
        self.run_page("docs/trainers.md")

    def test_the_python_of_the_readme_runs(self):
        self.run_page("README.md")


if __name__ == "__main__":
    main()
