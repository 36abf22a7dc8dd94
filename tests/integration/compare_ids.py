#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the same epochs with several builds of the command and compares the ids: compare_ids.py COMMAND COMMAND..."""

import itertools
import os
import subprocess
import sys
import tempfile

import support

WORLDS = (1, 3, 4)


def ids_of(command, dataset, path, rank, world, tail, order):
    subprocess.run([command, "read", dataset, "--rank", str(rank), "--world", str(world), "--batch", "8", "--tail",
                    tail, "--order", order, "--ids", path, "--registration", "off"], check=True,
                   stdout=subprocess.DEVNULL)
    return support.read_file(path)


def main():
    commands = sys.argv[1:]
    compared = 0
    with tempfile.TemporaryDirectory(prefix="dovetail-ids-") as folder:
        framed = support.tfrecord(support.make_records(1500, seed=80))
        source = support.write_file(os.path.join(folder, "source"), framed)
        dataset = os.path.join(folder, "dataset")
        subprocess.run([commands[0], "convert", source, "--to", dataset, "--shards", "5", "--run-records", "16"],
                       check=True, stdout=subprocess.DEVNULL)
        for world, tail, order in itertools.product(WORLDS, ("drop", "pad", "wrap"), ("shuffle", "sequential")):
            expected = ids_of(commands[0], dataset, os.path.join(folder, "ids"), world - 1, world, tail, order)
            for command in commands[1:]:
                if ids_of(command, dataset, os.path.join(folder, "ids"), world - 1, world, tail, order) != expected:
                    print(f"{command}: other ids than {commands[0]} for world {world}, {tail}, {order}")
                    return 1
                compared += 1
    print(f"{len(commands)} builds give the same ids in {compared} comparisons")
    return 0


if __name__ == "__main__":
    sys.exit(main())
