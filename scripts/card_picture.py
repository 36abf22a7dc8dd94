#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""card_picture.py OUT.png: draws the page of `inspect --html` of a dataset that it makes, of drawn shapes.

Needs the command as DOVETAIL_COMMAND, the Python module, and Chromium."""

import base64
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

import dovetail

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "browser"))

from chromium import Chromium  # noqa: E402

CLASSES = ("circle", "square", "triangle", "cross")
SIDE = 48
WIDTH, HEIGHT = 1080, 1420


def inside(name, x, y, size):
    if name == "circle":
        return x * x + y * y < size * size
    if name == "square":
        return max(abs(x), abs(y)) < size
    if name == "triangle":
        return -size < y < size and abs(x) < (y + size) / 2
    return max(abs(x), abs(y)) < size and min(abs(x), abs(y)) < size / 3


def png(pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in pixels)
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def draw(name, size, draws):
    light, dark = (tuple(draws.randrange(*bounds) for _ in range(3)) for bounds in ((160, 250), (10, 110)))
    left, top = draws.uniform(0.4, 0.6) * SIDE, draws.uniform(0.4, 0.6) * SIDE
    return png([[dark if inside(name, x - left, y - top, size * SIDE) else light for x in range(SIDE)]
                for y in range(SIDE)])


def write(path):
    draws = random.Random(1)
    about = {"name": "Shapes", "licence": "CC0-1.0",
             "description": "Drawn shapes of four classes, one in each picture. Made by a program.",
             "dovetail.classes": json.dumps(CLASSES)}
    with dovetail.DatasetWriter(path, shards=4, expected_records=1200, metadata=about,
                                schema="image:bytes, label:i64, size:f32") as writer:
        for _ in range(1200):
            name, size = draws.choices(CLASSES, [4, 3, 2, 1])[0], min(max(draws.gauss(0.27, 0.04), 0.15), 0.4)
            writer.append(dovetail.example(image=draw(name, size, draws), label=CLASSES.index(name), size=size))


def main():
    out = os.path.abspath(sys.argv[1])
    command = os.path.abspath(os.environ["DOVETAIL_COMMAND"])
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "shapes"))
        subprocess.run([command, "inspect", "shapes", "--features", "--html", "page.html"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        browser = Chromium()
        browser.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=1, mobile=True)
        browser.open(os.path.join(folder, "page.html"))
        picture = base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"])
        browser.close()
    with open(out, "wb") as file:
        file.write(picture)


if __name__ == "__main__":
    main()
