#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README holds: its commands work as printed, and its code is that of the examples, which are compiled. The code of
docs/gpu.md is that of a test, and the commands of docs/inspection.md work, too. Python is run by tests/python."""

import os
import re
import subprocess
import sys

from support import COMMAND, CommandTest, gzip_bytes, main, make_records, tfrecord, write_file

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NOT_RUN = "<!-- not run:"
BLOCK = re.compile(r"^(?P<before>[^\n]*)\n```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)

# Marked regions that a document repeats, in this order, by language.
REGIONS = {
    "README.md": {
        "cpp": (("examples/write_and_read.cc", "write"), ("examples/write_and_read.cc", "read")),
    },
    "docs/install.md": {"cmake": (("tests/install/consumer/CMakeLists.txt", "find_package"),)},
    "docs/gpu.md": {"cpp": (("tests/cuda/gpu_doc_test.cc", "copy"), ("tests/cuda/gpu_doc_test.cc", "device"))},
    "docs/columns.md": {
        "cpp": (("tests/reader/delivery/columns_doc_test.cc", "read"), ("tests/format/columns_doc_test.cc", "decode"))
    },
    "docs/transform.md": {"cpp": (("tests/reader/delivery/transform_doc_test.cc", "sum"),)},
}


def read_text(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


def blocks(language, document="README.md"):
    """(line before it, text) of every block of a language."""
    return [(match["before"], match["text"]) for match in BLOCK.finditer(read_text(document))
            if match["language"] == language]


def region(path, name):
    parts = re.split(rf"^(?:#|//) \[{name}\]\n", read_text(path), flags=re.MULTILINE)
    assert len(parts) == 3, f"{path}: region {name}"
    return parts[1]


class ReadmeTest(CommandTest):
    def test_code_is_that_of_the_examples(self):
        for document, languages in REGIONS.items():
            for language, regions in languages.items():
                texts = [text for _, text in blocks(language, document)]
                self.assertEqual(len(texts), len(regions), document)
                for text, (path, name) in zip(texts, regions):
                    self.assertEqual(text, region(path, name), f"{path}: {name}")

    def run_commands(self, document):
        """In one folder, in order, as a reader of the document would; its TFRecords are made here."""
        for i in range(2):
            framed = tfrecord(make_records(500, seed=70 + i))
            write_file(self.path(f"train-0000{i}-of-00002.tfrecord.gz"), gzip_bytes(framed))
        environment = {**os.environ, "PATH": f"{os.path.dirname(os.path.abspath(COMMAND))}:{os.environ['PATH']}"}
        ran = 0
        for before, text in blocks("sh", document):
            if before.startswith(NOT_RUN):
                continue
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=self.folder, env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, f"{text}\n{done.stdout}")
            ran += 1
        self.assertGreaterEqual(ran, 2)

    def test_commands_work_as_printed(self):
        self.run_commands("README.md")

    def test_commands_of_the_inspection_page_work_as_printed(self):
        self.run_commands("docs/inspection.md")

    def test_what_is_not_run_says_why(self):
        for document in ("README.md", "docs/inspection.md"):
            for before, text in blocks("sh", document):
                if before.startswith(NOT_RUN):
                    self.assertRegex(before, r"^<!-- not run: .+ -->$", text)

    def test_the_drawing_of_rates_is_what_its_script_makes(self):
        drawing = self.path("delivery-speed.svg")
        subprocess.run([sys.executable, "-B", os.path.join(ROOT, "bench", "draw_delivery.py"), drawing], check=True)
        with open(drawing, encoding="utf-8") as file:
            self.assertEqual(file.read(), read_text("docs/delivery-speed.svg"))

    def test_it_is_short(self):
        self.assertLessEqual(len(read_text("README.md").splitlines()), 150)

    def test_files_that_it_names_exist(self):
        for name in re.findall(r"\]\(([^)#:]+)\)", read_text("README.md")):
            self.assertTrue(os.path.exists(os.path.join(ROOT, name)), name)


if __name__ == "__main__":
    main()
