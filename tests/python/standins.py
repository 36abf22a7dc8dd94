# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for trainers: how each moves batches, counts epochs and saves checkpoints.

Written after the documents and the public interfaces of Lightning 2.6, Accelerate 1.15 (development), the Trainer of
Transformers 5.12, torchdata 0.12 and JAX. They train nothing. `install` puts them into `sys.modules`.
real_trainers_test.py runs the trainers themselves.
"""

import copy
import importlib.util
import json
import os
import sys
import types

import numpy
import torch
import torch.utils.data


def through_json(state):
    """As a checkpoint may keep it, without types of this process."""
    return json.loads(json.dumps(state))


# PyTorch Lightning

class Callback:
    """Hooks that do nothing."""

    def on_train_start(self, trainer, module):
        pass

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        pass

    def state_dict(self):
        return {}

    def load_state_dict(self, state_dict):
        pass


class ModelCheckpoint(Callback):
    """Saves after every so many steps of the optimizer; the trainer calls it after all other callbacks."""

    def __init__(self, every_n_train_steps):
        self.every = every_n_train_steps
        self.saved = []

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.stepped and trainer.global_step % self.every == 0:
            self.saved.append(trainer.checkpoint())


class LightningTrainer:
    """Fetches `ahead` batches, as loaders without a length have it, and takes as many as the length says.

    It iterates once for a look at the loader, once to set up, and again for each further epoch. A scheduler that asks
    for the length has it set up `early`: then it does not restore loaders, and callbacks only after that."""

    def __init__(self, max_epochs=1, max_steps=-1, accumulate_grad_batches=1, limit_train_batches=None, callbacks=(),
                 ahead=0, early=False):
        self.early = early
        self.max_epochs, self.max_steps = max_epochs, max_steps
        self.accumulate, self.limit, self.ahead = accumulate_grad_batches, limit_train_batches, ahead
        self.callbacks = sorted(callbacks, key=lambda callback: isinstance(callback, ModelCheckpoint))
        self.global_step = self.current_epoch = self.batches = 0
        self.stepped = False

    def checkpoint(self):
        return through_json({"global_step": self.global_step, "epoch": self.current_epoch, "batches": self.batches,
                             "callbacks": {type(one).__name__: one.state_dict() for one in self.callbacks},
                             "loops": [self.loader.state_dict()]})

    def set_up(self, loader):
        iter(loader)
        self.most = len(loader) if self.limit is None else min(self.limit, len(loader))
        return iter(loader)

    def fit(self, module, loader, ckpt_path=None):
        self.loader = loader
        batches, fetched = self.set_up(loader) if self.early else None, []
        if ckpt_path is not None:
            saved = copy.deepcopy(ckpt_path)
            self.global_step, self.current_epoch = saved["global_step"], saved["epoch"]
            self.batches = saved["batches"]
            for callback in self.callbacks:
                if saved["callbacks"].get(type(callback).__name__):
                    callback.load_state_dict(saved["callbacks"][type(callback).__name__])
            if not self.early:
                loader.load_state_dict(saved["loops"][0])
        batches = batches or self.set_up(loader)
        most = self.most
        if self.batches >= most:
            self.current_epoch, self.batches = self.current_epoch + 1, 0
        for callback in self.callbacks:
            callback.on_train_start(self, module)
        while self.current_epoch < self.max_epochs and self.global_step != self.max_steps:
            while self.batches < most and self.global_step != self.max_steps:
                while len(fetched) <= self.ahead and (batch := next(batches, None)) is not None:
                    fetched.append(batch)
                batch = None
                if not fetched:
                    break
                self.train(module, fetched.pop(0), self.batches + 1 == most)
            self.current_epoch, self.batches = self.current_epoch + 1, 0
            if self.current_epoch < self.max_epochs:
                batches, fetched = iter(loader), []

    def train(self, module, batch, last):
        moved = {name: part.to("cpu") if hasattr(part, "to") else part for name, part in batch.items()}
        module.training_step(moved, self.batches)
        self.batches += 1
        self.stepped = last or self.batches % self.accumulate == 0
        self.global_step += self.stepped
        for callback in self.callbacks:
            callback.on_train_batch_end(self, module, None, moved, self.batches - 1)


# Accelerate

ACCELERATE_LOADERS = '''
class IterableDatasetShard(torch.utils.data.IterableDataset):
    def __init__(self, dataset):
        self.dataset = dataset

    def __iter__(self):
        for i, element in enumerate(self.dataset):
            if i % 2 == 0:
                yield element


class DataLoaderDispatcher:
    def __init__(self, loader):
        self.base_dataloader = loader

    def __iter__(self):
        return self.base_dataloader.__iter__()


def prepare_data_loader(loader, dispatch_batches):
    if dispatch_batches:
        return DataLoaderDispatcher(loader)
    return torch.utils.data.DataLoader(IterableDatasetShard(loader.dataset), batch_size=loader.batch_size)


class SkipBatchSampler:
    def __init__(self, batch_sampler, skipped):
        self.batch_sampler, self.skipped = batch_sampler, skipped

    def __iter__(self):
        return (batch for i, batch in enumerate(self.batch_sampler) if i >= self.skipped)


def skip_first_batches(loader, skipped):
    return torch.utils.data.DataLoader(loader.dataset, batch_sampler=SkipBatchSampler(loader.batch_sampler, skipped),
                                       collate_fn=loader.collate_fn)
'''


class Accelerator:
    """Prepares what is a DataLoader of PyTorch, and gives all else back as it is."""

    device = "cpu"

    def __init__(self, gradient_accumulation_steps=1, dispatch_batches=True):
        self.every, self.dispatch = gradient_accumulation_steps, dispatch_batches
        self.micro_steps = 0
        self.sync_gradients = False
        self.objects = []

    def prepare(self, *given):
        loaders = sys.modules["accelerate.data_loader"]
        done = [loaders.prepare_data_loader(one, self.dispatch) if isinstance(one, torch.utils.data.DataLoader) else one
                for one in given]
        return done[0] if len(done) == 1 else done

    def accumulate(self, model):
        self.micro_steps += 1
        self.sync_gradients = self.micro_steps % self.every == 0
        return torch.enable_grad()

    def backward(self, loss):
        loss.backward()

    def register_for_checkpointing(self, *objects):
        assert all(hasattr(one, "state_dict") and hasattr(one, "load_state_dict") for one in objects)
        self.objects += objects

    def save_state(self, folder):
        os.makedirs(folder, exist_ok=True)
        for i, one in enumerate(self.objects):
            torch.save(one.state_dict(), os.path.join(folder, f"custom_checkpoint_{i}.pkl"))

    def load_state(self, folder):
        for i, one in enumerate(self.objects):
            one.load_state_dict(torch.load(os.path.join(folder, f"custom_checkpoint_{i}.pkl")))


# The Trainer of Transformers

class TrainerCallback:
    """Hooks that do nothing."""

    def on_train_begin(self, args, state, control, **things):
        pass


class TrainingArguments:
    def __init__(self, output_dir="out", num_train_epochs=1, max_steps=-1, gradient_accumulation_steps=1,
                 save_steps=500, ignore_data_skip=False):
        self.__dict__.update(output_dir=output_dir, num_train_epochs=num_train_epochs, max_steps=max_steps,
                             gradient_accumulation_steps=gradient_accumulation_steps, save_steps=save_steps,
                             ignore_data_skip=ignore_data_skip)


class Trainer:
    """Fetches all batches of an accumulation before it trains them, counts batches, and epochs by its steps."""

    def __init__(self, model=None, args=None, data_collator=None, train_dataset=None, eval_dataset=None):
        self.model, self.args = model, args
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.state = types.SimpleNamespace(global_step=0, stateful_callbacks={})
        self.accelerator = types.SimpleNamespace(sync_gradients=True)
        self.callbacks = []

    def add_callback(self, callback):
        self.callbacks.append(callback)

    def remove_callback(self, callback):
        self.callbacks.remove(callback)

    def get_train_dataloader(self):
        loader = torch.utils.data.DataLoader(self.train_dataset, batch_size=8)
        return sys.modules["accelerate.data_loader"].prepare_data_loader(loader, True)

    def get_eval_dataloader(self, eval_dataset=None):
        return torch.utils.data.DataLoader(eval_dataset or self.eval_dataset, batch_size=8)

    def training_step(self, model, inputs, num_items_in_batch=None):
        return model(**inputs)

    def evaluate(self):
        return [self.model(**inputs) for inputs in self.get_eval_dataloader()]

    def train(self, resume_from_checkpoint=None):
        args, every = self.args, self.args.gradient_accumulation_steps
        loader = self.get_train_dataloader()
        steps = len(loader)
        updates = -(-steps // every)
        self.state = types.SimpleNamespace(global_step=0, stateful_callbacks={})
        epochs_trained = skipped = 0
        if resume_from_checkpoint is not None:
            with open(os.path.join(resume_from_checkpoint, "trainer_state.json"), encoding="utf-8") as file:
                self.state = types.SimpleNamespace(**json.load(file))
            epochs_trained = self.state.global_step // updates
            if not args.ignore_data_skip:
                skipped = self.state.global_step % updates * every
        for callback in self.callbacks:
            callback.on_train_begin(args, self.state, None, train_dataloader=loader)
        epochs = args.num_train_epochs if args.max_steps < 0 else -(-args.max_steps // updates)
        for epoch in range(epochs_trained, epochs):
            if hasattr(loader, "set_epoch"):
                loader.set_epoch(epoch)
            skip_first_batches = sys.modules["accelerate.data_loader"].skip_first_batches
            self.train_epoch(iter(skip_first_batches(loader, skipped) if skipped else loader), skipped, steps, every)
            skipped = 0
            if self.state.global_step == args.max_steps:
                break

    def train_epoch(self, batches, skipped, steps, every):
        for first in range(skipped, steps, every):
            window = [next(batches) for _ in range(min(every, steps - first))]
            for i, inputs in enumerate(window):
                self.accelerator.sync_gradients = i + 1 == len(window)
                self.training_step(self.model, inputs, None)
            inputs = window = None
            self.state.global_step += 1
            if self.state.global_step % self.args.save_steps == 0:
                folder = os.path.join(self.args.output_dir, f"checkpoint-{self.state.global_step}")
                os.makedirs(folder, exist_ok=True)
                with open(os.path.join(folder, "trainer_state.json"), "w", encoding="utf-8") as file:
                    json.dump(vars(self.state), file)
            if self.state.global_step == self.args.max_steps:
                break


# torchdata

class StatefulDataLoader:
    """In one process: keeps the state of the dataset, restores it, and then iterates."""

    def __init__(self, dataset, batch_size=1, num_workers=0):
        assert batch_size is None and num_workers == 0
        self.dataset = dataset
        self.restored = None

    def __iter__(self):
        if self.restored is not None:
            self.dataset.load_state_dict(self.restored)
            self.restored = None
        return iter(torch.utils.data.DataLoader(self.dataset, batch_size=None))

    def state_dict(self):
        return through_json({"dataset_state": self.dataset.state_dict()})

    def load_state_dict(self, state):
        self.restored = state["dataset_state"]


def install(over_packages=True):
    """Puts the stand-ins where the packages are or would be; without `over_packages`, only where none is installed."""
    names = ("lightning", "accelerate", "transformers", "torchdata", "jax")
    installed = [] if over_packages else [name for name in names if importlib.util.find_spec(name)]

    def module(name, **things):
        made = types.ModuleType(name)
        made.__dict__.update(things)
        if name.split(".")[0] not in installed:
            sys.modules[name] = made
        return made

    pytorch = module("lightning.pytorch", Callback=Callback, Trainer=LightningTrainer, LightningModule=torch.nn.Module,
                     callbacks=types.SimpleNamespace(ModelCheckpoint=ModelCheckpoint))
    module("lightning", pytorch=pytorch)
    module("accelerate", Accelerator=Accelerator)
    exec(ACCELERATE_LOADERS, module("accelerate.data_loader", torch=torch).__dict__)
    module("transformers", Trainer=Trainer, TrainerCallback=TrainerCallback, TrainingArguments=TrainingArguments)
    stateful = module("torchdata.stateful_dataloader", StatefulDataLoader=StatefulDataLoader)
    module("torchdata", stateful_dataloader=stateful)
    jax_numpy = module("jax.numpy", from_dlpack=lambda tensor: numpy.array(numpy.from_dlpack(tensor)))
    module("jax", numpy=jax_numpy)
