# SPDX-License-Identifier: Apache-2.0
"""Batches as PyTorch tensors, and as a dataset for its DataLoader. Only this module needs PyTorch.

    import dovetail.torch

    dataset = dovetail.torch.BatchDataset("data", batch=64, columns=True)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=0)
    for epoch in range(dataset.reader.epoch, epochs):  # of a restored state: from its epoch
        for batch in loader:                          # a dict of tensors: views of the batch, without a copy
            train(batch["image"], batch["label"])

Use `num_workers=0`, because threads of the library read ahead. Memory registered with CUDA is already pinned for
PyTorch, so `pin_memory=True` of the loader adds nothing.

A slot is refilled when no tensor of its batch is alive. A copy to a device with `non_blocking=True` may then still
run, so do one of these:

- Keep the tensors until the stream has run the copies: `stream.synchronize()`, or an event recorded behind the copies
  that has completed.
- Copy in `collate`, and release the batch there with the stream. The stream then holds the slot back, not the thread:

      def to_device(batch):
          here = dovetail.torch.tensors(batch)
          there = {name: tensor.to("cuda", non_blocking=True) for name, tensor in here.items()}
          del here                                    # tensors of the batch must be gone before it is released
          batch.release(stream=torch.cuda.current_stream().cuda_stream)
          return there

A plain `tensor.to("cuda")` waits for the copy and needs none of this.
"""

import operator
import sys
from types import FrameType
from typing import Any, Callable, Dict, Iterator, List, NoReturn, Optional, Tuple, Union

import numpy
import torch
import torch.distributed
import torch.utils.data

from dovetail import _dovetail
from dovetail._columns import Ragged, Texts
from dovetail._errors import ClosedError, ErrorCode, UsageError, usage_error
from dovetail._names import names_options
from dovetail._reader import Reader

__all__ = ["BatchDataset", "RaggedTensor", "tensors"]

_OF_EVERY_BATCH = ("ids", "status")
_WIDER: Dict[str, Any] = {"uint16": numpy.int32, "uint32": numpy.int64, "uint64": numpy.int64}
"""Wider types for dtypes that PyTorch does not compute with."""


class RaggedTensor(Ragged):
    """A column whose rows have a first dimension of their own; `dovetail.Ragged` as tensors.

    `len()` is the number of rows, and `[i]` row i, a view.

    Attributes:
        values: the items of all rows, row after row: [items, shape...].
        offsets: int64 [rows + 1]; row i is `values[offsets[i]:offsets[i + 1]]`.
    """

    __slots__ = ()
    values: torch.Tensor
    offsets: torch.Tensor

    def padded(self, value: float = 0) -> torch.Tensor:
        """Returns a copy with rows of one length, [rows, longest, shape...]; `value` fills the shorter ones."""
        return torch.nn.utils.rnn.pad_sequence(list(self), batch_first=True, padding_value=value)

    def clone(self) -> "RaggedTensor":
        """Returns a copy, which does not hold the slot of the batch."""
        return RaggedTensor(self.values.clone(), self.offsets.clone())

    def to(self, *args: Any, **kwargs: Any) -> "RaggedTensor":
        """Returns it with `values` and `offsets` on another device; takes what `torch.Tensor.to` takes for that."""
        return RaggedTensor(self.values.to(*args, **kwargs), self.offsets.to(*args, **kwargs))

    def pin_memory(self) -> "RaggedTensor":
        """As a DataLoader calls it; see `torch.Tensor.pin_memory`."""
        return RaggedTensor(self.values.pin_memory(), self.offsets.pin_memory())


