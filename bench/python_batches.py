#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records per second in Python beside C++, in turns: records of 1 KiB, batches of 64 and 512, warm.

Each program runs alone and reads the dataset several times; the medians of their ratios are printed. `bare` takes
batches only, `arrays` also takes the four arrays of each.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import dovetail

LOOP = "batch_loop"


def make(folder, records, codec):
    block = os.urandom(1 << 20)
    with dovetail.DatasetWriter(folder, codec=codec) as writer:
        # Half of a record compresses.
        writer.extend(block[i * 509 % (1 << 19):][:512] + b"dovetail" * 64 for i in range(records))


def measure(folder, batch, epochs, arrays):
    if arrays:
        import numpy  # noqa: F401  # as every program that wants arrays has done; it takes as long as 100 MB of batches
    reader = dovetail.Reader(folder, batch=batch, epochs=epochs)
    begin = time.perf_counter()
    rows = 0
    for _ in range(epochs):
        for each in reader:
            rows += len(each)
            if arrays:
                each.values, each.offsets, each.ids, each.status
    return rows / (time.perf_counter() - begin)


def run(program):
    return float(subprocess.run(program, check=True, stdout=subprocess.PIPE).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loop", default=f"build/release/bench/{LOOP}", help="the program in C++")
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        folder, batch, epochs, arrays = options.measure
        print(measure(folder, int(batch), int(epochs), arrays == "arrays"))
        return
    with tempfile.TemporaryDirectory() as scratch:
        for codec in ("none", "snappy"):
            folder = os.path.join(scratch, codec)
            make(folder, options.records, codec)
            for batch in (64, 512):
                arguments = [folder, str(batch), str(options.epochs)]
                python = [sys.executable, os.path.abspath(__file__), "--measure", *arguments]
                rates = {"c++": [], "bare": [], "arrays": []}
                for _ in range(options.rounds):
                    rates["c++"].append(run([options.loop, *arguments]))
                    rates["bare"].append(run([*python, "bare"]))
                    rates["arrays"].append(run([*python, "arrays"]))
                ratios = {kind: statistics.median(a / b for a, b in zip(rates[kind], rates["c++"])) for kind in rates}
                print(f"{codec:6} batch {batch:3}: C++ {statistics.median(rates['c++']) / 1e6:.2f} M records/s, "
                      f"Python {ratios['bare']:.2f} of it, with arrays {ratios['arrays']:.2f}")


if __name__ == "__main__":
    main()
