# SPDX-License-Identifier: Apache-2.0
"""Batches for trainers that fetch ahead and save checkpoints: PyTorch Lightning, Accelerate, the Trainer of
Transformers. Imports PyTorch, but none of these packages. docs/trainers.md shows each of them.

    loader = dovetail.trainers.Loader(dovetail.torch.BatchDataset("data", batch=64, columns=True))
    for batch in loader:
        step += train(batch)
        loader.trained(batch, step)
    checkpoint["data"] = loader.state_dict()          # of the batch that was trained last
"""

from collections import deque
from typing import Any, Deque, Dict, Iterator, List, Mapping, NamedTuple, NoReturn, Optional, Tuple, Union

import torch.utils.data

from dovetail import _dovetail
from dovetail._errors import ErrorCode, StateMismatchError, usage_error
from dovetail.torch import BatchDataset

__all__ = ["LightningHooks", "Loader", "TrainerHooks"]

_MOST_AHEAD = 4096
"""More batches than a trainer fetches ahead."""


class _Place(NamedTuple):
    """A state, and the epoch and the steps of it that were taken."""

    state: str
    epoch: int
    step: int


class Loader:
    """The batches of a `BatchDataset`, with a state that counts the trained ones, not those that were fetched ahead.

    Each batch is a dict, and carries the state after it as a string, under "state". The trainer passes every batch to
    `trained`, and `state_dict()` is then of that batch.

    Iterating gives the batches up to the end of the epoch. It begins after the batch that was trained last, so batches
    that were fetched ahead and dropped come again. After the last batch of an epoch it begins the next one.

    It is no DataLoader, so trainers neither shard nor dispatch it, and give it no sampler. It has no `set_epoch`,
    because Accelerate counts epochs from 0 in every process.

    Args:
        dataset: its `collate` must return a dict without the key "state". Only the loader may iterate over it.
    """

    def __init__(self, dataset: BatchDataset) -> None:
        if not isinstance(dataset, BatchDataset):
            raise TypeError("a Loader takes a dovetail.torch.BatchDataset, not " + type(dataset).__name__)
        self.dataset = dataset
        self._ahead: Deque[_Place] = deque()  # after each batch that was handed over, but not trained yet
        self._none_trained = True  # since the iteration began
        self._moved = False  # by load_state_dict
        self._trained: Optional[Dict[str, Any]] = None
        self._trainer_step = 0

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        """Raises a UsageError if the last iteration came to the end of its epoch without one call of `trained`."""
        self._begin()
        return iter(self._take, None)  # a generator would keep its last batch alive

    def _begin(self) -> None:
        reader = self.dataset.reader
        if self._trained is None:
            self._trained = reader.state_dict()
        if self._ahead:
            last = self._ahead[-1]
            if self._none_trained and len(self._ahead) > 1 and last.step == reader.plan.steps(last.epoch):
                self._refuse_untrained()
            self._ahead.clear()
            reader.load_state_dict(self._trained)
        if reader.step == len(reader):
            reader.next()  # which moves to the next epoch
        self._none_trained, self._moved = True, False

    def _take(self) -> Optional[Dict[str, Any]]:
        if self._moved:  # under an iterator that Lightning made before it restores
            self._begin()
        batch = self.dataset.reader.next()
        return None if batch is None else self._hand_over(batch)

    def _hand_over(self, batch: _dovetail.Batch) -> Dict[str, Any]:
        if len(self._ahead) == _MOST_AHEAD:
            self._refuse_untrained()
        place = _Place(batch.state(), batch.epoch, batch.step + 1)  # before collate may release the batch
        given = self.dataset._collate(batch)
        if not isinstance(given, Mapping) or "state" in given:
            raise usage_error('collate must give a dict without the key "state", which the loader adds')
        self._ahead.append(place)
        return {**given, "state": place.state}

    def _refuse_untrained(self) -> NoReturn:
        raise usage_error(f"the last {len(self._ahead)} batches were handed over and not marked as trained: call "
                          "loader.trained(batch, step) after each batch")

    def _next(self) -> Tuple[int, int]:
        """Returns the step of the batch after the one that was trained last, and the steps of its epoch."""
        reader = self.dataset.reader
        at = self._trained or {"epoch": reader.epoch, "step": reader.step}
        steps = reader.plan.steps(at["epoch"])
        return (at["step"], steps) if at["step"] < steps else (0, reader.plan.steps(at["epoch"] + 1))

    def __len__(self) -> int:
        """Steps of the epoch of the next batch to train, the same on every rank."""
        return self._next()[1]

    def __bool__(self) -> bool:
        return True  # without opening the reader

    def remaining(self) -> int:
        """Returns how many batches of that epoch are not trained yet."""
        step, steps = self._next()
        return steps - step

    def trained(self, batch: Union[Mapping[str, Any], str], trainer_step: int = 0) -> None:
        """Marks a batch as trained. Call it for every batch in turn, also for those that the trainer leaves out.

        Args:
            batch: the batch, or its "state".
            trainer_step: the steps that the trainer has made by now; with gradient accumulation, of the optimizer.

        Raises:
            UsageError: if it is not the batch after the one that was trained last.
        """
        state = batch if isinstance(batch, str) else batch["state"]
        if not self._ahead or self._ahead[0].state != state:
            self._refuse(state)
        place = self._ahead.popleft()
        self._trained, self._trainer_step, self._none_trained = place._asdict(), trainer_step, False

    def _refuse(self, state: str) -> NoReturn:
        for place in self._ahead:
            if place.state == state:
                raise usage_error(f"step {place.step - 1} of epoch {place.epoch} was trained, but the batches before "
                                  f"it, from step {self._ahead[0].step - 1}, were not: call trained() for each batch "
                                  "in turn, also for those that are left out, and let the trainer skip none after a "
                                  "resume")
        raise usage_error("this batch was trained before, or comes from another loader or an abandoned iteration: call "
                          "trained() once for each batch of the last iteration")

    def state_dict(self) -> Dict[str, Any]:
        """Returns the checkpoint of the data after the batch that was trained last, as strings and integers.

        The same on all ranks, and valid for any world and batch."""
        trained = self.dataset.state_dict() if self._trained is None else self._trained
        return {**trained, "trainer_step": self._trainer_step}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Continues after the batch whose `state_dict()` this is, also in another world or batch.

        Raises:
            StateMismatchError: for a state of another dataset or order.
            TypeError: for an argument that is not a state.
        """
        try:
            trained = {name: state[name] for name in _Place._fields}
        except (KeyError, TypeError):  # such as the text alone, which a reader takes
            raise TypeError("a Loader takes what state_dict() of a Loader or BatchDataset returned") from None
        self.dataset.load_state_dict(state)
        self._ahead.clear()
        self._moved = True
        self._trained = trained
        self._trainer_step = state.get("trainer_step", 0)

    def check(self, trainer_step: int) -> None:
        """Checks that model and data were saved at the same step. Call it when both are restored.

        Raises:
            StateMismatchError: if the step is not the one that `trained` was given with the batch of the state.
        """
        if trainer_step == self._trainer_step:
            return
        at = self.state_dict()
        message = (f"the trainer is at step {trainer_step}, but the state of the data was taken at step "
                   f"{self._trainer_step} (epoch {at['epoch']}, {at['step']} batches of it): restore both from one "
                   "checkpoint, and pass every batch to trained() before a checkpoint is saved")
        raise StateMismatchError(message, code=ErrorCode.state_mismatch, detail=message)


class LightningHooks:
    """What a `Callback` of Lightning needs to keep a `Loader` in step:

        class DataHooks(dovetail.trainers.LightningHooks, lightning.pytorch.Callback): ...

    The checkpoint of the model holds the state of the data as that of this callback. Lightning also keeps the state of
    the loader itself, but does not restore it if `configure_optimizers` asks for `estimated_stepping_batches`.
    """

    def __init__(self, loader: Loader) -> None:
        super().__init__()
        self.loader = loader

    def on_train_start(self, trainer: Any, module: Any) -> None:
        """Checks that the loader was restored together with the model."""
        self.loader.check(trainer.global_step)

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Marks the batch as trained; Lightning calls callbacks that save checkpoints after this one."""
        self.loader.trained(batch, trainer.global_step)

    def state_dict(self) -> Dict[str, Any]:
        """Returns the state of the loader."""
        return self.loader.state_dict()

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Restores the loader."""
        self.loader.load_state_dict(state_dict)


class _Steps:
    """The steps of an epoch, for a DataLoader. Accelerate skips those that the Trainer has trained."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.batches: Iterator[Dict[str, Any]] = iter(())

    def __iter__(self) -> Iterator[List[int]]:
        self.batches = iter(self.loader)
        return ([step] for step in range(len(self.loader)))

    def __len__(self) -> int:
        return len(self.loader)


