#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how fast runs of several lengths are delivered, in turn, for the table in docs/mixing.md: payload in GB/s of
two ranks with a core each, stored; the fastest of all turns, because other programs only ever slow it down."""

import argparse
import collections
import json
import os
import subprocess
import tempfile

RUN_KIB = (16, 32, 64, 128, 256, 1024)


def measure(options, kib, out):
    subprocess.run([options.bench, "--data", os.path.join(options.data, str(kib)), "--out", out, "--scale", "0.5",
                    "--run-bytes", str(kib * 1024), "--workloads", "w1,w3", "--codecs", "stored", "--modes",
                    "two_processes", "--no-peers", "--no-limits", "--rounds", "1", "--cold-rounds", "1", "--warmups",
                    "1", "--bytes", "1000000000"], check=True, stderr=subprocess.DEVNULL)
    with open(out, encoding="utf-8") as file:
        for workload in json.load(file)["workloads"]:
            for cell in workload["cells"]:
                if cell["task"] == "dovetail":
                    yield (workload["name"], cell["cache"]), cell["bytes_per_second"]["median"] / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", required=True, help="delivery_bench")
    parser.add_argument("--data", required=True, help="folder for the data, some 4 GB")
    parser.add_argument("--turns", type=int, default=7, help="through all lengths")
    options = parser.parse_args()
    rates = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.turns):
            for kib in RUN_KIB:
                for what, rate in measure(options, kib, os.path.join(folder, "measured.json")):
                    rates[kib, *what].append(rate)
    print("| KiB per run | MiB of 96 runs | W1 warm | W1 cold | W3 warm | W3 cold |")
    for kib in RUN_KIB:
        cells = [f"{max(rates[kib, workload, cache]):.2f}" for workload in ("w1", "w3")
                 for cache in ("warm", "cold")]
        print(f"| {kib} | {kib * 96 / 1024:g} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
