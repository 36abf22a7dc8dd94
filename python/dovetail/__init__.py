# SPDX-License-Identifier: Apache-2.0
"""Dovetail: a record container and data loader that gives every rank the same number of batches.

    import dovetail

    with dovetail.DatasetWriter("data") as writer:
        writer.extend(records)                        # bytes

    reader = dovetail.Reader("data", batch=64)        # rank and world from the launcher
    for batch in reader:                              # one epoch
        batch.values, batch.offsets, batch.ids        # NumPy arrays: views of the batch

Names that begin with an underscore are not part of the API.
"""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

from dovetail import _dovetail, _show
from dovetail._columns import Ragged, Texts
from dovetail._dovetail import (Batch, Dataset, DatasetWriter, EpochPlan, Plan, Records, ShardInfo, Tensor,
                                Writer, add_digests, convert, describe, digest, example, export_tfrecords,
                                gathered_rows, index, inspect, merge, parse_example, recover, verify)
from dovetail._errors import (BusyError, CancelledError, ClosedError, DamagedError, DeviceError, DovetailError,
                              ErrorCode, MissingFileError, SlotsHeldError, StateMismatchError, StorageError,
                              UsageError)
from dovetail._features import FeaturesReport, FeatureStats, Histogram
from dovetail._map import Record
from dovetail._reader import Reader
from dovetail._reports import (BatchMixing, ConvertedDataset, ConvertedSource, ConvertReport, Damage,
                               DatasetDescription, ExportReport, IndexReport, Mixing, RecoverReport, ShuffleReport,
                               VerifyReport)

if TYPE_CHECKING:
    from dovetail._dovetail import _Path

_dovetail.refuse_subinterpreters()

__all__ = ["Batch", "BatchMixing", "BusyError", "CancelledError", "ClosedError", "ConvertReport", "ConvertedDataset",
           "ConvertedSource", "DAMAGED", "Damage", "DamagedError", "Dataset", "DatasetDescription", "DatasetWriter",
           "DeviceError", "DovetailError", "EMPTY", "EpochPlan", "ErrorCode", "ExportReport", "FIRST", "FeatureStats",
           "FeaturesReport", "Histogram", "IndexReport", "MissingFileError", "Mixing", "NO_ID", "Plan", "REPEATED",
           "REPEATED_DAMAGED", "REPEATED_SUBSTITUTED", "Ragged", "Reader", "Record", "Records", "RecoverReport",
           "SUBSTITUTED", "ShardInfo", "ShuffleReport", "SlotsHeldError", "StateMismatchError", "StorageError",
           "Tensor", "Texts", "UsageError", "VerifyReport", "Writer", "add_digests", "convert", "describe", "digest",
           "example", "export_tfrecords", "gathered_rows", "index", "inspect", "merge", "open", "parse_example",
           "recover", "verify"]

__version__ = _dovetail.__version__

EMPTY, FIRST, REPEATED, SUBSTITUTED, DAMAGED, REPEATED_SUBSTITUTED, REPEATED_DAMAGED = range(7)
"""Statuses of a row.

EMPTY: no record is planned. FIRST: first delivery in the epoch. REPEATED: delivered before. SUBSTITUTED: the record is
damaged, and the bytes of a neighbour replace it. DAMAGED: the record is damaged, and the row is empty. These two stand
in place of a first delivery; their forms with `REPEATED_` stand in place of a repetition."""

NO_ID = 2**64 - 1
"""The id of a row without a record."""


def open(path: Dataset | _Path, *, allow_outside: bool = False) -> Records:
    """Opens the records of a shard, a dataset or a glob of shards, by number: `len()`, `[i]`, slices, iteration.

    Args:
        path: a shard, a TFRecord file with its index, a folder with a manifest, a manifest, or a glob.
        allow_outside: lets a manifest name files outside its folder.
    """
    return Records(path if isinstance(path, Dataset) else Dataset(path, allow_outside=allow_outside))


def __dir__() -> list[str]:
    helpers = ("TYPE_CHECKING", "annotations", "atexit")
    return ["__version__", *(name for name in globals() if not name.startswith("_") and name not in helpers)]


for _class, _name, _method in ((Batch, "_repr_html_", _show.batch_html), (Batch, "copy", _show.batch_copy),
                               (Batch, "to_pandas", _show.batch_frame), (Dataset, "_repr_html_", _show.dataset_html),
                               (Dataset, "to_pandas", _show.dataset_frame), (Plan, "_repr_html_", _show.plan_html)):
    setattr(_class, _name, _method)

# Stops the threads of readers, and logs their last lines, before the interpreter ends.
atexit.register(_dovetail.close_all_readers)
