#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The guides run as printed, each from top to bottom in one folder: its Python in one program, its commands by bash.
What a reader has before, such as TFRecords, is made here."""

import json
import os
import re
import struct
import subprocess

from fixtures import main, skip_all
from payloads import example, png
from programs import ShellTest
from support import COMMAND, tfrecord

try:
    import PIL  # noqa: F401
    import torch  # noqa: F401
except ImportError as missing:
    skip_all(f"{missing.name} is not installed")
if not os.path.exists(COMMAND):
    skip_all("built without the command")

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
GUIDES = os.path.join(ROOT, "docs", "guides")
BLOCK = re.compile(r"^(?P<before>[^\n]*)\n```(?P<language>python|sh)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run: .+ -->")
SHORTEST, LONGEST = 30, 70


def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def make_tfrecords():
    for k in range(2):
        write(f"images-{k}.tfrecord", tfrecord(example({"image": [png(8 + i % 5, 8)], "label": [i % 10]})
                                               for i in range(200)))


def make_tars():
    for k in range(2):
        for i in range(100):
            write(f"{k}/{i:03}.png", png(8 + i % 5, 8))
            write(f"{k}/{i:03}.cls", b"%d" % (i % 10))
        subprocess.run(["tar", "--sort=name", "-cf", f"shard-{k}.tar", "-C", str(k), "."], check=True)


def make_mds():
    texts = [b"sample %d" % i for i in range(1000)]
    samples = [struct.pack("<Iq", len(text), i % 10) + text for i, text in enumerate(texts)]
    columns = {"column_names": ["label", "text"], "column_encodings": ["int", "str"], "column_sizes": [8, None]}
    description = json.dumps(columns).encode()
    ends = [4 + 4 * (len(samples) + 1) + len(description)]
    for sample in samples:
        ends.append(ends[-1] + len(sample))
    shard = struct.pack(f"<{len(ends) + 1}I", len(samples), *ends) + description + b"".join(samples)
    entry = {**columns, "compression": None, "format": "mds", "hashes": [], "samples": len(samples), "version": 2,
             "raw_data": {"basename": "shard.00000.mds", "bytes": len(shard), "hashes": {}}, "size_limit": 1 << 26,
             "zip_data": None}
    write("mds-train/shard.00000.mds", shard)
    write("mds-train/index.json", json.dumps({"shards": [entry], "version": 2}).encode())


def make_photos():
    names = [f"{['ant', 'bee', 'cat'][i % 3]}/{i:03}.png" for i in range(120)]
    for i, name in enumerate(names):
        write(f"photos/{name}", png(16 + i % 5, 16))
    write("train.csv", "".join(["file,label\n", *(f"{name},{i % 3}\n" for i, name in enumerate(names))]).encode())


GIVEN = {"from-tfrecord.md": make_tfrecords, "from-webdataset.md": make_tars, "from-mds.md": make_mds,
         "images.md": make_photos}


class GuidesTest(ShellTest):
    def test_every_guide_runs_as_printed(self):
        for page in sorted(os.listdir(GUIDES)):
            with self.subTest(page), open(os.path.join(GUIDES, page), encoding="utf-8") as file:
                text = file.read()
                self.assertIn(len(text.splitlines()), range(SHORTEST, LONGEST + 1))
                folder = os.path.join(os.getcwd(), page[:-3])
                os.mkdir(folder)
                os.chdir(folder)
                GIVEN.get(page, lambda: None)()
                names = {"__name__": "page"}
                blocks = [block for block in BLOCK.finditer(text) if not NOT_RUN.match(block["before"])]
                self.assertEqual({block["language"] for block in blocks}, {"python", "sh"})
                for block in blocks:
                    if block["language"] == "sh":
                        self.run_shell(block["text"])
                        continue
                    line = text.count("\n", 0, block.start("text"))  # so that failures name the page's lines
                    exec(compile("\n" * line + block["text"], page, "exec"), names)
                os.chdir("..")


if __name__ == "__main__":
    main()
