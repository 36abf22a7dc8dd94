#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every rank gets the same number of batches, and all ranks together get exactly what the plan says."""

import concurrent.futures
import itertools
import json
import re
import resource

from support import (FIRST, GOOD, REPEATED, USAGE, CommandTest, main, make_records, read_ids, real_data, run, run_good,
                     run_json, shard_shapes, tfrecord, write_file)

WORLDS = (1, 2, 3, 4, 7, 8, 16)
TAILS = ("drop", "pad", "wrap")


class WorldsTest(CommandTest):
    def read_world(self, dataset, world, batch, *flags):
        """The summaries and ids of all ranks; several processes at once, as a launcher would run them."""

        def read(rank):
            ids = self.path(f"ids-{world}-{rank}")
            place = ("--rank", rank, "--world", world, "--batch", batch)
            return run_json("read", dataset, *place, "--ids", ids, *flags), read_ids(ids)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return list(pool.map(read, range(world)))

    def check_world(self, dataset, shapes, world, batch, tail, *flags):
        flags = ("--tail", tail, *flags)
        plan = run_json("plan", dataset, "--world", world, "--batch", batch, *flags)
        ranks = self.read_world(dataset, world, batch, *flags)
        steps, rows = plan["steps"], []
        for summary, ids in ranks:
            self.assertEqual((summary["steps"], summary["rows"]), (steps, steps * batch))
            self.assertEqual([line[:2] for line in ids], list(itertools.product(range(steps), range(batch))))
            self.assertEqual(summary["plan_id"], plan["plan_id"])
            rows += ids
        self.check_rows(rows, shapes, plan, tail)
        self.assertEqual(sum(int(summary["digest"], 16) for summary, _ in ranks) % 2**128, int(plan["digest"], 16))
        self.assertEqual(sum(summary["valid"] for summary, _ in ranks), plan["records"] - plan["dropped"])

    def check_rows(self, rows, shapes, plan, tail):
        everything = {(shard, record) for shard, (records, *_) in enumerate(shapes) for record in range(records)}
        first = [(shard, record) for _, _, shard, record, status in rows if status == FIRST]
        self.assertEqual(len(first), len(set(first)), "no record is delivered first twice")
        self.assertLessEqual(set(first), everything)
        self.assertEqual(len(everything) - len(first), plan["dropped"])
        others = [row for row in rows if row[4] != FIRST]
        self.assertEqual(len(others), plan["padded"])
        if tail == "drop":
            self.assertEqual(others, [])
        elif tail == "pad":
            self.assertTrue(all(row[2:] == (-1, -1, 0) for row in others))
        else:
            self.assertTrue(all(row[4] == REPEATED and row[2:4] in everything for row in others))

    def check_all(self, dataset, batch):
        shapes = shard_shapes(dataset)
        for world, tail in itertools.product(WORLDS, TAILS):
            with self.subTest(world=world, tail=tail):
                self.check_world(dataset, shapes, world, batch, tail)

    def test_generated_records(self):
        self.check_all(self.make_dataset(make_records(1003, seed=3), "dataset", 5), 8)

    def test_taxi_trips(self):
        self.make_taxi()
        self.check_all(self.path("taxi"), 32)

    def make_taxi(self):
        run_json("convert", real_data("tfx-taxi"), "--to", self.path("taxi"), "--shards", 8)

    def test_whole_files_and_runs_per_lane(self):
        dataset = self.make_dataset(make_records(1003, seed=4), "dataset", 9)
        shapes = shard_shapes(dataset)
        for world, tail in itertools.product((1, 3, 4), TAILS):
            with self.subTest(world=world, tail=tail):
                self.check_world(dataset, shapes, world, 5, tail, "--assign", "files", "--epoch", "3")
                self.check_world(dataset, shapes, world, 5, tail, "--assign", "runs", "--epoch", "3")

    def test_sequential_order_is_the_order_of_the_dataset(self):
        dataset = self.make_dataset(make_records(200, seed=5))
        ranks = self.read_world(dataset, 4, 5, "--order", "sequential", "--tail", "pad")
        shapes = shard_shapes(dataset)
        everything = [(shard, record) for shard, (records, *_) in enumerate(shapes) for record in range(records)]
        self.assertEqual([row[2:4] for _, ids in ranks for row in ids], everything)

    def test_replicas_read_the_same_rows(self):
        dataset = self.make_dataset(make_records(300, seed=6))
        ranks = self.read_world(dataset, 4, 10, "--replicate", "2")
        ids = [ids for _, ids in ranks]
        self.assertEqual(ids[0], ids[1])
        self.assertEqual(ids[2], ids[3])
        self.assertTrue({row[2:4] for row in ids[0]}.isdisjoint(row[2:4] for row in ids[2]))

    def test_any_number_of_threads_gives_the_same_ids(self):
        dataset = self.make_dataset(make_records(2000, seed=7))
        expected = None
        for io_threads, decode_threads, prefetch in ((1, 1, 1), (1, 4, 2), (4, 1, 8), (3, 3, 3), (0, 0, 64)):
            ids = self.read_world(dataset, 2, 16, "--io-threads", io_threads, "--decode-threads", decode_threads,
                                  "--prefetch", prefetch)
            ids = [rows for _, rows in ids]
            expected = expected or ids
            self.assertEqual(ids, expected)

    def test_epochs_differ_and_repeat(self):
        dataset = self.make_dataset(make_records(300, seed=8))
        epochs = [self.read_world(dataset, 2, 10, "--epoch", epoch, "--seed", 99)[0][1] for epoch in (0, 1, 0)]
        self.assertNotEqual(epochs[0], epochs[1])
        self.assertEqual(epochs[0], epochs[2])

    def test_steps_stop_early(self):
        dataset = self.make_dataset(make_records(300, seed=9))
        whole = self.read_world(dataset, 1, 10)[0][1]
        summary, ids = self.read_world(dataset, 1, 10, "--steps", 7)[0]
        self.assertEqual((summary["steps"], ids), (7, whole[:70]))


