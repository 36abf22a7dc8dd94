# SPDX-License-Identifier: Apache-2.0
"""What batches and datasets become outside: tables in notebooks, copies, and frames of pandas.

`dovetail` makes these functions methods of the compiled classes."""

from __future__ import annotations

import importlib
import operator
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from dovetail import _html
from dovetail._columns import Ragged, Texts
from dovetail._errors import DovetailError, usage_error
from dovetail._reader import Reader

if TYPE_CHECKING:
    import numpy.typing as npt

    from dovetail._dovetail import Batch, Dataset, Plan

_STATUSES = ("EMPTY", "FIRST", "REPEATED", "SUBSTITUTED", "DAMAGED", "REPEATED_SUBSTITUTED", "REPEATED_DAMAGED")
_FIRST, _REPEATED = _STATUSES.index("FIRST"), _STATUSES.index("REPEATED")
_SHOWN_ROWS = 5
_SHOWN_BYTES = 24
_SHOWN_SHARDS = 5
_BATCH_BYTES = 16 * 1024 * 1024


def dataset_html(self: Dataset) -> str:
    """A table for notebooks: the facts about the dataset, and its first shards. Reads the metadata of a shard."""
    rows = [("records", f"{len(self):,}"), ("bytes of records", f"{self.raw_bytes:,}"),
            ("shards", f"{len(self.shards):,}" + ("" if self.has_manifest else ", without a manifest"))]
    try:
        rows.append(("columns", self.schema or "none named"))
        if metadata := self.metadata:
            rows.append(("metadata", str(metadata)))
    except DovetailError as error:
        rows.append(("columns", f"cannot be read: {error}"))
    rows += [(shard.name, f"{shard.records:,} records, {shard.file_bytes:,} bytes") for shard in
             self.shards[:_SHOWN_SHARDS]]
    return _html.table(f"Dataset {self.path}", rows + [("\u2026", "")] * (len(self.shards) > _SHOWN_SHARDS))


def plan_html(self: Plan) -> str:
    """A table for notebooks: the counts of the first epoch, and the options."""
    first = self.epoch(self.start[0])
    rows = [(f"steps of epoch {first.epoch}", f"{first.steps:,}"), ("dropped records", f"{first.dropped:,}"),
            ("padded rows", f"{first.padded:,}"), ("plan_id", self.plan_id)]
    rows += [(name, str(value)) for name, value in self.options.items() if value is not None]
    return _html.table(f"Plan of {self.records:,} records", rows)


def batch_html(self: Batch) -> str:
    """A table for notebooks: the columns, or the first rows, of the batch."""
    try:
        caption = f"Batch of epoch {self.epoch}, step {self.step}: {len(self)} rows, {self.valid} valid"
        if self.columns:
            rows = [(name, *_about(column)) for name, column in self.items()]
            return _html.table(caption, rows, ("column", "type", "values"))
    except DovetailError:
        return _html.escaped(repr(self))
    shown = min(len(self), _SHOWN_ROWS)
    records = [self.row(i) for i in range(shown)]
    body = [(str(i), str(self.ids[i]), _STATUSES[self.status[i]], str(len(records[i])), repr(records[i][:_SHOWN_BYTES]))
            for i in range(shown)]
    return _html.table(caption, body + [("\u2026", "", "", "", "")] * (shown < len(self)),
                       ("row", "id", "status", "bytes", "begins with"))


def _about(column: npt.NDArray[Any] | Ragged | Texts | list[Any]) -> tuple[str, str]:
    """Type and values of a column in short."""
    more = ", \u2026" if len(column) > _SHOWN_ROWS else ""
    if isinstance(column, list):
        return "object", ", ".join(map(repr, column[:_SHOWN_ROWS])) + more
    if isinstance(column, Texts):
        values = ", ".join(map(repr, column[:_SHOWN_ROWS])) + more
        return _type("bytes", column.shape, column.offsets is not None), values
    if isinstance(column, Ragged):
        lengths = ", ".join(str(len(row)) for row in column[:_SHOWN_ROWS])
        return _type(str(column.values.dtype), column.values.shape[1:], True), f"lengths {lengths}{more}"
    values = f"{column.min()} to {column.max()}" if column.size else ""
    if column.ndim == 1:
        values = ", ".join(map(str, column[:_SHOWN_ROWS].tolist())) + more
    return _type(str(column.dtype), column.shape[1:], False), values


