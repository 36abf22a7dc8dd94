# SPDX-License-Identifier: Apache-2.0
"""Reports of long operations."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail._dovetail import ShardInfo
    from dovetail._errors import DovetailError


@dataclasses.dataclass(frozen=True)
class Damage:
    """One damaged place. `records` is the range of lost records in the shard; empty if none is lost."""

    file: str
    offset: int
    records: range
    reason: str


@dataclasses.dataclass(frozen=True)
class VerifyReport:
    """Result of `verify`. `records` and `blocks` count good ones.

    `damaged` lists the first 65,536 of the `damaged_places`. `unreadable` holds the error of each shard that could not
    be checked, because it has vanished or the system does not return it.
    """

    records: int
    blocks: int
    damaged: tuple[Damage, ...]
    damaged_places: int
    unreadable: tuple[DovetailError, ...]

    @property
    def ok(self) -> bool:
        """Whether everything was read, and nothing is damaged."""
        return not self.damaged and not self.unreadable


@dataclasses.dataclass(frozen=True)
class ConvertedDataset:
    """A new dataset: the path of its manifest, its id, and its shards."""

    manifest: str
    dataset_id: str
    shards: tuple[ShardInfo, ...]


@dataclasses.dataclass(frozen=True)
class ConvertedSource:
    """How a source was read.

    `left_out` counts the files of a folder that are not records, by the reasons that occur: `hidden`, `litter`,
    `dangling`, `special`, `excluded`, `unlabelled`. `classes` are the labels of folders in the order of their numbers.
    `columns` are name and type of each CSV column.
    """

    path: str
    format: str
    left_out: dict[str, int]
    classes: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class ConvertReport:
    """Result of `convert` or `merge`. Bytes of records are before compression. `merge` has no `sources`.

    An earlier call had finished `kept_shards` of the `shards`. With `on_error="skip"`, `skipped` counts what was left
    out, and `first_skipped` holds the first errors. `datasets` is empty for a part.
    """

    records: int
    raw_bytes: int
    input_bytes: int
    files: int
    formats: tuple[str, ...]
    sources: tuple[ConvertedSource, ...]
    shards: int
    kept_shards: int
    stored_bytes: int
    skipped: int
    first_skipped: tuple[DovetailError, ...]
    datasets: tuple[ConvertedDataset, ...]


@dataclasses.dataclass(frozen=True)
class DatasetDescription:
    """Description of a dataset, without its records. `dovetail inspect` shows the same, and more of records.

    - `raw_bytes` is the size of all records before compression, `stored_bytes` that of blocks, `file_bytes` that of
      files.
    - `codecs` counts the blocks of each codec.
    - `version` to `schema` are those of the first shard; `schema` is None if it has none.
    - `tfrecord` is True for TFRecord files with an index.
    - `features` maps the features of the first 64 records to their lists, such as {"image": "bytes_list",
      "label": "int64_list"}: at most 256 names, and none if records are not tf.train.Examples.
    """

    path: str
    tfrecord: bool
    records: int
    blocks: int
    raw_bytes: int
    stored_bytes: int
    file_bytes: int
    min_record_bytes: int
    max_record_bytes: int
    codecs: dict[str, int]
    version: tuple[int, int]
    dataset_id: str
    record_type: str
    writer: str
    metadata: dict[str, str]
    schema: str | None
    fingerprint: str
    has_manifest: bool
    features: dict[str, str]
    shards: tuple[ShardInfo, ...]


def verify_report(records: int, blocks: int, damaged: list[dict[str, Any]], damaged_places: int,
                  unreadable: list[DovetailError]) -> VerifyReport:
    places = tuple(Damage(place["file"], place["offset"], range(place["first_record"], place["end_record"]),
                          place["reason"]) for place in damaged)
    return VerifyReport(records, blocks, places, damaged_places, tuple(unreadable))


def convert_report(records: int, raw_bytes: int, input_bytes: int, files: int, formats: list[str],
                   sources: list[tuple[str, str, dict[str, int], list[str], list[tuple[str, str]]]],
                   shards: int, kept_shards: int, stored_bytes: int, skipped: int, first_skipped: list[DovetailError],
                   datasets: list[tuple[str, str, list[ShardInfo]]]) -> ConvertReport:
    written = tuple(ConvertedDataset(manifest, dataset_id, tuple(of)) for manifest, dataset_id, of in datasets)
    taken = tuple(ConvertedSource(path, format, left_out, tuple(classes), tuple(columns))
                  for path, format, left_out, classes, columns in sources)
    return ConvertReport(records, raw_bytes, input_bytes, files, tuple(formats), taken, shards, kept_shards,
                         stored_bytes, skipped, tuple(first_skipped), written)


def dataset_description(parts: dict[str, Any]) -> DatasetDescription:
    return DatasetDescription(**parts)
