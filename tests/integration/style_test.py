#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a machine can check of the style: licence lines, sizes, columns, and no paths of some machine."""

import os
import re
import unittest

from support import main

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
OWN = (".cc", ".h", ".py", ".sh", ".proto", ".cmake", ".in", "CMakeLists.txt", "Makefile")
COLUMNS = 120
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|home|root)/\w")


def files(*endings):
    for folder, folders, names in os.walk(ROOT):
        skipped = ("build", "__pycache__")
        folders[:] = [name for name in folders if name not in skipped and not name.startswith(".")]
        for name in names:
            if name.endswith(endings):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


def lines_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read().splitlines()


def lines_allowed(path):
    if path.startswith("tests/"):
        return 600
    return 250 if path.endswith(".h") else 450


class StyleTest(unittest.TestCase):
    maxDiff = None

    def check(self, paths, complaint):
        paths = list(paths)
        self.assertTrue(paths)
        wrong = [f"{path}: {text}" for path in paths for text in [complaint(path)] if text]
        self.assertEqual(wrong, [])

    def test_every_file_names_its_licence(self):
        def complaint(path):
            head = "\n".join(lines_of(path)[:2])
            return "" if "SPDX-License-Identifier: Apache-2.0" in head else "no SPDX line"

        self.check(files(*OWN), complaint)

    def test_one_header_has_all(self):
        public = os.path.join(ROOT, "include", "dovetail")
        with open(os.path.join(public, "dovetail.h"), encoding="utf-8") as file:
            included = re.findall(r"<dovetail/(.+)>", file.read())
        self.assertEqual(included, sorted(set(os.listdir(public)) - {"dovetail.h", "completion.h"}))

    def test_headers_are_guarded(self):
        self.check(files(".h"), lambda path: "" if "#pragma once" in lines_of(path) else "no #pragma once")

    def test_files_are_small(self):
        def complaint(path):
            count = len(lines_of(path))
            return f"{count} lines, allowed are {lines_allowed(path)}" if count > lines_allowed(path) else ""

        self.check(files(".h", ".cc", ".py"), complaint)

    def test_lines_of_scripts_are_short(self):
        def complaint(path):
            long = [i for i, line in enumerate(lines_of(path), 1) if len(line) > COLUMNS]
            return f"lines {long} are longer than {COLUMNS} columns" if long else ""

        self.check(files(".py", ".sh"), complaint)

    def test_no_file_knows_a_machine(self):
        def complaint(path):
            found = [i for i, line in enumerate(lines_of(path), 1) if MACHINE_PATH.search(line)]
            return f"paths of a machine in lines {found}" if found else ""

        self.check((path for path in files(*OWN, ".md") if path != "tests/integration/style_test.py"), complaint)


if __name__ == "__main__":
    main()
