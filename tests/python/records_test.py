#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records by number, by slice and one after the other."""

import os
import random
from concurrent.futures import ThreadPoolExecutor

import dovetail
from fixtures import ModuleTest, damage_record, main, np


class RecordsTest(ModuleTest):
    def test_they_are_a_sequence(self):
        records = dovetail.open(self.make_dataset())
        self.assertEqual(len(records), 400)
        self.assertEqual(list(records), self.records)
        self.assertEqual([records[i] for i in range(400)], self.records)
        self.assertEqual([records[i] for i in range(-400, 0)], self.records)
        for i in (np.int32(7), np.uint64(7), True):
            self.assertEqual(records[i], self.records[int(i)])
        for part in (slice(None), slice(3, 90, 7), slice(None, None, -1), slice(-5, None), slice(390, 500), slice(5, 5),
                     slice(2**70)):
            self.assertEqual(records[part], self.records[part])
        for i in (400, -401, 2**40):
            self.assertRaises(IndexError, lambda: records[i])
        for wrong in (1.0, "1", None, (1, 2)):
            self.assertRaises(TypeError, lambda: records[wrong])
        self.assertRaises(ValueError, lambda: records[::0])

    def test_iterators_are_apart(self):
        records = dovetail.open(dovetail.Dataset(self.make_dataset()))
        first, second = iter(records), iter(records)
        self.assertEqual([next(first) for _ in range(150)], self.records[:150])
        self.assertEqual(list(second), self.records)
        del records
        self.assertEqual(list(first), self.records[150:])
        self.assertEqual(next(first, None), None)
        self.assertIs(iter(first), first)

    def test_threads_share_them(self):
        records = dovetail.open(self.make_dataset())
        iterator = iter(records)
        wrong, iterated = [], []

        def work(seed):
            draws = random.Random(seed)
            for _ in range(300):
                i = draws.randrange(400)
                if records[i] != self.records[i]:
                    wrong.append(i)
            iterated.extend(iterator)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        self.assertEqual(wrong, [])
        self.assertEqual(sorted(iterated), sorted(self.records))

    def test_damage_costs_the_records_of_its_block(self):
        dataset = self.make_dataset(codec="none")
        shard = dovetail.Dataset(dataset).shard_paths[2]
        damage_record(shard, max(self.records[200:300], key=len))
        lost = {200 + i for i in dovetail.verify(dataset).damaged[0].records}
        self.assertTrue(lost)
        records = dovetail.open(dataset)
        order = list(range(400)) * 2
        random.Random(4).shuffle(order)
        for i in order:
            if i in lost:
                with self.assertRaises(dovetail.DamagedError) as caught:
                    records[i]
                self.assertEqual(caught.exception.path, shard)
                self.assertIsInstance(caught.exception.offset, int)
            else:
                self.assertEqual(records[i], self.records[i])
        before = []
        iterator = iter(records)
        with self.assertRaises(dovetail.DamagedError):
            for record in iterator:
                before.append(record)
        self.assertEqual(before, self.records[:min(lost)])
        self.assertRaises(dovetail.DamagedError, next, iterator)

    def test_a_path_holds_when_the_working_folder_changes(self):
        self.make_dataset(shards=2)
        self.addCleanup(os.chdir, os.getcwd())
        os.mkdir(self.path("a[1]"))
        os.chdir(self.folder)
        shard = os.path.relpath(dovetail.Dataset("dataset").shard_paths[0])
        opened = [dovetail.open(path) for path in ("dataset", "./dataset/", "dataset/*.dvt", "dataset/manifest.dvt")]
        one = dovetail.open(shard)
        reader = self.open_reader("dataset")
        self.assertEqual(opened[0].dataset.path, os.path.join(os.getcwd(), "dataset"))
        os.chdir(self.path("a[1]"))
        self.assertEqual(len(dovetail.open("../dataset/shard*")), 400)
        os.chdir("/")
        for records in opened:
            self.assertEqual(list(records), self.records)
        self.assertEqual(list(one), self.records[:200])
        self.assertEqual(sum(1 for _ in reader), 25)

    def test_a_vanished_shard(self):
        dataset = self.make_dataset()
        records = dovetail.open(dataset)
        shard = dovetail.Dataset(dataset).shard_paths[1]
        os.rename(shard, shard + ".away")
        with self.assertRaises(dovetail.MissingFileError) as caught:
            records[150]
        self.assertEqual(caught.exception.path, shard)
        self.assertEqual(records[0], self.records[0])
        os.rename(shard + ".away", shard)
        self.assertEqual(records[150], self.records[150])

    def test_the_dataset_is_at_hand(self):
        records = dovetail.open(self.make_dataset())
        dataset = records.dataset
        self.assertEqual([dataset.locate(i) for i in (0, 99, 100, 399)], [(0, 0), (0, 99), (1, 0), (3, 99)])
        self.assertRaises(IndexError, dataset.locate, 400)
        self.assertEqual([shard.records for shard in dataset.shards], [100] * 4)
        self.assertEqual(dataset.raw_bytes, sum(map(len, self.records)))
        joined = dovetail.Dataset.join([dataset, dovetail.Dataset(self.make_dataset(50, "more", seed=8))])
        self.assertEqual(list(dovetail.open(joined))[400:], self.records)


if __name__ == "__main__":
    main()