def tensors(batch: _dovetail.Batch) -> Dict[str, Any]:
    """Returns the parts of a batch by name, as CPU tensors that are views of it.

    The tensors are read-only by agreement, because PyTorch cannot express it. The batch is alive while one of them is.

    Without columns:
        values: uint8 [bytes], the concatenated records.
        offsets: int64 [rows + 1]; row i is `values[offsets[i]:offsets[i + 1]]`.
    With columns, each of them by its name instead:
        a dense one: [rows, shape...]; a ragged one: a `RaggedTensor`; one of texts: `dovetail.Texts`; "object", of
        `outputs="objects"`: a list.
        u16 is copied to int32, and u32 and u64 to int64, because PyTorch does not compute with them.
    Always:
        ids: int64 [rows], the numbers of the records in the dataset; -1 for a row without a record.
        status: uint8 [rows], `dovetail.FIRST` and so on.

    Raises:
        UsageError: for a value of a u64 column that does not fit int64, and for a column named "ids" or "status".
        ClosedError: for a batch that was released.
    """
    parts = {part: torch.from_dlpack(batch.tensor(part)) for part in _OF_EVERY_BATCH}
    columns = batch.columns
    if not columns:
        return {"values": torch.from_dlpack(batch.tensor("values")),
                "offsets": torch.from_dlpack(batch.tensor("offsets")), **parts}
    for name in _OF_EVERY_BATCH:
        if name in columns:
            raise usage_error(f'the column "{name}" has the name of a part of every batch: give a collate of your own')
    return {**{name: _column(batch, name) for name in columns}, **parts}


def _column(batch: _dovetail.Batch, name: str) -> Union[torch.Tensor, RaggedTensor, Texts, List[Any]]:
    column = batch[name]
    if isinstance(column, (Texts, list)):
        return column
    if isinstance(column, Ragged):
        offsets = torch.from_dlpack(batch.tensor("offsets", column=name))
        return RaggedTensor(_values(batch, name, column.values), offsets)
    return _values(batch, name, column)


def _values(batch: _dovetail.Batch, name: str, array: numpy.ndarray) -> torch.Tensor:
    wider = _WIDER.get(array.dtype.name)
    if wider is None:
        return torch.from_dlpack(batch.tensor("values", column=name))
    largest, most = int(array.max(initial=0)), int(numpy.iinfo(wider).max)  # NumPy would compare them as floats
    if largest > most:
        raise usage_error(f'the column "{name}" has the value {largest}, and PyTorch no integer above {most}')
    return torch.from_numpy(array.astype(wider))


