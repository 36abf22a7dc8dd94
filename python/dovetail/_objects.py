# SPDX-License-Identifier: Apache-2.0
"""Batches with Python objects: `Reader(map=..., outputs="objects")`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from dovetail._map import Record

_COLUMN = "object"


class KeptObjects:
    """A function of a record, or of a list of them, that keeps its results, and gives their numbers as a column.

    Threads of the reader call it. The operations that they share are atomic under the interpreter lock. The reader
    takes the results of a batch out of `kept`, and clears it when it moves."""

    columns = f"{_COLUMN}:i64"

    def __init__(self, function: Callable[[Any], Any]) -> None:
        if not callable(function):
            raise TypeError(f"map must be a function, not {type(function).__name__}")
        self._function = function
        self.kept: dict[int, Any] = {}
        self._numbers = itertools.count(1)  # 0 is in rows without a record

    def _keep(self, result: object) -> int:
        number = next(self._numbers)
        self.kept[number] = result
        return number

    def __call__(self, given: Record | list[Record]) -> dict[str, Any]:
        results = self._function(given)
        if not isinstance(given, list):
            return {_COLUMN: self._keep(results)}
        if isinstance(results, (dict, set, frozenset, str, bytes, bytearray, memoryview)):
            raise TypeError(f"map_batch must return a list of objects, not {type(results).__name__}")
        if not hasattr(results, "__len__"):
            results = list(itertools.islice(results, len(given) + 1))  # it may have no end
        if len(results) != len(given):
            raise ValueError(f"map_batch returned {len(results)} objects for {len(given)} records")
        return {_COLUMN: [self._keep(result) for result in results]}
