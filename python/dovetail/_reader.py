# SPDX-License-Identifier: Apache-2.0
"""Readers, with keyword options."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterator, NoReturn, Sequence

from dovetail import _dovetail, _html
from dovetail._errors import usage_error
from dovetail._features import without_schema
from dovetail._names import names_options, refuse_copies
from dovetail._objects import KeptObjects

if TYPE_CHECKING:
    from dovetail._dovetail import Batch, Dataset, Plan, _Mix, _Path, _State
    from dovetail._map import Record


def _open(dataset: Dataset | _Path) -> Dataset:
    return dataset if isinstance(dataset, _dovetail.Dataset) else _dovetail.Dataset(dataset)


class _Stats(dict[str, Any]):
    """A dict that is a table in notebooks."""

    def _repr_html_(self) -> str:
        return _html.table("Statistics of a reader", ((name, str(value)) for name, value in self.items()))


class Reader:
    """Delivers one rank's batches, in the order of the plan.

    Iterating gives the batches up to the end of the current epoch; iterating again, the next epoch. So
    `next(iter(reader))` takes a batch out of the epoch: to look only, `seek` back to the `epoch` and `step` before it.
    `len()` is the number of steps of the current epoch, the same on every rank. Threads of the library read ahead.
    Waiting releases the interpreter lock.

    Args:
        dataset: a `Dataset`, or the path of one.
        batch: rows per step.
        rank, world: this rank, and the number of ranks. None (default) takes both from the variables of the launcher
            (torchrun, Open MPI, Slurm, PMI), or rank 0 of 1 without a launcher.
        local_rank, local_world: the same among the processes of this node, which share its cores.
        order, tail, seed, assign, replicate, lanes, open_runs, pool, sticky, mix, mix_stop: see `Plan`.
        columns: decodes records of tf.train.Example into these columns, such as "image:u8[28,28], label:i64". True
            uses the schema that the dataset's writer named, and a list of names those columns of it.
        map: fills the rows of `columns` from records of any kind: a function of a `Record`, which returns a dict of
            columns by name. It runs on the threads of the reader, at most one call per batch at a time, so raise
            `prefetch` for many threads. Code that releases the interpreter lock, as PIL and NumPy do, runs at the
            same time. An exception rejects the record: `on_damage` decides. A MemoryError ends the reader, and so does
            what is no `Exception`, such as SystemExit: `next()` raises it. The function must not use the reader.
        map_batch: the same in one call per batch: a function of the list of its good records, which returns a dict of
            columns with a row for each of them, as an array or a list. An exception, another number of rows, or an
            array that does not fit rejects all these records; a row of a list that does not fit, such as None, its own.
        outputs: "columns", or "objects", without `columns`: `map` returns an object of any type, and `map_batch` a list
            of them. `batch.objects` is the list of those of its rows. They are not in slots and the memory budget.
        epochs: the reader ends before this epoch, wherever it begins or is moved to. With 3, a reader that continues
            in epoch 1 reads the rest of it and epoch 2. Iterating again is a RuntimeWarning. 0 (default) continues for
            ever.
        state: continues where `state_dict()` was taken, also in another world or batch.
        on_damage: "fail", "substitute" or "empty"; steps, rows and ids stay as planned.
        on_hung_read, hung_after: handling of reads that take longer than `hung_after` seconds: "wait" or "fail".
        oversize: handling of a batch that does not fit its slot: "fail" or "spill".
        prefetch: slots to fill ahead.
        max_held: batches that may be alive at a time. A batch is alive while any array or tensor of it is.
        memory_bytes: budget of slots and read-ahead, in bytes; it is kept. At most half of it is for slots, `prefetch +
            max_held` batches. None (default) is 256 MiB, or up to 4 GiB for large batches or open runs.
        storage: "automatic", "pread" or "io_uring_direct".
        io_threads, decode_threads: number of threads; None (default) chooses.
        registration: registers memory with CUDA, which PyTorch sees as pinned: "preferred", "required" or "off".
        device: the CUDA device of the batches; None (default) takes the current one.
        huge_pages: "automatic", "on" or "off".
        metrics: path of a Prometheus textfile, which the reader replaces: after a batch if 15 s have passed, at the end
            of an epoch, and when it closes. One file per rank, with a name that ends in .prom; the reader warns if
            the file has the metrics of another rank. Counters begin anew where `stats()` does.

    Raises:
        UsageError: for options that are out of range.
        DamagedError, StorageError: for datasets that cannot be read.

    Warnings go to the logger "dovetail", in `next()` and similar calls.

    `close()`, the end of a `with` block, and deletion close a reader; batches stay valid. They wait for calls of `map`
    that run, however long these take.

    After an error of reading, `next()` fails until the reader is moved; after a move that failed, `stats()` and
    `metrics()` fail, too. `epoch`, `step` and `state_dict()` still give its place: that of the batch that failed, or
    the target of a move that failed. `seek(reader.epoch, reader.step)` tries once more. While one thread waits for a
    batch, `next()` of another is a BusyError, and a move or `close()` by another ends the wait with an error. While
    one thread moves the reader, any call of another but `close()` is a BusyError.
    """

    @names_options()
    def __init__(self, dataset: Dataset | _Path, *, batch: int, rank: int | None = None, world: int | None = None,
                 local_rank: int | None = None, local_world: int | None = None, order: str = "shuffle",
                 tail: str = "drop", seed: int = 0, assign: str = "even", replicate: int = 1, lanes: int | None = None,
                 open_runs: int | None = None, pool: int | None = None, sticky: bool = False, mix: _Mix | None = None,
                 mix_stop: str | int | None = None, columns: str | bool | Sequence[str] | None = None,
                 map: Callable[[Record], Any] | None = None,
                 map_batch: Callable[[list[Record]], Any] | None = None, outputs: str = "columns", epochs: int = 0,
                 state: _State | None = None, on_damage: str = "fail", on_hung_read: str = "wait",
                 hung_after: float | None = None, oversize: str = "fail", prefetch: int = 2, max_held: int = 3,
                 memory_bytes: int | None = None, storage: str = "automatic", io_threads: int | None = None,
                 decode_threads: int | None = None, registration: str = "preferred", device: int | None = None,
                 huge_pages: str = "automatic", metrics: _Path | None = None) -> None:
        opened = _open(dataset)
        names = columns if isinstance(columns, (list, tuple)) else None
        if names is not None and not names:
            raise TypeError(f"columns={columns!r} names no column; without columns a reader gives bytes")
        if columns is True or names is not None:
            schema = opened.schema
            if schema is None:
                raise usage_error(f"columns={columns!r}: " + without_schema(opened))
            columns = schema if names is None else _dovetail.pick_columns(schema, names)
        if outputs == "objects":
            function = map if map is not None else map_batch
            if columns or function is None or (map is not None and map_batch is not None):
                raise usage_error('outputs="objects" needs map or map_batch, and no columns')
            kept = KeptObjects(function)
            columns = kept.columns
            map, map_batch = (kept, None) if map is not None else (None, kept)
        elif outputs != "columns":
            raise usage_error(f'outputs={outputs!r}: it must be "columns" or "objects"')
        if (rank is None) != (world is None):
            raise usage_error("give rank and world together, or neither of them")
        if rank is None:
            rank, world, found_rank, found_world, _ = _dovetail.environment_ranks()
            local_rank = found_rank if local_rank is None else local_rank
            local_world = found_world if local_world is None else local_world
        options = dict(batch=batch, rank=rank, world=world, local_rank=local_rank, local_world=local_world, order=order,
                       tail=tail, seed=seed, assign=assign, replicate=replicate, lanes=lanes, open_runs=open_runs,
                       pool=pool, sticky=sticky, mix=mix, mix_stop=mix_stop,
                       columns=None if columns is False else columns, epochs=epochs, on_damage=on_damage,
                       on_hung_read=on_hung_read, hung_after=hung_after, oversize=oversize, prefetch=prefetch,
                       max_held=max_held, memory_bytes=memory_bytes, storage=storage, io_threads=io_threads,
                       decode_threads=decode_threads, registration=registration, device=device, huge_pages=huge_pages,
                       metrics=metrics)
        self._native = _dovetail.Reader(opened, options, state, map, map_batch)
        self._epochs = epochs
        self._restored = None if state is None else self._native.position  # to be left with a warning only

    def __iter__(self) -> Iterator[Batch]:
        if self._epochs and self.epoch >= self._epochs:
            warnings.warn(f"the reader ended with epoch {self._epochs - 1}, as epochs={self._epochs} asks, and gives "
                          "no more batches: open it without epochs= if a loop of yours counts epochs", RuntimeWarning,
                          stacklevel=2)
        return iter(self._native)

    def __len__(self) -> int:
        """The steps of the current epoch, all of them; `len(reader) - reader.step` are left, as after a resume."""
        return self.plan.steps(self.epoch)

    def __bool__(self) -> bool:
        return True  # also when it is closed, and has no length

    def __getitem__(self, i: object) -> NoReturn:
        """Raises an error: batches have no numbers. A DataLoader of a reader would ask for them."""
        raise usage_error("a Reader has no batches by number; iterate over it; for a DataLoader "
                          "use dovetail.torch.BatchDataset, in DataLoader(dataset, batch_size=None, num_workers=0)")

    def next(self) -> Batch | None:
        """Returns the next batch. None at the end of an epoch; the next epoch begins after that.

        If a signal handler raises while this call returns, its batch is lost. A loop over the reader loses none."""
        return self._native.next()

    @property
    def epoch(self) -> int:
        """The current epoch: that of the next batch."""
        return self._native.position[0]

    @property
    def step(self) -> int:
        """Steps of the current epoch that were handed over."""
        return self._native.position[1]

    def set_epoch(self, epoch: int) -> None:
        """Moves to the beginning of an epoch.

        Does nothing if the reader is already in that epoch, at any step, so that a restored reader continues where it
        was. A move that failed is tried once more. `seek` goes back, and moves on after other errors. A loop that
        continues begins at `reader.epoch`: an epoch before a state that was just restored is a warning.

        Raises:
            UsageError: for an epoch that `epochs` excludes.
        """
        at = self._native.position
        self._native.set_epoch(epoch)
        if self._restored == at and epoch < at[0]:
            import logging  # the import of dovetail is light

            logging.getLogger("dovetail").warning(
                "set_epoch(%d) leaves the restored place, step %d of epoch %d: begin the loop there, as by "
                "range(reader.epoch, epochs)", epoch, at[1], at[0])
        self._restored = None

    def seek(self, epoch: int, step: int = 0) -> None:
        """Moves to a step of an epoch.

        In an epoch that another world has begun, step 0 is the first step of all its records, cut for this world.

        Raises:
            UsageError: for an epoch that `epochs` excludes, and a step that the epoch does not have or that another
                world took.
        """
        self._native.seek(epoch, step)

    def state_dict(self) -> dict[str, Any]:
        """Returns the checkpoint of the data, as a string and numbers.

        Batches that were handed over count; batches that were only read ahead do not. The state is the same on all
        ranks that have taken the same steps, and valid for any world."""
        return self._native.state_dict()

    def load_state_dict(self, state: _State) -> None:
        """Continues where `state_dict()` was taken.

        Raises:
            StateMismatchError: for a state of another dataset or order; the reader is then unchanged.
        """
        self._native.restore(state)
        self._restored = self._native.position

    @property
    def plan(self) -> Plan:
        """The plan of the reader, from where it began."""
        return self._native.plan

    def plan_checksum(self) -> int:
        """Returns a signed 64-bit number that is equal on all ranks that made the same plan and began at the same
        place."""
        return self._native.plan_checksum()

    @property
    def registered(self) -> bool:
        """Whether batches lie in memory registered with CUDA."""
        return self._native.registered

    def stats(self) -> dict[str, Any]:
        """Returns counters and where the time went, under the names of `ReaderStats` (reader_stats.h).

        They begin anew when the reader moves, by `seek`, `load_state_dict` or `set_epoch`. To Prometheus this is a
        restart, for which `rate()` and `increase()` allow."""
        return _Stats(self._native.stats())

    def metrics(self, **labels: object) -> str:
        """Returns the same in the Prometheus text format, for a scrape or the textfile collector.

        Each sample has `labels`, such as `rank=0`.

        Raises:
            UsageError: for the name of a label that Prometheus or Dovetail uses.
        """
        return self._native.metrics({name: str(value) for name, value in labels.items()})

    def close(self) -> None:
        """Stops the threads of the reader and closes its files. May be called again."""
        self._native.close()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._native.closed

    def __repr__(self) -> str:
        if self.closed:
            return "<Reader, closed>"
        options, (epoch, step) = self._native.plan.options, self._native.position
        return f"<Reader at epoch {epoch}, step {step}: batch {options['batch']}, world {options['world']}>"

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


refuse_copies(Reader)  # a shallow one would share its place, and close it
