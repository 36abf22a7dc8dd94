#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program written from docs/order.md alone reproduces the ids of `dovetail read`."""

import os
import subprocess
import sys

from support import CommandTest, main, make_records, read_file, real_data, run_good, shard_shapes

ORDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "order.py")

OPTIONS = (
    ["--world", "1", "--batch", "7"],
    ["--world", "4", "--batch", "8", "--rank", "2", "--seed", "12345678901234567890", "--epoch", "5"],
    ["--world", "2", "--batch", "6", "--lanes", "4", "--rank", "1", "--tail", "pad"],
    ["--world", "3", "--batch", "10", "--rank", "2", "--tail", "wrap", "--open-runs", "3", "--pool", "17"],
    ["--world", "4", "--batch", "5", "--rank", "3", "--replicate", "2", "--tail", "pad", "--epoch", "1"],
    ["--world", "3", "--batch", "4", "--rank", "1", "--assign", "files", "--tail", "wrap", "--epoch", "2"],
    ["--world", "3", "--batch", "4", "--order", "sequential", "--rank", "1", "--tail", "pad"],
    ["--world", "2", "--batch", "9", "--pool", "1", "--open-runs", "1", "--seed", "3"],
    ["--world", "3", "--batch", "8", "--order", "global", "--rank", "2", "--tail", "wrap", "--epoch", "7"],
    ["--world", "2", "--batch", "8", "--rank", "1", "--sticky", "--epoch", "4"],
    ["--world", "3", "--batch", "8", "--rank", "2", "--assign", "runs", "--open-runs", "4", "--epoch", "6"],
)
# What was read before, and how it goes on: steps, world, batch, lanes.
CHANGES = (
    (["--world", "4", "--batch", "8", "--tail", "pad", "--seed", "5"], [(9, 3, 7, 0)]),
    (["--world", "2", "--batch", "6", "--tail", "wrap", "--epoch", "3"], [(20, 5, 4, 0), (7, 2, 8, 4), (3, 4, 4, 0)]),
    (["--world", "3", "--batch", "10", "--tail", "drop", "--assign", "files"], [(5, 2, 11, 0)]),
)


class OrderTest(CommandTest):
    def check(self, dataset, options):
        ids = self.path("ids")
        rank = [] if "--rank" in options else ["--rank", "0"]
        run_good("read", dataset, *options, *rank, "--ids", ids)
        shards = self.shards(dataset)
        self.assertEqual(read_file(ids), self.expected(shards, options))

    @staticmethod
    def shards(dataset):
        return ",".join(":".join(map(str, shape)) for shape in shard_shapes(dataset))

    @staticmethod
    def expected(shards, options):
        options = [word for option in options for word in ([option, "1"] if option == "--sticky" else [option])]
        return subprocess.run([sys.executable, ORDER, "--shards", shards, *options], check=True,
                              stdout=subprocess.PIPE).stdout

    def test_changes_of_world(self):
        dataset = self.make_dataset(make_records(700, seed=11, longest=40), "dataset", 5)
        shards = self.shards(dataset)
        state, ids = self.path("state"), self.path("ids")
        for options, changes in CHANGES:
            with self.subTest(options=" ".join(options), changes=changes):
                present = [*options, "--rank", "1"]
                for steps, world, batch, lanes in changes:
                    run_good("read", dataset, *present, "--steps", steps, "--state-out", state)
                    present = ["--from-state", state, "--world", world, "--batch", batch, "--rank", "1"]
                    present += ["--lanes", lanes] if lanes else []
                run_good("read", dataset, *present, "--ids", ids)
                history = ",".join(":".join(map(str, change)) for change in changes)
                rows = self.expected(shards, [*options, "--rank", "1", "--changes", history]).splitlines(keepends=True)
                # Where the last change fits, order.py tells the whole phase.
                first = sum(steps for steps, *_ in changes)
                self.assertEqual(read_file(ids), b"".join(row for row in rows if int(row.split()[0]) >= first))

    def test_generated_records(self):
        dataset = self.make_dataset(make_records(700, seed=10, longest=40), "dataset", 5)
        for options in OPTIONS:
            with self.subTest(options=" ".join(options)):
                self.check(dataset, options)

    def test_shards_that_differ_in_length(self):
        for i, count in enumerate((1, 15, 16, 17, 90)):
            folder = self.make_dataset(make_records(count, seed=i, longest=40), f"part{i}", 1)
            os.rename(os.path.join(folder, "shard-000000.dvt"), folder + ".dvt")
        for options in OPTIONS[:3]:
            with self.subTest(options=" ".join(options)):
                self.check(self.path("part*.dvt"), options)

    def test_digits(self):
        run_good("convert", real_data("tfx-mnist", "mnist.tfrecord"), "--to", self.path("digits"), "--shards", 8)
        self.check(self.path("digits"), ["--world", "4", "--batch", "25", "--rank", "1", "--epoch", "9"])


if __name__ == "__main__":
    main()
