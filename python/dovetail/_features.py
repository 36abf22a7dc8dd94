# SPDX-License-Identifier: Apache-2.0
"""Statistics of the features of a dataset's records."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Union

from dovetail import _html

if TYPE_CHECKING:
    from dovetail._dovetail import Dataset
    from dovetail._errors import DovetailError

_SHOWN_FEATURES = 100
_SHOWN_TOP = 3
_HEADING = ("feature", "kind", "records", "values", "least", "mean", "most", "distinct", "most frequent")


def _share(part: int, whole: int) -> str:
    """In per cent; 100 only for all, and 0 only for none."""
    return f"{100 if part else 0} %" if part in (0, whole) else f"{min(max(100 * part / whole, 0.1), 99.9):.1f} %"


@dataclasses.dataclass(frozen=True)
class Histogram:
    """How values are spread: `counts` of bars of equal width from `low` to `high`.

    There are up to 16 bars, and none without finite values. Of whole numbers `high` is one past the largest.
    `estimated` is True if the counts come from a sample.
    """

    low: float
    high: float
    counts: tuple[int, ...]
    estimated: bool


@dataclasses.dataclass(frozen=True)
class FeatureStats:
    """Statistics of all lists that have one name and one kind: "bytes", "float", "int64", or "none" without a list.

    - `records` counts the records that have it, `empty_lists` those of them whose list has no values.
    - `least_values` to `most_values` are the lengths of the other lists, `values` is their sum.
    - `least`, `mean` and `most` are those of the numbers, or of the lengths of bytes; None without finite values.
    - `distinct` is exact if `distinct_error` is 0. Otherwise it is an estimate with that relative standard error.
    - `top` has up to 10 of the values that occur more than once, with their counts, the most frequent first; of bytes
      only those of up to 48 bytes. `top_estimated` is True if the counts are estimates from a sample.
    """

    name: str
    kind: str
    records: int
    empty_lists: int
    values: int
    least_values: int
    mean_values: float
    most_values: int
    least: int | float | None
    mean: float | None
    most: int | float | None
    nans: int
    infinities: int
    distinct: int
    distinct_error: float
    top: tuple[tuple[Union[bytes, int, float], int], ...]
    top_estimated: bool
    histogram: Histogram

    @property
    def fixed(self) -> bool:
        """Whether all lists that have values have the same number of them."""
        return self.least_values == self.most_values

    def _cells(self, records: int) -> tuple[str, ...]:
        lengths = str(self.most_values) if self.fixed else f"{self.least_values} - {self.most_values}"
        numbers = tuple("" if number is None else f"{number:.6g}" if isinstance(number, float) else str(number)
                        for number in (self.least, self.mean, self.most))
        top = ", ".join(f"{value!r} ({_share(count, self.values)})" for value, count in self.top[:_SHOWN_TOP])
        top = f"about: {top}" if self.top_estimated and top else top
        for count, what in ((self.empty_lists, "empty lists"), (self.nans, "NaN"), (self.infinities, "infinite")):
            top += f"; {count} {what}" if count else ""
        top = top.removeprefix("; ")
        distinct = ("~" if self.distinct_error else "") + str(self.distinct)
        return (repr(self.name)[1:-1], self.kind, _share(self.records - self.empty_lists, records), lengths, *numbers,
                distinct, top)


@dataclasses.dataclass(frozen=True, repr=False)
class FeaturesReport:
    """Result of `Dataset.features()`. Printed, it is a table.

    - `records` were read; `examples` of them are tf.train.Examples with a feature, `json_objects` JSON objects, whose
      members are features. `first_other` is why the first of the others is neither.
    - `damaged_blocks` with `lost_records` were left out; `first_damage` is the error of the first one.
    - `features` are by name and kind; `report["label"]` is one of them. `names_left_out` counts further names: beyond
      10,000, and long ones that do not fit the memory.
    - `columns` is a schema for `Reader(columns=...)` that reads every record that was read here; None if there is none.
      `without_column` has the names without a column: their kind changes, or no record has a value.
    """

    records: int
    examples: int
    json_objects: int
    first_other: DovetailError | None
    damaged_blocks: int
    lost_records: int
    first_damage: DovetailError | None
    names_left_out: int
    columns: str | None
    without_column: tuple[str, ...]
    features: tuple[FeatureStats, ...]

    def __getitem__(self, name: str) -> FeatureStats:
        """The feature of that name; of several kinds the most frequent one. Errors: KeyError."""
        found = [feature for feature in self.features if feature.name == name]
        if not found:
            raise KeyError(name)
        return max(found, key=lambda feature: feature.records)

    def _title(self) -> str:
        damage = f", {self.lost_records} more in {self.damaged_blocks} damaged blocks" if self.damaged_blocks else ""
        return f"FeaturesReport, {self.records} records{damage}, {len(self.features)} features"

    def _rows(self) -> list[tuple[str, ...]]:
        return [feature._cells(self.records) for feature in self.features[:_SHOWN_FEATURES]]

    def _repr_html_(self) -> str:
        rows = self._rows()
        if len(self.features) > _SHOWN_FEATURES:
            rows.append((f"{len(self.features) - _SHOWN_FEATURES} more",))
        return _html.table(self._title(), rows, _HEADING)

    def __repr__(self) -> str:
        rows = [_HEADING, *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADING))]
        lines = ["  ".join(cell.ljust(width) if i in (0, 8) else cell.rjust(width)
                           for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
        more = len(self.features) - _SHOWN_FEATURES
        return "\n".join([f"<{self._title()}>", *lines,
                          *([f"... and {more} more"] if more > 0 else [])])


def without_schema(dataset: Dataset) -> str:
    """What is wrong with a dataset that names no schema, and what mends it."""
    report = dataset.features(max_records=1)
    if report.json_objects:
        return ("the records are JSON, which has no columns; convert the JSON lines again with --records example, or "
                "`dovetail cat OLD | dovetail convert - --records example --to NEW`")
    if report.records and not report.examples:
        return ("the records are no tf.train.Examples, which columns need; give map= and its columns, or convert lines "
                "of text again with --records example, for the column text")
    return ("the dataset names no schema, or not the same in all shards; give one: `dovetail inspect PATH --features` "
            "prints it, and `dovetail convert --schema infer` stores it")