class FewDescriptorsTest(CommandTest):
    def read(self, *arguments, files=128, batch=32):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        return run("read", *arguments, "--rank", 0, "--world", 1, "--batch", batch, preexec_fn=limit)

    def pack(self, name, seed, run_records=1, shards=150):
        """More shards than there are descriptors."""
        source = write_file(self.path(name + ".tfrecord"), tfrecord(make_records(3 * shards, seed=seed, longest=20)))
        run_good("convert", source, "--to", self.path(name), "--shards", shards, "--run-records", run_records)
        return self.path(name)

    def test_few_descriptors_are_enough_for_any_plan(self):
        one, two = self.pack("one", 1), self.pack("two", 2)
        groups = self.pack("groups", 4, run_records=3, shards=400)
        for name, arguments, batch in (
                ("shards", [one], 32), ("sources", [one, two], 32), ("a mix", [one, two, "--weights", "1,1"], 32),
                ("a global order", [one, "--order", "global"], 32), ("few open runs", [one, "--open-runs", 8], 32),
                ("two descriptors a shard", [one, "--storage", "io_uring_direct"], 32),
                ("several groups a batch", [groups, "--open-runs", 40], 128)):
            with self.subTest(name):
                with_many = self.read(*arguments, "--json", files=1000, batch=batch)
                if with_many.returncode != GOOD and "io_uring_direct" in arguments:
                    continue  # this system has none
                done = self.read(*arguments, "--json", files=40, batch=batch)
                self.assertEqual(done.returncode, GOOD, done.stderr)
                self.assertEqual(json.loads(done.stdout)["steps"], json.loads(with_many.stdout)["steps"])

    def test_few_descriptors_are_enough_to_measure(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))

        done = run("bench", self.pack("one", 1), "--seconds", 1, "--batch", 10, preexec_fn=limit)
        self.assertEqual(done.returncode, GOOD, done.stderr)

    def test_too_few_for_any_plan_are_told_with_a_number_that_works(self):
        one = self.pack("one", 1)
        done = self.read(one, files=16)
        self.assertEqual(done.returncode, USAGE, done.stderr)
        advised = int(re.search(r"ulimit -n\) to at least (\d+)", done.stderr.decode()).group(1))
        for files, code in ((advised - 1, USAGE), (advised, GOOD)):
            done = self.read(one, files=files)
            self.assertEqual(done.returncode, code, done.stderr)


if __name__ == "__main__":
    main()
