#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loaders in trainers that fetch ahead, count and shard: stand-ins, which reach cases that real ones reach rarely."""

import json
import os
from itertools import islice
from unittest import mock

from fixtures import main, skip_all

try:
    import torch
    from torch.utils.data import DataLoader
except ImportError as missing:
    skip_all(str(missing))

import dovetail
import dovetail.trainers
import standins
from dovetail.torch import BatchDataset
from dovetail.trainers import Loader
from trainer_fixtures import RECORDS, STEPS, TrainersTest, ids_of, take

standins.install()

MISMATCH = dovetail.ErrorCode.state_mismatch
INVALID = dovetail.ErrorCode.invalid_option


class Model(torch.nn.Module):
    """Keeps the ids of what it trains."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def training_step(self, batch, batch_idx):
        self.seen.append(batch["ids"].tolist())

    def forward(self, ids, status, values, offsets):  # as the Trainer calls it; a "state" would be one too many
        self.seen.append(ids[status != dovetail.EMPTY].tolist())
        return {"loss": torch.zeros(())}


class LightningHooks(dovetail.trainers.LightningHooks, standins.Callback):
    pass


class Trainer(dovetail.trainers.TrainerHooks, standins.Trainer):
    pass


class LoaderTest(TrainersTest):
    def test_a_state_is_of_the_batch_that_was_trained_last(self):
        expected = self.expected()
        loader = self.loader()
        batches = iter(loader)
        ahead = take(batches, 5)
        self.assertEqual(loader.state_dict()["step"], 0)
        for step, batch in enumerate(ahead[:3], 1):
            loader.trained(batch, step)
        state = loader.state_dict()
        self.assertEqual((state["epoch"], state["step"], state["trainer_step"]), (0, 3, 3))
        self.assertEqual(state["state"], ahead[2]["state"])
        resumed = self.loader()
        resumed.load_state_dict(state)
        self.assertEqual(ids_of(resumed), expected[3:])

    def test_a_state_is_strings_and_integers(self):
        state = self.loader().state_dict()
        self.assertEqual({type(value) for value in state.values()}, {str, int})
        self.assertEqual(standins.through_json(state), state)
        torch.save(state, self.path("state.pt"))
        self.assertEqual(torch.load(self.path("state.pt"), weights_only=True), state)

    def test_batches_that_were_fetched_ahead_and_dropped_come_again(self):
        expected = self.expected()
        loader = self.loader()
        loader.trained(take(iter(loader), 4)[0], 1)
        self.assertEqual(ids_of(loader), expected[1:])

    def test_a_loader_is_true_before_its_dataset_is_opened(self):
        self.assertTrue(Loader(BatchDataset(self.path("nothing"), batch=1)))
        with self.assertRaisesRegex(TypeError, "takes a dovetail.torch.BatchDataset, not str"):
            Loader(self.path("nothing"))

    def test_iterating_twice_before_training_loses_nothing(self):
        loader = self.loader()
        take(iter(loader), 1)
        self.assertEqual(ids_of(loader), self.expected())

    def test_each_iteration_is_an_epoch_for_who_counts(self):
        loader, seen = self.loader(), []
        for _ in range(3):
            batches = iter(loader)
            for _ in range(len(loader)):
                seen.append(next(batches))
                loader.trained(seen[-1])
                seen[-1] = seen[-1]["ids"].tolist()
        self.assertEqual(seen, self.expected(3))
        self.assertEqual(loader.state_dict()["epoch"], 2)

    def test_an_epoch_restored_at_its_end_is_followed_by_the_next(self):
        expected = self.expected(2)
        loader = self.loader()
        for batch in loader:
            loader.trained(batch)
        for how in ("open", "new"):
            with self.subTest(how):
                resumed = self.loader() if how == "new" else loader
                resumed.load_state_dict(loader.state_dict())
                self.assertEqual((len(resumed), resumed.remaining()), (STEPS, STEPS))
                self.assertEqual(ids_of(resumed), expected[STEPS:])

    def test_an_iterator_goes_on_after_a_state_that_is_restored_later(self):
        expected, loader = self.expected(2), self.loader()
        states = {0: loader.state_dict()}
        for step, batch in enumerate(loader, 1):
            loader.trained(batch)
            states[step] = loader.state_dict()
        for step in (3, STEPS):
            other = self.loader()
            batches = iter(other)
            other.load_state_dict(states[step])
            self.assertEqual(ids_of(batches), expected[step:STEPS if step < STEPS else None])

    def test_lengths_are_of_whole_epochs(self):
        loader = self.loader()
        self.assertEqual((len(loader), loader.remaining()), (STEPS, STEPS))
        for trained, batch in enumerate(take(iter(loader), 7), 1):
            loader.trained(batch)
            self.assertEqual((len(loader), loader.remaining()), (STEPS, STEPS - trained))

    def test_a_resume_in_another_world_gives_every_record_that_is_left_once(self):
        loader = self.loader(tail="pad")
        for batch in take(iter(loader), 7):
            loader.trained(batch, 7)
        before = [i for ids in self.expected()[:7] for i in ids]
        after, lengths = [], set()
        for rank in range(2):
            resumed = self.loader(rank=rank, world=2, tail="pad")
            resumed.load_state_dict(standins.through_json(loader.state_dict()))
            resumed.check(7)
            lengths.add((len(resumed), resumed.remaining()))
            for batch in resumed:
                resumed.trained(batch, 8)
                after += batch["ids"][batch["status"] != dovetail.EMPTY].tolist()
            self.assertEqual(resumed.state_dict()["step"], resumed.dataset.reader.plan.steps(0))
        self.assertEqual(sorted(before + after), list(range(RECORDS)))
        self.assertEqual(len(lengths), 1)

    def test_batches_out_of_turn_are_refused(self):
        loader = self.loader()
        first, second, third = take(iter(loader), 3)
        self.check(dovetail.UsageError, loader.trained, third, code=INVALID,
                   says=("step 2 of epoch 0", "from step 0", "each batch in turn"))
        loader.trained(first)
        self.check(dovetail.UsageError, loader.trained, first, code=INVALID, says="was trained before")
        take(iter(loader), 1)  # begins anew after the first
        self.check(dovetail.UsageError, loader.trained, third, code=INVALID, says="an abandoned iteration")
        loader.trained(second["state"])

    def test_a_trainer_that_skips_batches_after_a_resume_is_refused(self):
        loader = self.loader()
        for batch in take(iter(loader), 3):
            loader.trained(batch, 3)
        resumed = self.loader()
        resumed.load_state_dict(loader.state_dict())
        self.check(dovetail.UsageError, resumed.trained, take(iter(resumed), 4)[3], code=INVALID,
                   says=("step 6 of epoch 0", "skip none after a resume"))

    def test_an_epoch_without_trained_batches_is_refused(self):
        for begin in (0, 5):
            with self.subTest(begin):
                loader = self.loader(state=self.open().reader.plan.state_dict(0, begin))
                self.assertEqual(len(ids_of(loader)), STEPS - begin)
                self.check(dovetail.UsageError, iter, loader, code=INVALID,
                           says=(f"the last {STEPS - begin} batches", "loader.trained(batch, step)"))

    def test_more_untrained_batches_than_any_trainer_fetches_are_refused(self):
        with mock.patch.object(dovetail.trainers, "_MOST_AHEAD", 8):
            self.check(dovetail.UsageError, ids_of, self.loader(), code=INVALID, says="the last 8 batches")

    def test_a_collate_without_a_dict_is_refused(self):
        for collate in (lambda batch: batch.rows(), lambda batch: {"state": 1}):
            loader = self.loader(collate=collate)
            self.check(dovetail.UsageError, next, iter(loader), code=INVALID, says="collate must give a dict")

    def test_collate_may_release_the_batch(self):
        def ids(batch):
            with batch:
                return {"ids": torch.tensor(batch.ids.astype("int64"))}

        loader = self.loader(collate=ids, max_held=1)
        self.assertEqual(ids_of(loader), self.expected())

    def test_steps_that_disagree_are_named(self):
        loader = self.loader()
        loader.check(0)
        for batch in take(iter(loader), 10):
            loader.trained(batch, 1180)
        loader.check(1180)
        self.check(dovetail.StateMismatchError, loader.check, 1200, code=MISMATCH,
                   says=("the trainer is at step 1200", "taken at step 1180", "epoch 0, 10 batches", "one checkpoint"))

    def test_no_state_is_taken_from_what_is_none(self):
        for wrong in (None, 3, {}, "dvt:"):
            self.assertRaises(TypeError, self.loader().load_state_dict, wrong)

    def test_part_of_a_state_moves_nothing(self):
        loader = self.loader()
        batches = iter(loader)
        loader.trained(next(batches))
        state = loader.state_dict()
        next(batches)
        for part in (state["state"], {"state": state["state"]}):
            self.assertRaisesRegex(TypeError, "takes what state_dict", loader.load_state_dict, part)
        self.assertEqual((loader.state_dict(), loader.dataset.reader.step), (state, 2))

    def test_the_module_needs_no_trainer(self):
        self.run_program("""
            import sys
            import dovetail.trainers
            trainers = {"lightning", "pytorch_lightning", "accelerate", "transformers", "torchdata", "jax"}
            loaded = trainers & set(sys.modules)
            assert not loaded, loaded
        """)


class LightningTest(TrainersTest):
    CASES = [{"ahead": ahead, "accumulate_grad_batches": accumulate, "limit_train_batches": limit, "early": early}
             for ahead, early in ((0, False), (0, True), (1, False), (3, False)) for accumulate in (1, 4)
             for limit in (None, 10)]

    def fit(self, checkpoint=None, every=1, loader=None, **options):
        loader = self.loader() if loader is None else loader
        saves = standins.ModelCheckpoint(every)
        trainer = standins.LightningTrainer(callbacks=[saves, LightningHooks(loader)], **options)
        model = Model()
        trainer.fit(model, loader, ckpt_path=checkpoint)
        return model.seen, saves.saved

    def test_no_batch_is_lost_or_repeated(self):
        for options in self.CASES:
            with self.subTest(**options):
                epochs = 2
                count = epochs * (options["limit_train_batches"] or STEPS)
                whole, saved = self.fit(max_epochs=epochs, **options)
                self.assertEqual(whole, self.expected(epochs)[:count])
                for checkpoint in saved[::3] + saved[-1:]:
                    seen, _ = self.fit(checkpoint, max_epochs=epochs, **options)
                    self.assertEqual(seen, whole[-len(seen):] if seen else [])
                    state = checkpoint["loops"][0]
                    self.assertEqual(len(seen), count - state["epoch"] * STEPS - state["step"])

    def test_a_model_of_another_step_is_refused(self):
        _, saved = self.fit(max_steps=6, accumulate_grad_batches=2)
        mixed = {**saved[3], "global_step": saved[5]["global_step"]}
        self.check(dovetail.StateMismatchError, self.fit, mixed, code=MISMATCH,
                   says=("the trainer is at step 6", "taken at step 4 (epoch 0, 8 batches"))

    def test_a_loader_without_hooks_is_found_when_it_is_restored(self):
        loader, saves = self.loader(), standins.ModelCheckpoint(5)
        standins.LightningTrainer(callbacks=[saves]).fit(Model(), loader)
        self.check(dovetail.StateMismatchError, self.fit, saves.saved[0], code=MISMATCH, says="taken at step 0")


class AccelerateTest(TrainersTest):
    def test_a_loader_is_neither_sharded_nor_dispatched(self):
        for dispatch in (False, True):
            loader = self.loader()
            self.assertIs(standins.Accelerator(dispatch_batches=dispatch).prepare(loader), loader)

    def test_a_prepared_dataloader_is_refused(self):
        for dispatch in (False, True):
            with self.subTest(dispatch=dispatch):
                loader = DataLoader(self.open(), batch_size=None)
                prepared = standins.Accelerator(dispatch_batches=dispatch).prepare(loader)
                self.check(dovetail.UsageError, lambda: list(prepared), code=INVALID,
                           says=("divide them over processes again", "dovetail.trainers.Loader"))

    def train(self, loader, accelerator, count, step=0, ahead=1):
        """Looks ahead, as the loaders of Accelerate do; gives ids and steps."""
        seen, batches, fetched = [], iter(loader), []
        while len(seen) < count:
            while len(fetched) <= ahead and (batch := next(batches, None)) is not None:
                fetched.append(batch)
            batch = None
            if not fetched:
                batches = iter(loader)
                continue
            now = fetched.pop(0)
            with accelerator.accumulate(None):
                seen.append(now["ids"].tolist())
            step += accelerator.sync_gradients
            loader.trained(now, step)
        return seen, step

    def test_no_batch_is_lost_or_repeated(self):
        for count in (1, 7, STEPS - 1, STEPS, STEPS + 1):
            with self.subTest(count):
                accelerator, loader = standins.Accelerator(2), self.loader()
                accelerator.register_for_checkpointing(loader)
                before, step = self.train(loader, accelerator, count)
                accelerator.save_state(self.path("saved"))
                accelerator, loader = standins.Accelerator(2), self.loader()
                accelerator.register_for_checkpointing(loader)
                accelerator.load_state(self.path("saved"))
                loader.check(step)
                after, _ = self.train(loader, accelerator, 2 * STEPS - count, step)
                self.assertEqual(before + after, self.expected(2))


class TransformersTest(TrainersTest):
    def trainer(self, dataset=None, evaluation=None, **arguments):
        arguments = standins.TrainingArguments(**{"output_dir": self.path("out"), "save_steps": 1, **arguments})
        return Trainer(Model(), arguments, train_dataset=self.open() if dataset is None else dataset,
                       eval_dataset=evaluation)

    def test_no_batch_is_lost_or_repeated(self):
        for accumulation in (1, 4):
            updates = -(-STEPS // accumulation)
            for stop in (1, 3, updates - 1, updates, updates + 2):
                with self.subTest(accumulation=accumulation, stop=stop):
                    options = {"gradient_accumulation_steps": accumulation}
                    first = self.trainer(max_steps=stop, **options)
                    first.train()
                    again = self.trainer(num_train_epochs=3, **options)
                    again.train(self.path("out", f"checkpoint-{stop}"))
                    self.assertEqual(first.model.seen + again.model.seen, self.expected(3))
                    self.assertEqual(again.state.global_step, 3 * updates)

    def test_a_resume_that_skips_no_steps_is_refused(self):
        self.trainer(max_steps=3).train()
        self.check(dovetail.UsageError, self.trainer(ignore_data_skip=True).train, self.path("out", "checkpoint-3"),
                   code=INVALID, says="ignore_data_skip=True")

    def test_a_checkpoint_of_another_step_is_refused(self):
        self.trainer(max_steps=4).train()
        path = self.path("out", "checkpoint-4", "trainer_state.json")
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**state, "global_step": 5}, file)
        self.check(dovetail.StateMismatchError, self.trainer().train, os.path.dirname(path),
                   code=MISMATCH, says=("the trainer is at step 5", "taken at step 4"))

    def test_training_twice_goes_on(self):
        trainer = self.trainer()
        trainer.train()
        trainer.train()
        self.assertEqual(trainer.model.seen, self.expected(2))
        self.assertEqual(len(trainer.callbacks), 1)

    def test_an_evaluation_counts_every_record_once(self):
        for rank in range(2):
            trainer = self.trainer(evaluation=self.open(rank, 2, order="sequential", tail="pad"))
            for _ in range(2):
                trainer.model.seen.clear()
                trainer.evaluate()
                seen = [i for ids in trainer.model.seen for i in ids]
                self.assertEqual(len(seen), len(set(seen)))
            self.seen_by_rank = getattr(self, "seen_by_rank", []) + seen
        self.assertEqual(sorted(self.seen_by_rank), list(range(RECORDS)))

    def test_other_datasets(self):
        trainer = self.trainer(dataset=[1, 2, 3], evaluation=[1] * 16)
        self.check(dovetail.UsageError, trainer.train, code=INVALID, says="dovetail.torch.BatchDataset")
        self.assertEqual(len(trainer.get_eval_dataloader()), 2)

    def test_a_trainer_without_hooks_is_refused(self):
        plain = standins.Trainer(Model(), standins.TrainingArguments(), train_dataset=self.open())
        plain.get_train_dataloader()
        self.assertRaises(dovetail.UsageError, list, plain.get_train_dataloader())


class TorchdataTest(TrainersTest):
    def test_no_batch_is_lost_or_repeated(self):
        expected = self.expected(2)
        for count in (0, 1, STEPS - 1):
            with self.subTest(count):
                loader = standins.StatefulDataLoader(self.open(), batch_size=None)
                before = ids_of(islice(loader, count))
                again = standins.StatefulDataLoader(self.open(), batch_size=None)
                again.load_state_dict(loader.state_dict())
                self.assertEqual(before + ids_of(again) + ids_of(again), expected)


if __name__ == "__main__":
    main()
