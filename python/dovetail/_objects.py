# SPDX-License-Identifier: Apache-2.0
"""Batches with Python objects: `Reader(map=..., outputs="objects")`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from dovetail._dovetail import Batch
    from dovetail._map import Record

_COLUMN = "object"


class KeptObjects:
    """A function of a record, or of a list of them, that keeps its results, and gives their numbers as a column.

    Threads of the reader call it. The operations that they share are atomic under the interpreter lock."""

    columns = f"{_COLUMN}:i64"

    def __init__(self, function: Callable[[Any], Any]) -> None:
        if not callable(function):
            raise TypeError(f"map must be a function, not {type(function).__name__}")
        self._function = function
        self._kept: dict[int, Any] = {}
        self._numbers = itertools.count(1)  # 0 is in rows without a record

    def _keep(self, result: object) -> int:
        number = next(self._numbers)
        self._kept[number] = result
        return number

    def __call__(self, given: Record | list[Record]) -> dict[str, Any]:
        results = self._function(given)
        if not isinstance(given, list):
            return {_COLUMN: self._keep(results)}
        if len(results) != len(given):
            raise ValueError(f"map_batch returned {len(results)} objects for {len(given)} records")
        return {_COLUMN: [self._keep(result) for result in results]}

    def give(self, batch: Batch) -> Batch:
        """Gives a batch its objects, and returns it."""
        numbers = batch[_COLUMN].tolist()
        batch._set_objects([self._kept[number] if number else None for number in numbers])
        for number in numbers:
            self._kept.pop(number, None)  # a substituted row has that of another
        return batch

    def forget(self) -> None:
        """Drops what no batch will deliver. Called when the reader moves, while none of its threads runs."""
        self._kept.clear()
