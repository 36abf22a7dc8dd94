# SPDX-License-Identifier: Apache-2.0
"""What long work has found or done."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail._dovetail import ShardInfo
    from dovetail._errors import DovetailError


@dataclasses.dataclass(frozen=True)
class Damage:
    """One damaged place. `records` are those it takes, as a range of numbers in the shard; empty where none is lost."""

    file: str
    offset: int
    records: range
    reason: str


@dataclasses.dataclass(frozen=True)
class VerifyReport:
    """`records` and `blocks` count good ones; `damaged` lists the first 65,536 of `damaged_places` that are not.

    `unreadable` holds the error of each shard that could not be judged: because it has vanished, or the system does
    not give it.
    """

    records: int
    blocks: int
    damaged: tuple[Damage, ...]
    damaged_places: int
    unreadable: tuple[DovetailError, ...]

    @property
    def ok(self) -> bool:
        """Whether all of it was read, and nothing is damaged."""
        return not self.damaged and not self.unreadable


@dataclasses.dataclass(frozen=True)
class ConvertedDataset:
    """A dataset that was written: the path of its manifest, its id, and its shards."""

    manifest: str
    dataset_id: str
    shards: tuple[ShardInfo, ...]


@dataclasses.dataclass(frozen=True)
class ConvertReport:
    """What `convert` or `merge` did. Bytes of records are before compression.

    `kept_shards` of the `shards` were finished by an earlier call. With `on_error="skip"`, `skipped` counts what was
    left out, and `first_skipped` holds the first errors. `datasets` is empty for a part.
    """

    records: int
    raw_bytes: int
    input_bytes: int
    files: int
    formats: tuple[str, ...]
    shards: int
    kept_shards: int
    stored_bytes: int
    skipped: int
    first_skipped: tuple[DovetailError, ...]
    datasets: tuple[ConvertedDataset, ...]


def verify_report(records: int, blocks: int, damaged: list[dict[str, Any]], damaged_places: int,
                  unreadable: list[DovetailError]) -> VerifyReport:
    places = tuple(Damage(place["file"], place["offset"], range(place["first_record"], place["end_record"]),
                          place["reason"]) for place in damaged)
    return VerifyReport(records, blocks, places, damaged_places, tuple(unreadable))


def convert_report(records: int, raw_bytes: int, input_bytes: int, files: int, formats: list[str], shards: int,
                   kept_shards: int, stored_bytes: int, skipped: int, first_skipped: list[DovetailError],
                   datasets: list[tuple[str, str, list[ShardInfo]]]) -> ConvertReport:
    written = tuple(ConvertedDataset(manifest, dataset_id, tuple(of)) for manifest, dataset_id, of in datasets)
    return ConvertReport(records, raw_bytes, input_bytes, files, tuple(formats), shards, kept_shards, stored_bytes,
                         skipped, tuple(first_skipped), written)
