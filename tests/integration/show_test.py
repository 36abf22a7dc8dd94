#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`dovetail show` tells offline which records a step had: the same as those that were read."""

import json
import random

from support import USAGE, CommandTest, main, make_records, read_ids, run_good, run_json, tfrecord

WORLDS = (
    ("--world", 3, "--batch", 8),
    ("--world", 2, "--batch", 12, "--lanes", 4, "--seed", 5, "--epoch", 3, "--tail", "pad"),
    ("--world", 2, "--batch", 10, "--order", "global", "--tail", "wrap"),
    ("--world", 4, "--batch", 6, "--replicate", 2, "--sticky", "--epoch", 1),
    ("--world", 2, "--batch", 9, "--assign", "files", "--tail", "wrap"),
)


class ShowTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.records = make_records(500, seed=70, longest=40)
        self.dataset = self.make_dataset(self.records, "dataset", 7)
        self.random = random.Random(71)

    def read_steps(self, rank, *flags):
        """(shard, record, status) of the rows of every step that a rank reads."""
        ids = self.path("ids")
        run_good("read", self.dataset, "--rank", rank, *flags, "--ids", ids)
        steps = {}
        for step, _, shard, record, status in read_ids(ids):
            steps.setdefault(step, []).append((shard, record, status))
        return steps

    def show(self, step, *flags):
        shown = run_json("show", self.dataset, "--step", step, *flags)
        self.assertEqual(shown["step"], step)
        return shown["rows"]

    def places(self, rows):
        return [(-1, -1, row["status"]) if row["id"] is None else (row["shard"], row["record"], row["status"])
                for row in rows]

    def test_shows_what_is_read(self):
        for flags in WORLDS:
            with self.subTest(flags=" ".join(map(str, flags))):
                world = flags[1]
                for rank in range(world):
                    steps = self.read_steps(rank, *flags)
                    for step in {max(steps), *self.random.sample(sorted(steps), 3)}:
                        rows = self.show(step, "--rank", rank, *flags)
                        self.assertEqual(self.places(rows), steps[step])
                        self.assertEqual([row["row"] for row in rows], list(range(flags[3])))
                        self.assertEqual({row["rank"] for row in rows}, {rank})

    def test_all_ranks_are_those_of_each(self):
        flags = ("--world", 3, "--batch", 8)
        together = self.show(4, *flags)
        self.assertEqual(together, [row for rank in range(3) for row in self.show(4, "--rank", rank, *flags)])

    def test_names_and_ids_are_those_of_the_dataset(self):
        shards = run_json("inspect", self.dataset)["shards"]
        for row in self.show(2, "--world", 1, "--batch", 20):
            self.assertEqual(row["name"], shards[row["shard"]]["name"])
            self.assertEqual(row["id"], sum(shard["records"] for shard in shards[:row["shard"]]) + row["record"])
        text = run_good("show", self.dataset, "--step", 2, "--world", 1, "--batch", 20).decode()
        self.assertIn("step   2 of 25", text)
        self.assertIn("shard-00000", text)

    def test_prints_the_records_themselves(self):
        flags = ("--world", 2, "--batch", 15, "--rank", 1)
        wanted = [self.records[row["id"]] for row in self.show(3, *flags)]
        for form, expected in (("raw", b"".join(wanted)), ("text", b"".join(record + b"\n" for record in wanted)),
                               ("tfrecord", tfrecord(wanted))):
            self.assertEqual(run_good("show", self.dataset, "--step", 3, *flags, "--cat", "--format", form), expected)
        lines = run_good("show", self.dataset, "--step", 3, *flags, "--cat", "--json").decode().splitlines()
        for line, record in zip(map(json.loads, lines), wanted, strict=True):
            self.assertEqual(bytes.fromhex(line["hex"]) if "hex" in line else line["text"].encode(), record)
            self.assertEqual(line["rank"], 1)

    def test_empty_rows_print_nothing(self):
        flags = ("--world", 1, "--batch", 64, "--tail", "pad")
        rows = self.show(7, *flags)
        self.assertEqual([row["id"] is None for row in rows], [False] * 52 + [True] * 12)
        wanted = [self.records[row["id"]] for row in rows if row["id"] is not None]
        self.assertEqual(run_good("show", self.dataset, "--step", 7, *flags, "--cat", "--format", "tfrecord"),
                         tfrecord(wanted))

    def test_steps_around_a_change_of_world(self):
        state = self.path("state")
        before = [self.read_steps(rank, "--world", 4, "--batch", 8, "--steps", 5, "--state-out", state)
                  for rank in range(4)]
        after = [self.read_steps(rank, "--world", 3, "--batch", 7, "--from-state", state) for rank in range(3)]
        for step in range(5):
            rows = self.show(step, "--from-state", state)
            self.assertEqual(self.places(rows), [row for rank in before for row in rank[step]])
            self.assertNotIn("rank", rows[0])
            rows = self.show(step, "--from-state", state, "--world", 4, "--batch", 8, "--rank", 2)
            self.assertEqual(self.places(rows), before[2][step])
        for rank in range(3):
            self.assertEqual(min(after[rank]), 5)
            for step in (5, max(after[rank])):
                rows = self.show(step, "--from-state", state, "--world", 3, "--batch", 7, "--rank", rank)
                self.assertEqual(self.places(rows), after[rank][step])

    def test_a_saved_plan_is_enough(self):
        plan = self.path("plan.json")
        flags = ("--world", 2, "--batch", 10, "--seed", 8)
        run_good("plan", self.dataset, *flags, "--save", plan)
        self.assertEqual(self.show(6, "--plan", plan, "--rank", 1), self.show(6, *flags, "--rank", 1))

    def test_a_mix_shows_its_sources(self):
        other = self.make_dataset(make_records(100, seed=72), "other", 2)
        rows = run_json("show", self.dataset, other, "--step", 1, "--world", 1, "--batch", 20, "--weights",
                        "3,1")["rows"]
        self.assertEqual(sum(row["id"] >= 500 for row in rows), 5)
        self.assertTrue(all((row["shard"] >= 7) == (row["id"] >= 500) for row in rows))

    def test_what_there_is_not_is_refused(self):
        flags = ("show", self.dataset, "--world", 2, "--batch", 10)
        self.assert_fails(USAGE, *flags, "--step", 25, says=["--step = 25", "25 steps"])
        self.assert_fails(USAGE, *flags, "--step", 0, "--rank", 2, says="--rank = 2")
        self.assert_fails(USAGE, "show", self.dataset, "--step", 0, "--world", 2, says="--batch")

    def test_the_first_step_is_shown_if_none_is_given(self):
        flags = ("show", self.dataset, "--world", 2, "--batch", 10)
        self.assertEqual(run_good(*flags), run_good(*flags, "--step", 0))


if __name__ == "__main__":
    main()
