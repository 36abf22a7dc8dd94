#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Readers give what the plan says: ids, statuses and bytes of every batch, in any world, from any place."""

import itertools
import json
import locale
import os
import pathlib
import pickle
import random
import subprocess
import warnings

import dovetail
from fixtures import ModuleTest, damage_record, main, np, read_file, write_file


class ReaderTest(ModuleTest):
    def take(self, reader):
        """The rest of an epoch: (ids, statuses, rows) of every batch, as copies."""
        return [(batch.ids.copy(), batch.status.copy(), batch.rows()) for batch in reader]

    def check_batches(self, plan, epoch, steps, rank, got):
        for step, (ids, status, rows) in zip(steps, got):
            planned, statuses = plan.rows(epoch, step, rank)
            np.testing.assert_array_equal(ids, planned)
            np.testing.assert_array_equal(status, statuses)
            self.assertEqual(rows, [b"" if i == dovetail.NO_ID else self.records[i] for i in planned])
        self.assertEqual(len(got), len(steps))

    def test_batches_are_those_of_the_plan(self):
        dataset = dovetail.Dataset(self.make_dataset(517))
        combinations = itertools.product(("shuffle", "sequential", "global"), ("drop", "pad", "wrap"), (1, 3, 4))
        for order, tail, world in combinations:
            with self.subTest(order=order, tail=tail, world=world):
                plan = dovetail.Plan(dataset, batch=10, world=world, order=order, tail=tail, seed=9)
                for epoch in (0, 1):
                    digests, counted = [], []
                    for rank in range(world):
                        with self.open_reader(dataset, batch=10, rank=rank, world=world, order=order, tail=tail,
                                              seed=9) as reader:
                            self.assertEqual(reader.plan.plan_id, plan.plan_id)
                            reader.set_epoch(epoch)
                            self.assertEqual(len(reader), plan.steps(epoch))
                            got = self.take(reader)
                            self.assertEqual((reader.epoch, reader.step), (epoch + 1, 0))
                        self.check_batches(plan, epoch, range(plan.steps(epoch)), rank, got)
                        ids = np.concatenate([each[0] for each in got])
                        status = np.concatenate([each[1] for each in got])
                        digests.append(dovetail.digest(ids, status))
                        counted.extend(ids[status == dovetail.FIRST].tolist())
                    self.assertEqual(dovetail.add_digests(digests), plan.epoch(epoch).digest)
                    self.assertEqual(len(counted), len(set(counted)))
                    self.assertEqual(len(counted), plan.epoch(epoch).delivered)
                    if tail != "drop":
                        self.assertEqual(sorted(counted), list(range(517)))

    def test_epochs_follow_each_other_up_to_the_last(self):
        reader = self.open_reader(self.make_dataset(), epochs=3)
        for epoch in range(3):
            self.assertEqual([(b.epoch, b.step) for b in reader], [(epoch, step) for step in range(len(reader))])
        self.assertEqual(list(reader), [])
        self.assertIsNone(reader.next())
        iterator = iter(self.open_reader(self.path("dataset")))
        self.assertEqual(sum(1 for _ in iterator), 25)
        self.assertEqual([next(iterator, None) for _ in range(3)], [None] * 3)  # it stays at its end

    def test_what_is_left_of_an_epoch_is_its_length_less_the_step(self):
        reader = self.open_reader(self.make_dataset(), epochs=1)
        for _ in range(7):
            reader.next()
        for world in (1, 2):
            resumed = self.open_reader(self.path("dataset"), state=reader.state_dict(), rank=0, world=world, epochs=1)
            left = len(resumed) - resumed.step
            self.assertEqual(sum(1 for _ in resumed), left)

    def test_iterating_behind_the_last_epoch_is_a_warning(self):
        reader = self.open_reader(self.make_dataset(), epochs=2)
        says = "the reader ended with epoch 1, as epochs=2 asks.*without epochs="
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):
                self.assertEqual(len(self.take(reader)), 25)
            self.assertIsNone(reader.next())
        with self.assertWarnsRegex(RuntimeWarning, says) as told:
            self.assertEqual(list(reader), [])
        self.assertEqual(told.filename, __file__)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(10):
                self.take(reader)
        self.assertEqual(len(caught), 1)  # of a loop over epochs
        reader.seek(1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(len(self.take(reader)), 25)

    def test_set_epoch_and_seek(self):
        reader = self.open_reader(self.make_dataset())
        plan = reader.plan
        for epoch, step in ((2, 7), (0, 0), (5, 24), (2, 7), (2, 8)):
            reader.seek(epoch, step)
            self.assertEqual((reader.epoch, reader.step), (epoch, step))
            np.testing.assert_array_equal(reader.next().ids, plan.rows(epoch, step)[0])
        reader.set_epoch(2)  # it stands there
        self.assertEqual(reader.step, 9)
        reader.set_epoch(1)
        self.assertEqual((reader.epoch, reader.step), (1, 0))
        reader.seek(3, len(reader))
        self.assertIsNone(reader.next())
        self.assertEqual((reader.epoch, reader.step), (4, 0))

    def test_the_last_epoch_is_the_same_wherever_the_reader_begins(self):
        dataset = self.make_dataset()

        def epochs_left(reader):
            left = []
            while batches := list(map(lambda batch: (batch.epoch, batch.step), reader)):
                self.assertEqual(len({epoch for epoch, _ in batches}), 1)
                left.append(batches[0])
            return left

        reader = self.open_reader(dataset, epochs=3)
        self.take(reader)
        for _ in range(4):
            reader.next()
        state = reader.state_dict()
        self.assertEqual(epochs_left(self.open_reader(dataset, epochs=3, state=state)), [(1, 4), (2, 0)])
        self.assertEqual(epochs_left(reader), [(1, 4), (2, 0)])
        reader.load_state_dict(state)
        self.assertEqual(epochs_left(reader), [(1, 4), (2, 0)])
        at_end = reader.state_dict()
        reader.seek(2, 20)
        self.assertEqual(epochs_left(reader), [(2, 20)])
        for reader in (reader, self.open_reader(dataset, epochs=3, state=at_end)):
            self.assertEqual(epochs_left(reader), [])
            self.assertEqual((reader.epoch, reader.step), (3, 0))
            for call in (reader.seek, reader.set_epoch):
                for beyond in (3, 4):
                    self.assertRaisesRegex(dovetail.UsageError, "the last one is 2", call, beyond)
            reader.load_state_dict(at_end)
            self.assertEqual(epochs_left(reader), [])
            reader.seek(0, 24)
            self.assertEqual(epochs_left(reader), [(0, 24), (1, 0), (2, 0)])

    def test_seeking_to_where_it_failed_tries_again(self):
        dataset = self.make_dataset(codec="none")
        shard = dovetail.Dataset(dataset).shard_paths[0]
        whole = read_file(shard)
        damage_record(shard, max(self.records[:100], key=len))
        reader = self.open_reader(dataset)
        self.assertRaises(dovetail.DamagedError, self.take, reader)
        at = reader.epoch, reader.step
        reader.set_epoch(at[0])  # it stands there
        self.assertRaises(dovetail.DamagedError, reader.next)
        write_file(shard, whole)
        self.assertRaises(dovetail.DamagedError, reader.next)
        reader.seek(*at)
        batch = reader.next()
        self.assertEqual((batch.epoch, batch.step), at)

    def test_an_epoch_that_another_world_began_can_be_begun_anew(self):
        dataset = self.make_dataset(600)
        reader = self.open_reader(dataset, batch=12, rank=0, world=4)
        for _ in range(5):
            reader.next()
        state = reader.state_dict()
        fresh = dovetail.Plan(dataset, batch=10, world=3)
        for again in (lambda reader: reader.seek(0), lambda reader: reader.set_epoch(0)):
            reader = self.open_reader(dataset, batch=10, rank=1, world=3, state=state)
            self.take(reader)
            for step in (1, 4):
                self.assertRaisesRegex(dovetail.UsageError, "another world", reader.seek, 0, step)
            self.assertEqual((reader.epoch, reader.step), (1, 0))
            again(reader)
            self.assertEqual(len(reader), 20)
            self.check_batches(fresh, 0, range(20), 1, self.take(reader))
            self.check_batches(fresh, 1, range(20), 1, self.take(reader))

    def test_states_go_on_where_they_were_taken(self):
        dataset = self.make_dataset()
        seed = random.SystemRandom().randrange(1 << 32)
        print(f"seed {seed}")
        draws = random.Random(seed)
        reader = self.open_reader(dataset)
        whole = {(b.epoch, b.step): b.ids.copy() for _ in range(2) for b in reader}
        for _ in range(10):
            epoch, step = draws.choice(list(whole))
            reader.seek(epoch, step)
            reader.next()
            state = reader.state_dict()
            self.assertEqual(state, reader.plan.state_dict(epoch, step + 1))
            self.assertEqual(json.loads(json.dumps(state)), pickle.loads(pickle.dumps(state)))
            self.assertEqual((state["epoch"], state["step"]), (epoch, step + 1))
            other = self.open_reader(dataset, state=state)
            reader.seek(0)
            reader.load_state_dict(state["state"])  # the text alone will do
            for each in (other, reader):
                self.assertEqual((each.epoch, each.step), (epoch, step + 1))
                for batch in each:
                    np.testing.assert_array_equal(batch.ids, whole[batch.epoch, batch.step])

    def test_what_was_read_ahead_is_not_in_the_state(self):
        reader = self.open_reader(self.make_dataset(), prefetch=3)
        for step in range(5):
            self.assertEqual((reader.state_dict()["epoch"], reader.state_dict()["step"]), (0, step))
            batch = reader.next()
            self.assertEqual(batch.state(), reader.state_dict()["state"])

    def test_places_may_be_numbers_of_numpy(self):
        plan = dovetail.Plan(self.make_dataset(), batch=16)
        self.assertEqual(json.loads(json.dumps(plan.state_dict(np.int64(1), np.int64(2)))), plan.state_dict(1, 2))

    def test_checks_fit_a_tensor(self):
        dataset = dovetail.Dataset(self.make_dataset())
        checks = {dovetail.Plan(dataset, batch=16, seed=seed).plan_checksum() for seed in range(40)}
        self.assertEqual(len(checks), 40)
        self.assertLess(min(checks), 0)
        self.assertEqual(np.array(sorted(checks), "i8").tolist(), sorted(checks))
        reader = self.open_reader(dataset, seed=7)
        self.assertEqual(reader.plan_checksum(), dovetail.Plan(dataset, batch=16, seed=7).plan_checksum())

    def test_total_steps_of_whole_files(self):
        plan = dovetail.Plan(self.make_dataset(403, shards=9), batch=4, world=2, assign="files", tail="pad")
        self.assertEqual(plan.total_steps(50), sum(plan.steps(epoch) for epoch in range(50)))
        self.assertEqual(plan.total_steps(0), 0)

    def test_runs_of_all_shards_are_dealt(self):
        plan = dovetail.Plan(self.make_dataset(403, shards=9), batch=4, world=2, assign="runs", tail="pad")
        self.assertEqual(plan.options["assign"], "runs")
        self.assertEqual(plan.total_steps(5), 5 * plan.steps())
        ids = [i for step in range(plan.steps()) for rank in range(2) for i in plan.rows(0, step, rank)[0].tolist()]
        self.assertEqual(sorted(i for i in ids if i != dovetail.NO_ID), list(range(403)))

    def test_another_world_takes_the_rest_of_the_epoch(self):
        dataset = self.make_dataset(600)
        readers = [self.open_reader(dataset, batch=12, rank=rank, world=4) for rank in range(4)]
        seen = [i for reader in readers for _ in range(5) for i in reader.next().ids.tolist()]
        states = [reader.state_dict() for reader in readers]
        self.assertEqual(len({state["state"] for state in states}), 1)
        for world, batch in ((2, 24), (1, 48), (3, 10), (5, 9)):
            with self.subTest(world=world, batch=batch):
                rest = []
                plan = dovetail.Plan.resume(dataset, states[0], batch=batch, world=world)
                for rank in range(world):
                    with self.open_reader(dataset, batch=batch, rank=rank, world=world, state=states[0]) as reader:
                        rest.extend(i for each in self.take(reader) for i in each[0].tolist())
                self.assertEqual(len(set(rest) & set(seen)), 0)
                self.assertEqual(len(rest), len(set(rest)))
                self.assertGreater(len(rest), 360 - world * batch)
                self.assertEqual(plan.start[0], 0)

    def test_damage_is_answered_as_asked(self):
        dataset = self.make_dataset(codec="none", shards=2)
        shard = dovetail.Dataset(dataset).shard_paths[0]
        victim = max(range(100), key=lambda i: len(self.records[i]))
        damage_record(shard, self.records[victim])
        lost = dovetail.verify(dataset).damaged[0].records
        self.assertIn(victim, lost)
        plan = dovetail.Plan(dataset, batch=16)
        for answer, status in (("empty", dovetail.DAMAGED), ("substitute", dovetail.SUBSTITUTED)):
            with self.subTest(on_damage=answer):
                reader = self.open_reader(dataset, on_damage=answer)
                got = self.take(reader)
                for step, (ids, statuses, rows) in enumerate(got):
                    np.testing.assert_array_equal(ids, plan.rows(0, step)[0])
                    for i, s, row in zip(ids.tolist(), statuses.tolist(), rows):
                        if i not in lost:
                            self.assertEqual((s, row), (dovetail.FIRST, self.records[i]))
                        elif answer == "empty":
                            self.assertEqual((s, row), (status, b""))
                        else:
                            self.assertIn(s, (dovetail.SUBSTITUTED, dovetail.DAMAGED))
                            self.assertIn(row, [self.records[j] for j in ids.tolist() if j not in lost] + [b""])
                digest = dovetail.digest(np.concatenate([g[0] for g in got]), np.concatenate([g[1] for g in got]))
                self.assertEqual(digest, plan.epoch(0).digest)
                self.assertEqual(reader.stats()["rows"], 400)
                self.assertIn('\ndovetail_reader_rows_total{job="a \\"b\\"",rank="3",status="first"} ',
                              reader.metrics(rank=3, job='a "b"'))
        reader = self.open_reader(dataset)
        with self.assertRaises(dovetail.DamagedError) as caught:
            self.take(reader)
        self.assertEqual(caught.exception.path, shard)

    def test_metrics_are_in_a_file_that_is_last_written_when_the_reader_closes(self):
        path = pathlib.Path(self.path("rank-0.prom"))
        with self.open_reader(self.make_dataset(), metrics=path) as reader:
            steps = len(self.take(reader))
            ended = path.read_text(encoding="utf-8")
            reader.next()
        closed = path.read_text(encoding="utf-8")
        for text, batches in ((ended, steps), (closed, steps + 1)):
            self.assertIn(f'\ndovetail_reader_batches_total{{rank="0",world="1"}} {batches}\n', text)

    def test_counters_begin_anew_when_the_reader_moves(self):
        path = self.path("rank-0.prom")
        with self.open_reader(self.make_dataset(), metrics=path) as reader:
            for _ in range(5):
                reader.next()
            for move in (lambda: reader.seek(2), lambda: reader.load_state_dict(reader.state_dict()),
                         lambda: reader.set_epoch(7)):
                move()
                self.assertEqual(reader.stats()["batches"], 0)
                reader.next()
        self.assertIn('dovetail_reader_batches_total{rank="0",world="1"} 1\n', read_file(path).decode())

    def test_metrics_stay_in_the_folder_where_the_reader_was_opened(self):
        dataset, before = self.make_dataset(), os.getcwd()
        self.addCleanup(os.chdir, before)
        for folder in ("first", "second"):
            os.mkdir(self.path(folder))
        os.chdir(self.path("first"))
        with self.open_reader(os.path.abspath(dataset), metrics="rank-0.prom") as reader:
            os.chdir(self.path("second"))
            reader.seek(0, 1)
        self.assertEqual((os.listdir(self.path("first")), os.listdir(self.path("second"))), (["rank-0.prom"], []))

    def test_metrics_that_cannot_be_written_are_an_error_of_the_constructor(self):
        with self.assertRaises(FileNotFoundError):
            self.open_reader(self.make_dataset(), metrics=self.path("missing/rank-0.prom"))

    def test_statistics_are_the_same_in_every_locale(self):
        made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", self.path("de_DE.UTF-8")], check=False)
        if made.returncode != 0:
            self.skipTest("localedef cannot make a locale: install the package locales")
        reader = self.open_reader(self.make_dataset())
        self.take(reader)
        before = locale.setlocale(locale.LC_NUMERIC)
        os.environ["LOCPATH"] = self.path("")
        try:
            locale.setlocale(locale.LC_NUMERIC, "de_DE.UTF-8")
            self.assertEqual(locale.localeconv()["decimal_point"], ",")
            metrics, stats = reader.metrics(), reader.stats()
        finally:
            locale.setlocale(locale.LC_NUMERIC, before)
            del os.environ["LOCPATH"]
        self.assertRegex(metrics, r"\ndovetail_reader_trainer_idle_ratio [01]\.\d{6}\n")
        self.assertIsInstance(stats["filling"], float)

    def test_damage_is_a_warning_however_early_it_is_found(self):
        dataset = self.make_dataset(codec="none", shards=2)
        for path in dovetail.Dataset(dataset).shard_paths:
            with open(path, "r+b") as file:
                file.seek(300)
                file.write(bytes(4000))
        for _ in range(20):
            with self.assertLogs("dovetail", "WARNING") as told:
                reader = self.open_reader(dataset, on_damage="empty", order="sequential")
                reader.next()
                reader.stats()
            self.assertIn("are lost", told.output[0])

    def test_ranks_come_from_the_launcher_or_are_given(self):
        self.make_dataset()
        program = """
            import sys
            import dovetail
            reader = dovetail.Reader(sys.argv[1], batch=4)
            print(reader.plan.options["world"], reader.next().ids.tolist())
        """
        planned = dovetail.Plan(self.path("dataset"), batch=4, world=2).rows(0, 0, 1)[0].tolist()
        process = self.start_program(program, self.path("dataset"),
                                     env={**os.environ, "RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1",
                                          "LOCAL_WORLD_SIZE": "2"})
        out, errors = process.communicate(timeout=60)
        self.assertEqual((out, errors), (f"2 {planned}\n", ""))

    def test_gathered_rows_are_in_dataset_order(self):
        dataset = self.make_dataset(103)
        ids, status = [], []
        for rank in range(4):
            with self.open_reader(dataset, batch=8, rank=rank, world=4, order="sequential", tail="pad") as reader:
                for each in self.take(reader):
                    ids.append(each[0])
                    status.append(each[1])
        ids, status = np.concatenate(ids), np.concatenate(status)
        rows, damaged = dovetail.gathered_rows(103, ids, status)
        np.testing.assert_array_equal(ids[rows], np.arange(103))
        self.assertEqual(damaged.size, 0)


if __name__ == "__main__":
    main()
