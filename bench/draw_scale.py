#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what plan_scale measured, from its JSON: time and memory by shards, as one SVG."""

import argparse
import json
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 1060, 470
PLOT_WIDTH, PLOT_HEIGHT, TOP = 270, 330, 80
INK, GRID = "#222222", "#dddddd"
BLUE, ORANGE, GREEN, VIOLET = "#1f5fa8", "#c25400", "#2a7d3f", "#7a3e9d"


class Panel:
    """A plot with logarithmic axes and labels at the ends of its curves."""

    def __init__(self, left, title, x_range, y_range, y_text):
        self.left, self.x_range, self.y_range = left, x_range, y_range
        self.parts, self.labels = [], []
        self.text(left, TOP - 26, title, weight="bold")
        for power in range(x_range[0], x_range[1] + 1):
            self.line((10**power, 10.0 ** y_range[0]), (10**power, 10.0 ** y_range[1]), GRID)
            self.text(self.x(10**power), TOP + PLOT_HEIGHT + 20, f"{10**power:,}", anchor="middle", size=12)
        for power in range(y_range[0], y_range[1] + 1):
            self.line((10 ** x_range[0], 10.0**power), (10 ** x_range[1], 10.0**power), GRID)
            self.text(left - 8, self.y(10.0**power) + 4, y_text(10.0**power), anchor="end", size=12)
        self.text(left + PLOT_WIDTH / 2, TOP + PLOT_HEIGHT + 42, "shards", anchor="middle")

    def x(self, value):
        low, high = self.x_range
        return self.left + PLOT_WIDTH * (math.log10(value) - low) / (high - low)

    def y(self, value):
        low, high = self.y_range
        return TOP + PLOT_HEIGHT * (high - math.log10(value)) / (high - low)

    def text(self, x, y, text, anchor="start", size=14, weight="normal", color=INK):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
                          f'font-weight="{weight}" fill="{color}">{escape(text)}</text>')

    def line(self, begin, end, color):
        self.parts.append(f'<line x1="{self.x(begin[0]):.1f}" y1="{self.y(begin[1]):.1f}" x2="{self.x(end[0]):.1f}" '
                          f'y2="{self.y(end[1]):.1f}" stroke="{color}"/>')

    def curve(self, points, label, color):
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        for x, y in points:
            self.parts.append(f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="3.5" fill="{color}"/>')
        self.labels.append([self.y(points[-1][1]) + 5, label, color])

    def limit(self, x, y, label):
        """A bar that the curve named in the label must stay under at `x`."""
        at, high = self.x(x), self.y(y)
        self.parts.append(f'<line x1="{at - 14:.1f}" y1="{high:.1f}" x2="{at + 14:.1f}" y2="{high:.1f}" '
                          f'stroke="{INK}" stroke-width="2.5"/>')
        self.text(at - 18, high + 4, label, anchor="end", size=12)

    def svg(self):
        lowest = 0.0
        for y, label, color in sorted(self.labels):
            lowest = max(y, lowest + 17)
            self.text(self.left + PLOT_WIDTH + 10, lowest, label, size=13, color=color)
        return "\n".join(self.parts)


def curve(rows, world, what, value, factor=1.0):
    return [(row["shards"], row[what][value] * factor) for row in rows if row["world"] == world]


def time_text(ms):
    return f"{ms / 1000:g} s" if ms >= 1000 else f"{ms:g} ms" if ms >= 1 else f"{ms * 1000:g} µs"


def size_text(kib):
    return f"{kib / 1000:g} MB" if kib >= 1000 else f"{kib:g} kB"


def powers(curves):
    """The powers of ten that hold all values of some curves."""
    values = [y for points in curves for _, y in points]
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))


def draw(rows):
    shards = [row["shards"] for row in rows]
    x_range = (round(math.log10(min(shards))), max(round(math.log10(max(shards))), 3))
    most = max(row["world"] for row in rows)

    times = [(curve(rows, most, "change", "median_ms"), f"restart, {most:,} ranks", VIOLET),
             (curve(rows, 1, "start", "median_ms"), "start, 1 rank", ORANGE),
             (curve(rows, most, "start", "median_ms"), f"start, {most:,} ranks", BLUE),
             (curve(rows, most, "plan", "median_ms"), "the plan alone", GREEN)]
    low, high = powers([points for points, _, _ in times])
    limits = [(100_000, 2_000.0, "limit of a restart"), (100_000, 50.0, "limit of a start")]
    limits = limits if max(shards) >= 100_000 else []
    left = Panel(80, "Time of one rank, on one core", x_range, (low, max(high, 4 if limits else high)), time_text)
    for x, y, label in limits:
        left.limit(x, y, label)

    sizes = [(curve(rows, 1, "start", "kept_bytes", 1e-3), "1 rank", ORANGE),
             (curve(rows, most, "start", "kept_bytes", 1e-3), f"{most:,} ranks", BLUE),
             (curve(rows, most, "plan", "kept_bytes", 1e-3), "the plan alone", GREEN)]
    right = Panel(620, "Memory of one rank", x_range, powers([points for points, _, _ in sizes]), size_text)
    for panel, curves in ((left, times), (right, sizes)):
        for points, label, color in curves:
            panel.curve(points, label, color)

    per_shard = round(rows[0]["records"] / rows[0]["shards"])
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="24" y="28" font-size="16" fill="{INK}">Planning by shards, each of {per_shard:,} records</text>',
        left.svg(), right.svg(), "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", help="plan_scale --out ...")
    parser.add_argument("svg", help="where the drawing goes")
    options = parser.parse_args()
    with open(options.json, encoding="utf-8") as file:
        rows = json.load(file)["by_shards"]
    with open(options.svg, "w", encoding="utf-8") as file:
        file.write(draw(rows))


if __name__ == "__main__":
    main()
