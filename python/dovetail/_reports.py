# SPDX-License-Identifier: Apache-2.0
"""Reports of long operations."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from dovetail import _html

if TYPE_CHECKING:
    from dovetail._dovetail import ShardInfo
    from dovetail._errors import DovetailError


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


@dataclasses.dataclass(frozen=True)
class Damage:
    """One damaged place. `records` is the range of lost records in the shard; empty if none is lost."""

    file: str
    offset: int
    records: range
    reason: str


@dataclasses.dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        good = f"{_count(self.records, 'record')} in {_count(self.blocks, 'block')}"
        if self.ok:
            return f"<VerifyReport, good: {good}>"
        bad = f"{_count(self.damaged_places, 'damaged place')}, {_count(len(self.unreadable), 'unreadable shard')}"
        return f"<VerifyReport, {bad}; good: {good}>"


@dataclasses.dataclass(frozen=True, repr=False)
class RecoverReport:
    """Result of `recover`. `records` and `blocks` count what was saved.

    - `expected_records` is the number of records of the source; None if it is unknown.
    - `lost` lists the first of the `lost_regions`, with `lost_records` in all.
    - `passed_over` are files that another file of the same shard replaced; `not_shards` are files of other kinds.
    - `source_bytes` were read, `unreadable_bytes` of them could not be; `checked_bytes` counts each check.
    """

    records: int
    blocks: int
    expected_records: int | None
    lost: tuple[Damage, ...]
    lost_regions: int
    lost_records: int
    passed_over: tuple[str, ...]
    not_shards: tuple[str, ...]
    source_bytes: int
    checked_bytes: int
    unreadable_bytes: int
    dataset_id: str
    shards: tuple[ShardInfo, ...]

    @property
    def ok(self) -> bool:
        """Whether no loss is known."""
        return self.lost_regions == 0

    def __repr__(self) -> str:
        known = "" if self.expected_records is None else f" of {self.expected_records}"
        verdict = "good" if self.ok else _count(self.lost_regions, "lost region")
        return f"<RecoverReport, {verdict}: saved {self.records}{known} records in {self.blocks} blocks>"


@dataclasses.dataclass(frozen=True)
class IndexReport:
    """Result of `index`: the path of the index, the file as a shard, and whether an existing index was kept."""

    index: str
    shard: ShardInfo
    kept: bool


@dataclasses.dataclass(frozen=True)
class ExportReport:
    """Result of `export_tfrecords`. `raw_bytes` are those of records, `stored_bytes` those of files.

    With `on_error="skip"`, `skipped` counts what was left out, and `first_skipped` holds the first errors.
    """

    records: int
    raw_bytes: int
    stored_bytes: int
    files: tuple[str, ...]
    skipped: int
    first_skipped: tuple[DovetailError, ...]


@dataclasses.dataclass(frozen=True)
class BatchMixing:
    """What batches hold, on average and in the poorest batch.

    A slice is a sixteenth of the dataset. `neighbours` is the share of records whose next record is in the same batch,
    `shared` that of the pairs in a batch that share one in the other epoch too; None if it was not measured.
    """

    mean_slices: float
    least_slices: int
    mean_shards: float
    least_shards: int
    neighbours: float
    shared: float | None


@dataclasses.dataclass(frozen=True)
class Mixing:
    """Mixing of an epoch: of batches of single ranks, and of those of all ranks in a step together.

    `correlation` is that of the steps of records in this epoch and the other one; None if it was not measured.
    """

    rank: BatchMixing
    all_ranks: BatchMixing
    correlation: float | None


@dataclasses.dataclass(frozen=True, repr=False)
class ShuffleReport:
    """Result of `Plan.shuffle_report()`: the mixing of the plan beside that of a true shuffle. Printed, it is a table.

    `batches` of `all_batches` were measured, on this number of `readers`. `flaws` are words of docs/mixing.md.
    """

    plan: Mixing
    true_shuffle: Mixing
    batches: int
    all_batches: int
    readers: int
    flaws: tuple[str, ...]

    @property
    def weak(self) -> bool:
        """Whether the plan mixes worse than a true shuffle, in a way that may matter."""
        return bool(self.flaws)

    def _rows(self) -> list[tuple[str, str, str]]:
        def shown(number: float | int | None) -> str:
            return "not measured" if number is None else f"{number:.4g}"

        rows = []
        for of in ("rank", "all_ranks"):
            ours, shuffled = getattr(self.plan, of), getattr(self.true_shuffle, of)
            rows += [(f"{of}.{field.name}", shown(getattr(ours, field.name)), shown(getattr(shuffled, field.name)))
                     for field in dataclasses.fields(BatchMixing)]
        return [*rows, ("correlation", shown(self.plan.correlation), shown(self.true_shuffle.correlation))]

    def _verdict(self) -> str:
        verdict = f"weak: {', '.join(self.flaws)}" if self.weak else "the mixing is not weak"
        if self.batches == 0:
            verdict = "too large to measure"
        return f"ShuffleReport, {self.batches} of {self.all_batches} batches, {verdict}"

    def __repr__(self) -> str:
        rows = [("", "plan", "true shuffle"), *self._rows()]
        return "\n".join([f"<{self._verdict()}>", *(f"{name:24}{ours:>14}{shuffled:>14}".rstrip()
                                                   for name, ours, shuffled in rows)])

    def _repr_html_(self) -> str:
        return _html.table(self._verdict(), self._rows(), ("", "plan", "true shuffle"))


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


@dataclasses.dataclass(frozen=True, repr=False)
class ConvertReport:
    """Result of `convert` or `merge`. Bytes of records are before compression. `merge` has no `sources`.

    An earlier call had finished `kept_shards` of the `shards`. With `on_error="skip"`, `skipped` counts what was left
    out, and `first_skipped` holds the first errors. `datasets` is empty for a part. `notes` name what is probably not
    meant, such as a pattern that matches nothing; printed, the report shows them. `schema` is that of the dataset, None
    if it has none, and from `merge`.
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
    notes: tuple[str, ...]
    schema: str | None

    def __repr__(self) -> str:
        kept = f", {self.kept_shards} of them kept" if self.kept_shards else ""
        skipped = f"; {self.skipped} skipped" if self.skipped else ""
        summary = f"<ConvertReport: {_count(self.records, 'record')} in {_count(self.shards, 'shard')}{kept}{skipped}>"
        return "\n".join([summary, *(f"note: {note}" for note in self.notes)])


@dataclasses.dataclass(frozen=True, repr=False)
class DatasetDescription:
    """Description of a dataset, without its records. Printed, it is a list.

    `dovetail inspect` shows the same, and more of records.

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

    def _rows(self) -> list[tuple[str, str]]:
        rows = [(field.name, getattr(self, field.name)) for field in dataclasses.fields(self)]
        return [(name, str(len(value) if name == "shards" else value)) for name, value in rows if value not in ("", {})]

    def __repr__(self) -> str:
        return "\n".join(["<DatasetDescription>", *(f"{name:18}{value}" for name, value in self._rows())])

    def _repr_html_(self) -> str:
        return _html.table("DatasetDescription", self._rows())