class _Batches(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """The batch after the one that was trained last, whichever step is asked for: the loader has skipped the others."""

    def __init__(self, steps: _Steps) -> None:
        self.steps = steps

    def __getitem__(self, step: int) -> Dict[str, Any]:
        return next(self.steps.batches)  # its end is that of the DataLoader


def _only(batches: List[Dict[str, Any]]) -> Dict[str, Any]:
    return batches[0]


class TrainerHooks:
    """What a Trainer of Transformers needs to read from each `BatchDataset`:

        class Trainer(dovetail.trainers.TrainerHooks, transformers.Trainer): ...

    The state of the data is part of `trainer_state.json`. A resume reads none of the trained batches again.
    """

    _dovetail_callback: Any = None

    def get_train_dataloader(self) -> Any:
        """Returns a DataLoader of `train_dataset`, which Accelerate does not prepare: its batches are of this rank."""
        import transformers  # type: ignore[import]

        this: Any = self
        if not isinstance(this.train_dataset, BatchDataset):
            raise usage_error("train_dataset must be a dovetail.torch.BatchDataset")
        loader = Loader(this.train_dataset)
        steps = _Steps(loader)

        class DovetailCallback(transformers.TrainerCallback):  # type: ignore[misc]
            def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                if state.global_step > 0 and args.ignore_data_skip:
                    raise usage_error("the Trainer would count an epoch from the batch at which it resumes: leave out "
                                      "ignore_data_skip=True; batches that were trained are not read again")
                saved = state.stateful_callbacks.get("dovetail")
                if saved is not None:
                    loader.load_state_dict(saved)
                loader.check(state.global_step)

        if self._dovetail_callback is not None:  # of an earlier call of train()
            this.remove_callback(self._dovetail_callback)
        self._dovetail_callback = DovetailCallback()
        this.add_callback(self._dovetail_callback)
        self._loader = loader
        return torch.utils.data.DataLoader(_Batches(steps), batch_sampler=steps, collate_fn=_only)

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        """Returns a `BatchDataset` as it is, and anything else as the Trainer prepares it."""
        this: Any = self
        chosen = this.eval_dataset if eval_dataset is None else eval_dataset
        return chosen if isinstance(chosen, BatchDataset) else super().get_eval_dataloader(eval_dataset)  # type: ignore

    def training_step(self, model: Any, inputs: Dict[str, Any], *more: Any) -> Any:
        """Trains a batch without its "state", and notes that in the state of the Trainer."""
        this: Any = self
        batch_state = inputs.pop("state")
        loss = super().training_step(model, inputs, *more)  # type: ignore[misc]
        self._loader.trained(batch_state, this.state.global_step + int(this.accelerator.sync_gradients))
        this.state.stateful_callbacks["dovetail"] = self._loader.state_dict()
        return loss
