#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The folders of the project include each other in the allowed directions only, and the check would notice."""

import os
import re

import include_directions
from support import CommandTest, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

WRONG = {
    "include/dovetail/a.h": "format/layout.h",
    "format/a.cc": "writer/block_cutter.h",
    "writer/a.cc": "reader/dataset/shard_file.h",
    "reader/delivery/a.cc": "writer/block_cutter.h",
    "reader/plan/a.cc": "reader/storage/storage.h",
    "reader/dataset/a.cc": "reader/delivery/step.h",
    "reader/walk/a.cc": "reader/storage/storage.h",
    "convert/a.cc": "reader/dataset/shard_file.h",
    "tools/a.cc": "tests/support/a.h",
    "reader/delivery/b.cc": "cuda_runtime_api.h",
    "reader/delivery/c.cc": "google/protobuf/message.h",
    "include/dovetail/c.h": "dovetail.pb.h",
    "writer/b.cc": "boost/asio.hpp",
    "reader/storage/pread_pool.cc": "liburing.h",
    "reader/delivery/d.cc": "liburing.h",
    "reader/plan/b.cc": "thread",
    "format/b.cc": "immintrin.h",
}
RIGHT = {
    "format/a.cc": "format/layout.h",
    "writer/a.cc": "format/layout.h",
    "reader/delivery/a.cc": "reader/dataset/shard_file.h",
    "tools/a.cc": "dovetail/plan.h",
    "reader/memory/a.cc": "cuda_runtime_api.h",
    "reader/storage/uring_storage.cc": "liburing.h",
    "reader/plan/a.cc": "vector",
}


class IncludeDirectionsTest(CommandTest):
    def complaints(self, cases):
        """Complaints about files that include one header each, in a tree where the headers are there."""
        for source, included in cases.items():
            for name in (source, included, "include/" + included):
                if name == source or name.startswith(tuple(include_directions.ALLOWED)):
                    os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
                    open(self.path(name), "a", encoding="utf-8").close()
        complaint = include_directions.complaint
        return {source: complaint(self.folder, source, included) for source, included in cases.items()}

    def test_the_project_keeps_the_directions(self):
        checked, complaints = include_directions.check(ROOT)
        self.assertGreater(checked, 100)
        self.assertEqual(complaints, [])

    def test_the_page_says_the_same(self):
        with open(os.path.join(ROOT, "ARCHITECTURE.md"), encoding="utf-8") as page:
            rows = [line.split("|")[1:4] for line in page if line.startswith("| `")]
        said = {folder.strip(" `/"): re.findall(r"`([a-z/]+)/`", allowed) for folder, _, allowed in rows
                if folder.strip().endswith("/`")}
        enforced = {folder: [name for name in allowed if name != folder]
                    for folder, allowed in include_directions.ALLOWED.items() if folder not in ("fuzz", "tests")}
        self.assertEqual(said, enforced)

    def test_wrong_directions_are_found(self):
        for source, complaint in self.complaints(WRONG).items():
            self.assertIsNotNone(complaint, source)

    def test_right_directions_are_left_alone(self):
        for source, complaint in self.complaints(RIGHT).items():
            self.assertIsNone(complaint, source)


if __name__ == "__main__":
    main()
