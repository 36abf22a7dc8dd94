#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the rates of delivery on one core, from the table of docs/performance.md, as one SVG."""

import argparse
import os
import re
from xml.sax.saxutils import escape

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "performance.md")
WIDTH, LEFT, TOP, BAR, GAP = 860, 190, 92, 15, 32
INK, SOFT, GRID = "#222222", "#666666", "#dddddd"
# Heading of the column, name in the drawing, colour.
SERIES = (("reader", "Dovetail", "#1f5fa8"), ("TFRecord, indexed", "Dovetail on TFRecord files", "#7fb2e5"),
          ("bare walk", "bare walk, the yardstick", "#222222"), ("LevelDB log", "LevelDB log", "#c25400"),
          ("TFRecord", "TFRecord, read in line", "#e0a070"), ("LMDB", "LMDB, no checks", "#b9b9b9"))
WORKLOADS = {"W1 stored": "tokens, 1 KiB", "W2 stored": "images, 16 to 400 KiB", "W3 stored": "records of 64 B",
             "W4 stored": "lines, 60 to 2,000 B"}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read_page(text):
    """({workload: {column: GB/s on one core}}, what the machine is) of the first table of delivery."""
    section = text.split("\n## Delivery\n")[1]
    name = re.search(r"^Machine (\w), ", section, re.MULTILINE)[1]
    machine = re.search(rf"\b{name}, (AMD|Intel|[\w ]+?)([^;]*?\))[;.]", " ".join(text.split("\n## ")[0].split()))
    lines = [line for line in section.splitlines() if line.startswith("|")]
    heading = cells(lines[0])
    rates = {}
    for line in lines[2:]:
        row = dict(zip(heading, cells(line)))
        if row[""] in WORKLOADS:
            rates[row[""]] = {column: float(row[column].split(",")[0]) for column, _, _ in SERIES}
        if len(rates) == len(WORKLOADS):
            return rates, machine[1] + machine[2]
    raise SystemExit(f"{PAGE} lacks one of {', '.join(WORKLOADS)}")


def draw(rates, machine):
    parts = []

    def text(x, y, words, size=13, anchor="start", colour=INK, weight="normal"):
        parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
                     f'font-weight="{weight}">{escape(words)}</text>')

    most = max(max(row.values()) for row in rates.values())
    scale = (WIDTH - LEFT - 60) / most
    height = TOP + len(rates) * (len(SERIES) * BAR + GAP) + 16
    for value in range(0, int(most) + 1, 2):
        x = LEFT + value * scale
        parts.append(f'<line x1="{x:.1f}" y1="{TOP - 4}" x2="{x:.1f}" y2="{height - 30}" stroke="{GRID}"/>')
        text(x, height - 12, str(value), size=12, anchor="middle", colour=SOFT)
    y = TOP
    for workload, row in rates.items():
        text(16, y - 6, WORKLOADS[workload], weight="bold")
        for column, name, colour in SERIES:
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{row[column] * scale:.1f}" height="{BAR - 3}" '
                         f'fill="{colour}"/>')
            text(LEFT + row[column] * scale + 6, y + 11, f"{row[column]:.2f}", size=11, colour=SOFT)
            text(LEFT - 8, y + 11, name, size=11, anchor="end", colour=SOFT)
            y += BAR
        y += GAP
    text(16, 28, "Shuffled records out of a warm page cache, one core, GB/s", size=17, weight="bold")
    text(16, 50, f"Machine: {machine}. All check every CRC but LMDB.", size=12, colour=SOFT)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', *parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("svg", help="where the drawing goes")
    with open(PAGE, encoding="utf-8") as file:
        drawing = draw(*read_page(file.read()))
    with open(parser.parse_args().svg, "w", encoding="utf-8") as file:
        file.write(drawing)


if __name__ == "__main__":
    main()