def _type(name: str, shape: tuple[int, ...], ragged: bool) -> str:
    sizes = ",".join(["*"] * ragged + [str(size) for size in shape])
    return f"{name}[{sizes}]" if sizes else name


def batch_copy(self: Batch) -> dict[str, Any]:
    """Returns the parts of the batch by name as writable copies, which do not hold its slot.

    The names are those of `dovetail.torch.tensors`: the columns, or "values" and "offsets", and "ids" and "status".

    Raises:
        UsageError: for a column named "ids" or "status".
    """
    parts: dict[str, Any] = dict(self) if self.columns else {"values": self.values, "offsets": self.offsets}
    for name, part in (("ids", self.ids), ("status", self.status)):
        if name in parts:
            raise usage_error(f'the column "{name}" has the name of a part of every batch: copy the columns one by one')
        parts[name] = part
    return {name: _copy(part) for name, part in parts.items()}


def _copy(part: npt.NDArray[Any] | Ragged | Texts | list[Any]) -> npt.NDArray[Any] | Ragged | Texts | list[Any]:
    if isinstance(part, Ragged):
        return Ragged(part.values.copy(), part.offsets.copy())
    if isinstance(part, Texts):
        offsets = None if part.offsets is None else part.offsets.copy()
        return Texts(part.characters.copy(), part.text_offsets.copy(), len(part), part.shape, offsets)
    return part.copy()


def batch_frame(self: Batch) -> Any:
    """Returns a copy of the batch as a `pandas.DataFrame`, with the record ids as its index.

    The index is named "record", unless a column has that name. Without columns of the batch the frame has one column,
    "record", of bytes. A row of a column with a shape, or of a ragged one, is an array; a text is bytes. Rows without
    their own record are left out: empty ones, and those of damaged records.
    """
    pandas = importlib.import_module("pandas")  # not needed otherwise, and without types
    filled = (self.status == _FIRST) | (self.status == _REPEATED)
    columns: dict[str, Any] = dict(self) if self.columns else {"record": self.rows()}
    frame = pandas.DataFrame({name: _series(column) for name, column in columns.items()},
                             index=pandas.Index(self.ids.copy(), name=None if "record" in columns else "record"))
    return frame if filled.all() else frame[filled]


def _series(column: npt.NDArray[Any] | Ragged | Texts | list[Any]) -> Any:
    """What a column of a frame is made of; looks into no batch."""
    if isinstance(column, Texts):
        return column.to_list()
    if isinstance(column, Ragged) or (not isinstance(column, list) and column.ndim > 1):
        return [row.copy() for row in column]
    return column if isinstance(column, list) else column.copy()


def _batches(dataset: Dataset, columns: str | bool | Sequence[str] | None) -> Iterator[Batch]:
    """All records in their order. The last rows of the last batch may be empty."""
    if len(dataset) == 0:
        return
    longest = max((shard.max_record_bytes for shard in dataset.shards), default=0)
    rows = min(1024, max(1, _BATCH_BYTES // max(1, longest)), max(1, len(dataset)))
    wanted = dataset.schema if columns is None else columns
    with Reader(dataset, batch=rows, rank=0, world=1, order="sequential", tail="pad", columns=wanted, epochs=1,
                registration="off") as reader:
        yield from reader


def dataset_frame(self: Dataset, columns: str | bool | Sequence[str] | None = None,
                  max_records: int | None = None) -> Any:
    """Reads records in their order into a `pandas.DataFrame`, with the record ids as its index.

    See `Batch.to_pandas` for what its columns hold. All records must fit the memory. Without records there are no
    columns either.

    Args:
        columns: as of `Reader`. None (default) takes the columns that the dataset names, else the bytes of records.
        max_records: reads only so many, the first ones.

    Raises:
        ValueError: for a negative `max_records`.
        DamagedError, StorageError, UsageError: as a `Reader` does.
    """
    pandas = importlib.import_module("pandas")  # not needed otherwise, and without types
    if max_records is not None and operator.index(max_records) < 0:
        raise ValueError(f"max_records={max_records}: it must be 0 or more; None reads all")
    frames, left = [], len(self) if max_records is None else min(len(self), max_records)
    for batch in _batches(self, columns):
        frames.append(batch.to_pandas()[:left])
        left -= len(frames[-1])
        if left <= 0:
            break
    if not frames:
        return pandas.DataFrame(index=pandas.Index([], dtype="uint64", name="record"))
    return pandas.concat(frames)
