#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `dovetail plan` can do beside counting: measure the mixing, draw, save plans, and check what the ranks read."""

import collections
import itertools
import json
import os
import random
import xml.etree.ElementTree

import payloads
from support import (DAMAGED, FIRST, GOOD, USAGE, CommandTest, main, make_records, read_file, read_ids, run,
                     run_good, run_json, shard_shapes, tfrecord, write_file)

MIXING_KEYS = ["rank", "global", "correlation"]
BATCH_KEYS = ["mean_slices", "least_slices", "mean_shards", "least_shards", "neighbours", "shared"]
REPORT_KEYS = ["plan", "true_shuffle", "batches", "all_batches", "readers", "labels", "weak", "flaws", "advice"]
SVG = "{http://www.w3.org/2000/svg}"


class PlanTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.records = make_records(1000, seed=60, longest=40)
        self.dataset = self.make_dataset(self.records, "dataset", 10)

    def read_rank(self, rank, world, batch, *flags):
        """Output file of `read --json` and the rows."""
        ids = self.path("ids")
        where = ("--rank", rank, "--world", world, "--batch", batch)
        output = run_good("read", self.dataset, *where, *flags, "--ids", ids, "--json")
        first = json.loads(output).get("first_step", 0)
        return write_file(self.path(f"{world}-{rank}-{first}.json"), output), read_ids(ids)


