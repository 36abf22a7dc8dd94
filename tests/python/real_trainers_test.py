#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of the trainers that are installed: each is stopped, resumed from its checkpoint, and trains every batch once.

Debian 12 and 13 package none of them, later releases Accelerate and Transformers.
"""

import importlib
import os
import unittest
from itertools import islice

from fixtures import main, skip_all

try:
    import torch
except ImportError as missing:
    skip_all(str(missing))

import dovetail
import dovetail.trainers
from trainer_fixtures import BATCH, RECORDS, STEPS, TrainersTest, ids_of


def found(name):
    """The module, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


accelerate, lightning = found("accelerate"), found("lightning.pytorch")
transformers, torchdata = found("transformers"), found("torchdata.stateful_dataloader")
if not any((accelerate, lightning, transformers, torchdata)):
    skip_all("neither Accelerate nor Lightning, torchdata or Transformers is installed")


class Model(torch.nn.Module):
    """Keeps the ids of what it trains."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.seen = []

    def forward(self, ids, status, values, offsets):  # pylint: disable=unused-argument
        self.seen.append(ids[status != dovetail.EMPTY].tolist())
        return {"loss": self.weight.sum()}


@unittest.skipUnless(lightning, "Lightning is not installed")
class LightningTest(TrainersTest):
    def fit(self, resume=None, max_epochs=2, accumulate_grad_batches=1, **options):
        class Hooks(dovetail.trainers.LightningHooks, lightning.Callback):
            pass

        class Module(lightning.LightningModule, Model):
            def training_step(self, batch, batch_idx):  # pylint: disable=unused-argument
                self.seen.append(batch["ids"].tolist())
                return self.weight.sum()

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)

        loader, module = self.loader(), Module()
        folder = self.path(f"saved-{accumulate_grad_batches}-{options.get('max_steps')}")
        saves = lightning.callbacks.ModelCheckpoint(folder, "{step}", every_n_train_steps=1, save_top_k=-1)
        trainer = lightning.Trainer(max_epochs=max_epochs, callbacks=[saves, Hooks(loader)], accelerator="cpu",
                                    accumulate_grad_batches=accumulate_grad_batches, logger=False,
                                    enable_progress_bar=False, enable_model_summary=False, **options)
        trainer.fit(module, loader, ckpt_path=resume)
        return module.seen

    def test_no_batch_is_lost_or_repeated(self):
        for accumulate in (1, 4):
            updates = -(-STEPS // accumulate)
            for stop in (1, 3, updates, updates + 2):
                with self.subTest(accumulate=accumulate, stop=stop):
                    before = self.fit(max_steps=stop, accumulate_grad_batches=accumulate)
                    after = self.fit(self.path(f"saved-{accumulate}-{stop}", f"step={stop}.ckpt"),
                                     accumulate_grad_batches=accumulate)
                    self.assertEqual(before + after, self.expected(2))


@unittest.skipUnless(accelerate, "Accelerate is not installed")
class AccelerateTest(TrainersTest):
    def train(self, count, step=0):
        accelerator = accelerate.Accelerator(gradient_accumulation_steps=2, cpu=True)
        model = Model()
        loader = self.loader()
        model, prepared, optimizer = accelerator.prepare(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
        self.assertIs(prepared, loader)
        accelerator.register_for_checkpointing(loader)
        if step > 0:
            accelerator.load_state(self.path("saved"))
            loader.check(step)
        while len(model.seen) < count:
            for batch in islice(loader, count - len(model.seen)):
                parts = {name: part for name, part in batch.items() if name != "state"}
                with accelerator.accumulate(model):
                    accelerator.backward(model(**parts)["loss"])
                    optimizer.step()
                step += accelerator.sync_gradients
                loader.trained(batch, step)
        accelerator.save_state(self.path("saved"))
        return model.seen, step

    def test_no_batch_is_lost_or_repeated(self):
        for count in (2, 7, STEPS - 1, STEPS, STEPS + 1):
            with self.subTest(count):
                before, step = self.train(count)
                after, _ = self.train(2 * STEPS - count, step)
                self.assertEqual(before + after, self.expected(2))

    def test_a_prepared_dataloader_is_refused(self):
        prepared = accelerate.Accelerator(cpu=True).prepare(torch.utils.data.DataLoader(self.open(), batch_size=None))
        self.assertRaisesRegex(dovetail.UsageError, "dovetail.trainers.Loader", list, prepared)


@unittest.skipUnless(transformers and accelerate, "Transformers or Accelerate is not installed")
class TransformersTest(TrainersTest):
    def trainer(self, evaluation=None, **arguments):
        class Trainer(dovetail.trainers.TrainerHooks, transformers.Trainer):
            pass

        arguments = transformers.TrainingArguments(
            self.path("out"), **{"save_steps": 1, "report_to": "none", "use_cpu": True, "disable_tqdm": True,
                                 "per_device_train_batch_size": BATCH, "logging_strategy": "no", **arguments})
        return Trainer(Model(), arguments, train_dataset=self.open(), eval_dataset=evaluation)

    def test_no_batch_is_lost_or_repeated(self):
        for accumulation in (1, 4):
            updates = -(-STEPS // accumulation)
            for stop in (1, 3, updates, updates + 2):
                with self.subTest(accumulation=accumulation, stop=stop):
                    options = {"gradient_accumulation_steps": accumulation}
                    first = self.trainer(max_steps=stop, **options)
                    first.train()
                    again = self.trainer(num_train_epochs=2, **options)
                    again.train(resume_from_checkpoint=self.path("out", f"checkpoint-{stop}"))
                    self.assertEqual(first.model.seen + again.model.seen, self.expected(2))
                    self.assertEqual(again.state.global_step, 2 * updates)

    def test_a_resume_that_skips_no_steps_is_refused(self):
        self.trainer(max_steps=3).train()
        self.assertRaisesRegex(dovetail.UsageError, "ignore_data_skip=True",
                               self.trainer(ignore_data_skip=True).train,
                               resume_from_checkpoint=self.path("out", "checkpoint-3"))

    def test_an_evaluation_counts_every_record_once(self):
        seen = []
        for rank in range(2):
            trainer = self.trainer(self.open(rank, 2, order="sequential", tail="pad"))
            trainer.evaluate()
            seen += [i for ids in trainer.model.seen for i in ids]
        self.assertEqual(sorted(seen), list(range(RECORDS)))

    def test_a_trainer_without_hooks_is_refused(self):
        plain = transformers.Trainer(Model(), self.trainer().args, train_dataset=self.open())
        self.assertRaisesRegex(dovetail.UsageError, "dovetail.trainers.Loader", plain.train)


@unittest.skipUnless(torchdata, "torchdata is not installed")
class TorchdataTest(TrainersTest):
    def test_no_batch_is_lost_or_repeated(self):
        for count in (0, 1, STEPS - 1):
            with self.subTest(count):
                loader = torchdata.StatefulDataLoader(self.open(), batch_size=None)
                before = ids_of(islice(loader, count))
                again = torchdata.StatefulDataLoader(self.open(), batch_size=None)
                again.load_state_dict(loader.state_dict())
                self.assertEqual(before + ids_of(again) + ids_of(again), self.expected(2))


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