class BatchDataset(torch.utils.data.IterableDataset):
    """One rank's batches, for `DataLoader(dataset, batch_size=None, num_workers=0)` or for direct iteration.

    Iterating gives the batches up to the end of the current epoch; iterating again, the next epoch. All ranks get the
    same number. Only batches whose tensors the consumer holds are alive.

    `next(iter(loader))` takes a batch out of the epoch. To look only, `reader.seek` back to the `reader.epoch` and
    `reader.step` before it, or open a second dataset.

    A DataLoader without `batch_size=None` would make batches of batches, and is refused. It is not refused if another
    dataset wraps this one, or if a derived class has its own `__iter__`, which may give rows.

    The reader is opened when it is first needed: by iterating, `len()`, a state, or statistics. So a dataset can be
    made before `torch.distributed.init_process_group`, which it never calls. Pickling includes the state but not the
    reader; the copy opens its own, with the rank of its process.

    Args:
        dataset: a `dovetail.Dataset`, or the path of one; only a path can be pickled.
        batch: rows per rank and step.
        rank, world: this rank, and the number of ranks. None (default) takes both from torch.distributed, if it is
            initialised when the reader is opened, else from the variables of the launcher, as `dovetail.Reader` does.
        collate: converts a `dovetail.Batch` to what iterating gives.
        options: all other options of `dovetail.Reader`. Processes of a node share its cores by `local_rank` and
            `local_world`. These come from the variables of the launcher if they name the same rank and world.

    Raises:
        TypeError: for an unknown option; the message names the known ones. Other errors are found when the reader is
            opened; see `dovetail.Reader`.
    """

    @names_options(Reader.__init__)
    def __init__(self, dataset: Any, *, batch: int, rank: Optional[int] = None, world: Optional[int] = None,
                 collate: Callable[[_dovetail.Batch], Any] = tensors, **options: Any) -> None:
        super().__init__()
        if (rank is None) != (world is None):
            raise ValueError("give rank and world together, or neither of them")
        self._state = options.pop("state", None)
        self._dataset = dataset
        self._options = dict(options, batch=batch)
        self._given = None if rank is None or world is None else (rank, world)
        self._collate = collate
        self._epoch: Optional[int] = None  # what set_epoch asks of a reader that is not open yet
        self._reader: Optional[Reader] = None
        self._opened_as: Optional[Tuple[int, int]] = None
        self._begun: Optional[Tuple[int, int]] = None  # where the last iteration began
        self._closed = False

    def __iter__(self) -> Iterator[Any]:
        caller = sys._getframe(1)
        _refuse_second_sharding(caller)
        # Before Python 3.13, f_locals keeps alive what a frame's variables hold: no frame but PyTorch's is asked.
        if caller.f_globals.get("__name__") == "torch.utils.data._utils.fetch":
            self._refuse_batches_of_batches(caller.f_locals.get("self"))
        reader = self.reader
        # Who counts batches instead of asking for one more has ended the epoch too, so this is the next one.
        if self._begun not in (None, (reader.epoch, reader.step)) and reader.step == len(reader):
            reader.next()
        self._begun = reader.epoch, reader.step
        # A generator would keep its last batch in a local variable until it is asked for the next one.
        return map(self._collate, reader)

    def _refuse_batches_of_batches(self, asker: object) -> None:
        """Refuses a DataLoader that would make batches of batches.

        PyTorch does not tell a dataset which DataLoader asks for its iterator, so this checks the caller."""
        if getattr(asker, "dataset", None) is self and getattr(asker, "auto_collation", False):
            raise usage_error("iterating returns whole batches, but this DataLoader would batch them again; "
                              "use DataLoader(dataset, batch_size=None, num_workers=0); BatchDataset(..., batch=) says "
                              "how many rows a batch has")

    def __len__(self) -> int:
        """Steps of the current epoch, the same on every rank."""
        return len(self.reader)

    def __getitem__(self, i: object) -> NoReturn:
        """Raises an error: batches have no numbers. A Subset would ask for them."""
        raise usage_error("a BatchDataset has no batches by number; iterate over it, or over "
                          "DataLoader(dataset, batch_size=None, num_workers=0); a part of the records is a dataset of "
                          "its own, which split= of dovetail.convert makes")

    def __bool__(self) -> bool:
        return True  # without opening the reader

    def __repr__(self) -> str:
        return f"<BatchDataset of {self._dataset!r}: {'closed' if self._closed else self._reader or 'not open yet'}>"

    @property
    def reader(self) -> Reader:
        """The `dovetail.Reader`, opened on first use.

        Raises:
            UsageError: in a worker process of a DataLoader; if torch.distributed has another rank or world than when
                the reader was opened; and what `dovetail.Reader` raises.
            ClosedError: after `close`.
        """
        _refuse_workers()
        if self._closed:
            raise ClosedError("the dataset was closed", code=ErrorCode.closed)
        if self._reader is None:
            ranks = self._find_ranks()
            reader = Reader(self._dataset, state=self._state, **{**ranks, **self._options})
            if self._epoch is not None:
                reader.set_epoch(self._epoch)
            self._reader, self._state, self._epoch = reader, None, None
            self._opened_as = (ranks["rank"], ranks["world"])
        elif self._given is None:
            self._refuse_another_rank()
        return self._reader

    def _find_ranks(self) -> Dict[str, int]:
        known = self._given or _distributed_rank()
        try:
            rank, world, local_rank, local_world, _ = _dovetail.environment_ranks()
        except UsageError:
            if known is None:
                raise
            return dict(rank=known[0], world=known[1])
        if known is None or known == (rank, world):
            return dict(rank=rank, world=world, local_rank=local_rank, local_world=local_world)
        return dict(rank=known[0], world=known[1])

    def _refuse_another_rank(self) -> None:
        known = _distributed_rank()
        if known is None or known == self._opened_as or self._opened_as is None:
            return
        rank, world = self._opened_as
        raise usage_error(f"the reader was opened as rank {rank} of {world}, but torch.distributed says rank "
                          f"{known[0]} of {known[1]}: initialise it before the dataset is first used, or give rank "
                          "and world")

    def set_epoch(self, epoch: int) -> None:
        """Moves to the beginning of an epoch.

        Does nothing if the reader is already in that epoch, at any step, so that a restored one continues where it
        was. Loops need no `set_epoch`: iterating again gives the next epoch. An epoch before a state that was just
        restored is a warning of the logger "dovetail"."""
        if operator.index(epoch) < 0:
            raise usage_error(f"epoch={epoch}: it must be 0 or more")
        if self._reader is None:
            self._epoch = epoch
        else:
            self.reader.set_epoch(epoch)

    def state_dict(self) -> Dict[str, Any]:
        """Returns the checkpoint of the data: batches that were handed over count.

        The same on all ranks that have taken the same steps, and valid for any world."""
        return self.reader.state_dict()

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Continues where `state_dict()` was taken. If the reader is not open yet, opening it checks the state.

        Raises:
            StateMismatchError: for a state of another dataset or order; an open reader is then unchanged.
            TypeError: at once, for an argument that is not a state.
        """
        if not isinstance(state.get("state") if isinstance(state, dict) else state, str):
            raise TypeError("a state is what state_dict() gives")
        self._begun = None
        if self._reader is None:
            self._state, self._epoch = state, None
        else:
            self.reader.load_state_dict(state)

    def stats(self) -> Dict[str, Any]:
        """Returns what the reader has done and where its time went; see `dovetail.Reader.stats`."""
        return self.reader.stats()

    def close(self) -> None:
        """Stops the threads of the reader and closes its files; tensors stay valid. May be called again."""
        self._closed = True
        if self._reader is not None:
            self._reader.close()

    def __getstate__(self) -> Dict[str, Any]:
        kept = dict(self.__dict__, _reader=None, _opened_as=None, _begun=None)
        if self._reader is not None and not self._closed:
            kept["_state"] = self._reader.state_dict()
        return kept


def _distributed_rank() -> Optional[Tuple[int, int]]:
    """Returns (rank, world) of torch.distributed; None if it is not initialised."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return None
    return torch.distributed.get_rank(), torch.distributed.get_world_size()


def _refuse_second_sharding(frame: Optional[FrameType]) -> None:
    """Refuses a DataLoader that Accelerate has prepared: it would divide the batches of one rank over processes."""
    def module() -> str:
        return "" if frame is None else str(frame.f_globals.get("__name__"))

    while frame is not None and module().startswith(("torch.", "torchdata.")):
        frame = frame.f_back
    if module() in ("accelerate.data_loader", "transformers.trainer_pt_utils"):
        raise usage_error("a BatchDataset returns the batches of one rank, but this DataLoader was prepared by "
                          "Accelerate, which would divide them over processes again: do not prepare it, and iterate "
                          "over dovetail.trainers.Loader(dataset) instead; see docs/trainers.md")


def _refuse_workers() -> None:
    worker = torch.utils.data.get_worker_info()
    if worker is not None:
        raise usage_error(f"this is worker process {worker.id} of {worker.num_workers} of a DataLoader: the threads "
                          "of dovetail read and decode ahead in the training process itself, without a copy between "
                          "processes, and every worker would read the whole share of its rank again; use "
                          "DataLoader(dataset, batch_size=None, num_workers=0)")
