#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damage is found, named exactly, and answered as asked; it never changes steps, rows or planned ids."""

import json
import os
from collections import Counter

from support import (DAMAGED, DAMAGED_EMPTY, FIRST, GOOD, SUBSTITUTED, CommandTest, flip_byte, main, make_records,
                     read_ids, run, run_json)

READ = ("--rank", "0", "--world", "1", "--batch", "10", "--tail", "pad")


class DamageTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.dataset = self.make_dataset(make_records(500, seed=30))
        self.shard = os.path.join(self.dataset, "shard-000002.dvt")
        self.block = run_json("inspect", self.shard, "--blocks")["block_list"][2]
        self.lost = (self.block["first_record"], self.block["first_record"] + self.block["records"])

    def read(self, *flags):
        ids = self.path("ids")
        summary = run_json("read", self.dataset, *READ, "--ids", ids, *flags)
        return summary, read_ids(ids)

    def damage(self):
        flip_byte(self.shard, self.block["offset"] + 64 + 1)

    def test_verify_names_file_offset_and_records(self):
        self.damage()
        done = run("verify", self.dataset, "--json")
        verdict = json.loads(done.stdout)
        self.assertEqual((done.returncode, verdict["ok"], verdict["records"]),
                         (DAMAGED, False, 500 - self.block["records"]))
        self.assertEqual((len(verdict["damaged"]), verdict["damaged_places"]), (1, 1))
        damage = verdict["damaged"][0]
        self.assertEqual((damage["file"], damage["offset"], damage["records"]),
                         (self.shard, self.block["offset"], list(self.lost)))

    def test_verify_ends_with_a_verdict_in_one_line(self):
        good = run("verify", self.dataset)
        self.assertEqual((good.returncode, good.stdout.count(b"\n")), (GOOD, 1))
        self.damage()
        last = run("verify", self.dataset).stdout.splitlines()[-1]
        self.assertTrue(last.startswith(b"damaged: "))

    def test_verify_judges_several_paths_together(self):
        other = self.make_dataset(make_records(50, seed=31), "other")
        self.damage()
        done = run("verify", other, self.dataset, "--json")
        verdict = json.loads(done.stdout)
        self.assertEqual((done.returncode, verdict["records"]), (DAMAGED, 550 - self.block["records"]))

    def test_fail_stops_the_reader(self):
        self.damage()
        done = run("read", self.dataset, *READ)
        self.assertEqual((done.returncode, done.stdout), (DAMAGED, b""))
        self.assertIn(f"{self.shard}:{self.block['offset']}", done.stderr.decode())

    def test_policies_keep_steps_rows_and_planned_ids(self):
        clean_summary, clean = self.read()
        self.damage()
        for policy, status in (("substitute", SUBSTITUTED), ("empty", DAMAGED_EMPTY)):
            with self.subTest(policy=policy):
                summary, ids = self.read("--on-damage", policy)
                self.assertEqual([row[:4] for row in ids], [row[:4] for row in clean])
                for row, before in zip(ids, clean):
                    lost = row[2] == 2 and self.lost[0] <= row[3] < self.lost[1]
                    self.assertEqual(row[4], status if lost else before[4])
                self.assertEqual(summary["digest"], clean_summary["digest"])
                self.assertEqual(summary["valid"], 500 - self.block["records"])
                counts = Counter(row[4] for row in ids)
                self.assertEqual((summary["substituted"], summary["damaged_empty"]),
                                 (counts[SUBSTITUTED], counts[DAMAGED_EMPTY]))
                self.assertEqual(counts[FIRST] + self.block["records"], 500)
                self.assertEqual(summary["stats"]["damaged"][0]["file"], self.shard)

    def test_damage_handled_as_asked_is_a_good_exit(self):
        self.damage()
        done = run("read", self.dataset, *READ, "--on-damage", "empty")
        self.assertEqual(done.returncode, GOOD)
        lines = (done.stdout + done.stderr).decode().splitlines()
        first, end = self.lost
        place = f"{self.shard}:{self.block['offset']}"
        self.assertEqual([line for line in lines if self.shard in line],
                         [f"dovetail: warning: {place}: payload checksum mismatch: table or records; "
                          f"records [{first}, {end}) are lost"], "each loss once")

    def test_cat_gives_what_is_good_before_the_damage(self):
        before = run("cat", self.dataset, "--format", "raw").stdout
        self.damage()
        done = run("cat", self.dataset, "--format", "raw")
        self.assertEqual(done.returncode, DAMAGED)
        self.assertTrue(done.stdout and before.startswith(done.stdout))


if __name__ == "__main__":
    main()