class ShuffleReportTest(PlanTest):
    def test_report_has_exactly_the_promised_keys(self):
        plan = run_json("plan", self.dataset, "--world", 2, "--batch", 20, "--shuffle-report")
        mixing = plan["mixing"]
        self.assertEqual(list(mixing), REPORT_KEYS)
        for side in (mixing["plan"], mixing["true_shuffle"]):
            self.assertEqual(list(side), MIXING_KEYS)
            self.assertEqual(list(side["rank"]), BATCH_KEYS)
            self.assertEqual(list(side["global"]), BATCH_KEYS)
        self.assertNotIn("mixing", run_json("plan", self.dataset, "--world", 2, "--batch", 20))

    def test_numbers_are_those_of_the_batches_that_are_read(self):
        begins = list(itertools.accumulate((shape[0] for shape in shard_shapes(self.dataset)), initial=0))
        for flags in ((), ("--open-runs", 2, "--pool", 5), ("--order", "global"), ("--tail", "pad", "--lanes", 4)):
            with self.subTest(flags=flags):
                where = ("--world", 2, "--batch", 16, *flags)
                mixing = run_json("plan", self.dataset, *where, "--shuffle-report")["mixing"]
                batches = collections.defaultdict(list)
                steps = collections.defaultdict(list)
                for rank in range(2):
                    for step, _, shard, record, status in self.read_rank(rank, 2, 16, *flags)[1]:
                        if status == FIRST:
                            batches[rank, step].append((shard, record))
                            steps[step].append((shard, record))
                for found, size, name in ((batches, 16, "rank"), (steps, 32, "global")):
                    full = [batch for batch in found.values() if len(batch) == size]
                    shards = [len({shard for shard, _ in batch}) for batch in full]
                    slices = [len({(begins[shard] + record) * 16 // 1000 for shard, record in batch}) for batch in full]
                    plan = mixing["plan"][name]
                    self.assertAlmostEqual(plan["mean_shards"], sum(shards) / len(shards))
                    self.assertEqual(plan["least_shards"], min(shards))
                    self.assertAlmostEqual(plan["mean_slices"], sum(slices) / len(slices))
                    self.assertEqual(plan["least_slices"], min(slices))
                self.assertEqual(mixing["batches"], mixing["all_batches"])

    def test_weak_mixing_is_warned_of_and_good_mixing_is_not(self):
        where = ("plan", self.dataset, "--world", 1, "--batch", 32, "--shuffle-report")
        weak = run(*where, "--order", "sequential")
        self.assertEqual(weak.returncode, GOOD)
        self.assertIn(b"dovetail: warning: the mixing is weak", weak.stderr)
        self.assertIn(b"weak: ", weak.stdout)
        self.assertIn(b"--order shuffle or global", weak.stdout)
        self.assertTrue(run_json(*where, "--order", "sequential")["mixing"]["weak"])
        good = run(*where)
        self.assertEqual(good.stderr, b"")
        self.assertIn(b"good: ", good.stdout)
        self.assertEqual(run_json(*where)["mixing"]["flaws"], [])

    def test_few_open_runs_are_named(self):
        advice = run_json("plan", self.dataset, "--world", 1, "--batch", 32, "--shuffle-report", "--open-runs", 1,
                          "--pool", 1)["mixing"]["advice"]
        self.assertTrue(any("--open-runs" in sentence for sentence in advice), advice)

    def test_more_open_runs_are_not_advised_where_all_are_open(self):
        plan = run_json("plan", self.dataset, "--world", 4, "--batch", 8, "--assign", "files", "--shuffle-report")
        advice = plan["mixing"]["advice"]
        self.assertTrue(any("--assign runs" in sentence for sentence in advice), advice)
        self.assertFalse(any("--open-runs" in sentence for sentence in advice), advice)

    def test_ranks_with_few_shards_are_told_apart(self):
        plan = run_json("plan", self.dataset, "--world", 10, "--batch", 20, "--shuffle-report")
        self.assertIn("few_slices", plan["mixing"]["flaws"])
        self.assertTrue(any("--assign runs" in sentence for sentence in plan["mixing"]["advice"]))
        self.assertTrue(any("--assign runs" in note for note in plan["notes"]))
        self.assertEqual(run_json("plan", self.dataset, "--world", 1, "--batch", 20)["notes"], [])

    def sorted_shard(self, name, *flags):
        """One shard of Examples with 20 classes, one after the other."""
        records = [payloads.example({"label": [i // 256], "name": [b"x"], "weight": [0.5]}) for i in range(5120)]
        return self.make_dataset(records, name, 1, *flags)

    def test_a_sorted_shard_on_four_ranks_is_weak_and_its_runs_are_good(self):
        dataset = self.sorted_shard("sorted")
        where = ("plan", dataset, "--world", 4, "--batch", 64, "--shuffle-report", "--labels", "label")
        weak = run_json(*where)["mixing"]
        self.assertIn("few_slices", weak["flaws"])
        self.assertIn("few_labels", weak["flaws"])
        self.assertLess(weak["labels"]["mean"], 7)
        self.assertGreater(weak["labels"]["true_shuffle_mean"], 18)
        self.assertEqual(weak["labels"]["records"], 4096)
        good = run_json(*where, "--assign", "runs")["mixing"]
        self.assertEqual((good["flaws"], good["advice"]), ([], []))
        self.assertGreater(good["labels"]["mean"], 17)
        shuffled = self.sorted_shard("shuffled", "--shuffle", 1)
        self.assertEqual(run_json("plan", shuffled, *where[2:])["mixing"]["flaws"], [])
        self.assertIn(b"labels in a batch", run_good(*where))

    def test_labels_in_large_blocks_are_judged(self):
        # A batch of all its rows would read nearly all of 20 blocks of a megabyte, and a fourth one pass 64 MiB.
        generator = random.Random(64)
        images = [generator.getrandbits(480_000).to_bytes(60_000, "little") for _ in range(320)]
        records = [payloads.example({"label": [i // 16], "image": [images[i]]}) for i in range(320)]
        source = write_file(self.path("large.tfrecord"), tfrecord(records))
        run_good("convert", source, "--to", self.path("large"), "--shards", 1, "--codec", "none", "--block-bytes", "1M",
                 "--run-records", 16)
        labels = run_json("plan", self.path("large"), "--world", 1, "--batch", 32, "--shuffle-report", "--labels",
                          "label")["mixing"]["labels"]
        self.assertTrue(labels["judged"])
        self.assertGreaterEqual(labels["batches"], 4)
        self.assertEqual(labels["records"], 8 * labels["batches"])

    def test_labels_of_few_batches_are_not_judged(self):
        where = ("plan", self.sorted_shard("sorted"), "--world", 1, "--batch", 2000, "--shuffle-report", "--labels",
                 "label")
        self.assertFalse(run_json(*where)["mixing"]["labels"]["judged"])
        self.assertIn(b"not judged", run_good(*where))

    def test_labels_that_are_none_are_refused(self):
        dataset = self.sorted_shard("sorted")
        where = ("--world", 1, "--batch", 64, "--shuffle-report", "--labels")
        self.assertEqual(run_json("plan", dataset, *where, "name")["mixing"]["labels"]["mean"], 1)
        self.assert_fails(USAGE, "plan", dataset, *where, "lable", says="no record in the sample")
        self.assert_fails(USAGE, "plan", dataset, *where, "weight", says="float_list")
        self.assert_fails(USAGE, "plan", self.dataset, *where, "label", says="tf.train.Example")
        self.assert_fails(USAGE, "plan", dataset, "--world", 1, "--batch", 64, "--labels", "label",
                          says="--shuffle-report")


class SvgTest(PlanTest):
    def draw(self, *flags):
        path = self.path("plan.svg")
        run_good("plan", self.dataset, *flags, "--svg", path)
        tree = xml.etree.ElementTree.parse(path)
        return tree.getroot(), lambda kind: [item for item in tree.iter() if item.get("class") == kind]

    def test_shards_cuts_and_ranks_are_drawn(self):
        root, find = self.draw("--world", 4, "--batch", 10)
        self.assertEqual(root.tag, SVG + "svg")
        self.assertEqual([group.get("id") for group in root.iter(SVG + "g")], ["line", "ranks", "mixing", "numbers"])
        self.assertEqual((len(find("cut")), len(find("bar"))), (3, 12))
        self.assertGreaterEqual(len(find("part")), 10)
        self.assertLessEqual(len(find("part")), 13)
        names = [text.text for text in root.iter(SVG + "text")]
        for rank in range(4):
            self.assertIn(f"rank {rank}", names)

    def test_the_map_has_a_cell_for_every_slice_and_step(self):
        _, find = self.draw("--world", 1, "--batch", 100)
        self.assertEqual(sum(path.get("d").count("M") for path in find("cells")), 16 * 10)

    def test_every_order_is_drawn(self):
        for flags in (("--order", "sequential"), ("--order", "global"), ("--assign", "files"), ("--assign", "runs"),
                      ("--sticky",), ("--tail", "pad"), ("--replicate", 2)):
            self.draw("--world", 2, "--batch", 10, *flags)

    def test_names_are_escaped(self):
        odd = self.path("a<b>&\"c'")
        os.rename(self.dataset, odd)
        self.dataset = odd
        root, _ = self.draw("--world", 1, "--batch", 10)
        self.assertIn(odd, [text.text for text in root.iter(SVG + "text")])

    def test_a_folder_that_is_not_there_is_an_error(self):
        self.assert_fails(3, "plan", self.dataset, "--world", 1, "--batch", 10, "--svg", self.path("no", "plan.svg"),
                          says="plan.svg")


class SavedPlanTest(PlanTest):
    FLAGS = ("--world", 2, "--batch", 12, "--seed", 99, "--open-runs", 3, "--tail", "pad", "--lanes", 4)

    def save(self):
        path = self.path("plan.json")
        return path, run_json("plan", self.dataset, *self.FLAGS, "--save", path)

    def test_a_saved_plan_is_read_exactly(self):
        path, plan = self.save()
        self.assertEqual(run_json("plan", self.dataset, "--plan", path), plan)
        digests = []
        for rank in range(2):
            summary = run_json("read", self.dataset, "--rank", rank, "--world", 2, "--plan", path)
            self.assertEqual(summary["plan_id"], plan["plan_id"])
            digests.append(int(summary["digest"], 16))
        self.assertEqual(sum(digests) % 2**128, int(plan["digest"], 16))

    def test_other_data_and_other_options_are_refused_by_name(self):
        path, plan = self.save()
        other = self.make_dataset(make_records(1000, seed=61, longest=40), "other", 10)
        self.assert_fails(USAGE, "plan", other, "--plan", path, says=["fingerprint", plan["dataset"]])
        self.assert_fails(USAGE, "plan", self.dataset, "--plan", path, "--seed", 98,
                          says="seed is 98, in the saved plan 99")
        self.assert_fails(USAGE, "read", self.dataset, "--plan", path, "--rank", 0, "--world", 4, says="world is 4")
        saved = json.loads(read_file(path))
        for name, value in (("seed", 1), ("batch", 24), ("tail", "wrap"), ("open_runs", 4)):
            altered = json.dumps({**saved, "options": {**saved["options"], name: value}})
            write_file(path, altered.encode())
            self.assert_fails(USAGE, "plan", self.dataset, "--plan", path, says="plan_id is")

    def test_a_damaged_plan_is_refused(self):
        path, _ = self.save()
        content = read_file(path)
        for damaged in (b"", content[:100], content.replace(b'"seed"', b'"sead"')):
            write_file(path, damaged)
            self.assert_fails(DAMAGED, "plan", self.dataset, "--plan", path, says=path)
        for other in (b"[]", b"dvt:", b"{}"):
            write_file(path, other)
            self.assert_fails(USAGE, "plan", self.dataset, "--plan", path, says=[path, "not a saved plan"])
        write_file(path, content.replace(b'"dovetail_plan":1', b'"dovetail_plan":2'))
        self.assert_fails(DAMAGED, "plan", self.dataset, "--plan", path, says="version 2")

    def test_a_batch_is_needed_without_one_and_the_world_is_one(self):
        self.assertEqual(run_good("plan", self.dataset, "--batch", 4),
                         run_good("plan", self.dataset, "--batch", 4, "--world", 1))
        self.assert_fails(USAGE, "plan", self.dataset, "--world", 4, says="--batch")

    def test_sticky_keeps_the_shards_of_a_rank(self):
        def touched(epoch, *flags):
            rows = self.read_rank(0, 2, 10, "--epoch", epoch, *flags)[1]
            return {row[2] for row in rows}, [row[2:4] for row in rows]

        first, second = touched(0, "--sticky"), touched(1, "--sticky")
        self.assertEqual(first[0], second[0])
        self.assertNotEqual(first[1], second[1])
        self.assertNotEqual(touched(0)[0], touched(1)[0])


class MixTest(PlanTest):
    def test_weights_and_stop_rules_reach_the_plan(self):
        other = self.make_dataset(make_records(200, seed=62, longest=40), "other", 3)
        paths = (self.dataset, other)
        joined = run_json("plan", *paths, "--world", 2, "--batch", 10)
        self.assertEqual((joined["records"], joined["shards"], joined["steps"]), (1200, 13, 60))
        where = ("plan", *paths, "--world", 2, "--batch", 10)
        # Of 20 rows a step, 4 are of the source with 200 records.
        self.assertEqual(run_json(*where, "--weights", "4,1")["steps"], 50)
        self.assertEqual(run_json(*where, "--weights", "0.5,0.5", "--stop", "all", "--tail", "pad")["steps"], 100)
        self.assertEqual(run_json(*where, "--weights", "0=1:1,3=1:0", "--stop", "steps", "--mix-steps", 7)["steps"], 7)
        self.assertIn("weights 0=4:1, stop first", run_good(*where, "--weights", "4,1").decode())
        self.assert_fails(USAGE, *where, "--stop", "all", says="--weights")
        self.assert_fails(USAGE, *where, "--weights", "1,2,3", says="3 weights for 2 sources")
        self.assert_fails(USAGE, *where, "--weights", "1;2", says="--weights = 1;2")

    def test_a_mix_is_saved_and_drawn(self):
        other = self.make_dataset(make_records(200, seed=63, longest=40), "other", 3)
        path, svg = self.path("plan.json"), self.path("plan.svg")
        plan = run_json("plan", self.dataset, other, "--world", 2, "--batch", 10, "--weights", "0=3:1,5=1:1", "--save",
                        path, "--svg", svg)
        self.assertEqual(run_json("plan", self.dataset, other, "--plan", path), plan)
        names = [text.text for text in xml.etree.ElementTree.parse(svg).iter(SVG + "text")]
        self.assertIn("source 1", names)
        self.assert_fails(USAGE, "plan", other, self.dataset, "--plan", path, says="fingerprint")


class CheckDigestsTest(PlanTest):
    WHERE = ("--world", 4, "--batch", 16)

    def check(self, code, *arguments):
        done = run("plan", self.dataset, *arguments, "--json")
        self.assertEqual(done.returncode, code, done.stderr.decode() + done.stdout.decode())
        return json.loads(done.stdout)

    def test_what_was_read_adds_up(self):
        files = [self.read_rank(rank, 4, 16)[0] for rank in range(4)]
        verdict = self.check(GOOD, *self.WHERE, "--check-digests", *files)
        self.assertEqual((verdict["verdict"], verdict["files"], verdict["problems"]), ("good", 4, []))
        self.assertEqual(verdict["planned"], verdict["found"])
        self.assertIn(b"good: the digests of 4 files", run_good("plan", self.dataset, *self.WHERE, "--check-digests",
                                                                *files))
        without = run("plan", self.dataset, "--batch", 16, "--check-digests", *files)
        self.assertEqual(without.returncode, USAGE)
        self.assertIn(b"--check-digests needs --world", without.stderr)

    def test_an_altered_digest_names_its_rank(self):
        files = [self.read_rank(rank, 4, 16)[0] for rank in range(4)]
        summary = json.loads(read_file(files[2]))
        summary["digest"] = f"{(int(summary['digest'], 16) + 1) % 2**128:032x}"
        write_file(files[2], json.dumps(summary).encode())
        verdict = self.check(1, *self.WHERE, "--check-digests", *files)
        self.assertEqual(verdict["verdict"], "differs")
        self.assertEqual(len(verdict["problems"]), 1)
        self.assertIn("rank 2 of 4", verdict["problems"][0])

    def test_rows_that_were_lost_to_damage_are_no_good_verdict(self):
        shard = os.path.join(self.dataset, "shard-000002.dvt")
        records = run_json("inspect", shard)["records"]
        write_file(shard, b"")
        for policy in ("empty", "substitute"):
            with self.subTest(policy=policy):
                files = [self.read_rank(rank, 4, 16, "--tail", "pad", "--on-damage", policy)[0] for rank in range(4)]
                where = (*self.WHERE, "--tail", "pad", "--check-digests", *files)
                verdict = self.check(DAMAGED, *where)
                self.assertEqual((verdict["verdict"], verdict["lost_rows"]), ("lost", records))
                self.assertEqual(verdict["planned"], verdict["found"])
                read = [json.loads(read_file(file)) for file in files]
                lost = {file: rank["substituted"] + rank["damaged_empty"] for file, rank in zip(files, read)}
                rows = [f"{count} row{'s' if count != 1 else ''} to damage or rejection"
                        for count in lost.values() if count]
                self.assertEqual(len(verdict["problems"]), len(rows))
                for problem, lost_here in zip(verdict["problems"], rows):
                    self.assertTrue(problem.endswith("lost " + lost_here), verdict["problems"])
                text = run("plan", self.dataset, *where).stdout.decode()
                self.assertIn(f"lost: the digests agree, but {records} rows were lost to damage or rejected\n", text)
                self.assertNotIn("good:", text)

    def test_missing_and_contradicting_files_are_named(self):
        files = [self.read_rank(rank, 4, 16)[0] for rank in range(4)]
        self.assertEqual(self.check(USAGE, *self.WHERE, "--check-digests", *files[:3])["problems"],
                         ["there is no file of rank 3 of 4"])
        twice = self.check(USAGE, *self.WHERE, "--check-digests", *files, files[1])
        self.assertIn("some steps twice", twice["problems"][0])
        other = self.check(USAGE, *self.WHERE, "--seed", 1, "--check-digests", *files)
        self.assertEqual(len([text for text in other["problems"] if "another plan" in text]), 4)
        broken = write_file(self.path("broken.json"), b'{"plan_id":"12"}')
        self.assert_fails(DAMAGED, "plan", self.dataset, *self.WHERE, "--check-digests", broken, says=broken)
        other = write_file(self.path("other.json"), b"{}")
        self.assert_fails(USAGE, "plan", self.dataset, *self.WHERE, "--check-digests", other, says=other)
        self.assert_fails(3, "plan", self.dataset, *self.WHERE, "--check-digests", self.path("none.json"))

    def test_replicas_count_once(self):
        files = [self.read_rank(rank, 4, 16, "--replicate", 2)[0] for rank in range(4)]
        self.check(GOOD, *self.WHERE, "--replicate", 2, "--check-digests", *files)
        self.check(GOOD, *self.WHERE, "--replicate", 2, "--check-digests", files[0], files[3])
        self.check(USAGE, *self.WHERE, "--replicate", 2, "--check-digests", files[0], files[1])

    def test_an_epoch_read_in_two_worlds_adds_up(self):
        state = self.path("state")
        files = [self.read_rank(rank, 4, 16, "--steps", 6, "--state-out", state)[0] for rank in range(4)]
        files += [self.read_rank(rank, 3, 11, "--from-state", state)[0] for rank in range(3)]
        where = ("--world", 3, "--batch", 11, "--from-state", state)
        verdict = self.check(GOOD, *where, "--check-digests", *files)
        self.assertEqual(verdict["files"], 7)
        self.assertEqual(self.check(USAGE, *where, "--check-digests", *files[1:])["problems"],
                         ["there is no file of rank 0 of 4"])
        self.assertEqual(run_json("plan", self.dataset, *where)["first_step"], 6)

    def test_a_run_that_was_interrupted_and_resumed_adds_up(self):
        state = self.path("state")
        files = [self.read_rank(rank, 4, 16, "--steps", 6, "--state-out", state)[0] for rank in range(4)]
        files += [self.read_rank(rank, 4, 16, "--from-state", state)[0] for rank in range(4)]
        self.check(GOOD, *self.WHERE, "--check-digests", *files)
        verdict = self.check(USAGE, *self.WHERE, "--check-digests", *files[:4])
        self.assertEqual(verdict["problems"], ["no file covers steps [6, 15)"])


if __name__ == "__main__":
    main()
