# SPDX-License-Identifier: Apache-2.0
"""Columns whose rows differ in length. All arrays are views of the batch, without a copy."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Iterator, SupportsIndex, overload

if TYPE_CHECKING:
    import numpy.typing as npt


def _place(i: SupportsIndex, rows: int) -> int:
    place = operator.index(i)
    if not -rows <= place < rows:
        raise IndexError(f"row {place} of {rows}")
    return place % rows


class Ragged:
    """A column whose rows have a first dimension of their own.

    Attributes:
        values: the items of all rows, row after row: [items, shape...] of the column's dtype.
        offsets: int64 [rows + 1]; row i is `values[offsets[i]:offsets[i + 1]]`.
    """

    __slots__ = ("offsets", "values")

    def __init__(self, values: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> None:
        self.values = values
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        shape = list(self.values.shape[1:])
        return f"<{type(self).__name__} of {len(self)} rows: {len(self.values)} items of {self.values.dtype}{shape}>"

    @overload
    def __getitem__(self, i: SupportsIndex) -> npt.NDArray[Any]: ...
    @overload
    def __getitem__(self, i: slice) -> list[npt.NDArray[Any]]: ...

    def __getitem__(self, i: SupportsIndex | slice) -> npt.NDArray[Any] | list[npt.NDArray[Any]]:
        """Returns row i as an array of its own length; for a slice, a list of rows."""
        if isinstance(i, slice):
            return [self[row] for row in range(*i.indices(len(self)))]
        row = _place(i, len(self))
        return self.values[self.offsets[row]:self.offsets[row + 1]]


class Texts:
    """A column of texts: byte strings, each of its own length.

    `numpy.asarray(texts)` is an array of objects, `bytes` or lists of them, and keeps every byte.

    Attributes:
        characters: uint8 [characters], the characters of all texts.
        text_offsets: int64 [texts + 1]; text t is `characters[text_offsets[t]:text_offsets[t + 1]]`.
        shape: the shape of a row, () for a single text; in a ragged column the shape of an item.
        offsets: int64 [rows + 1], begin and end of the items of each row; None unless the column is ragged.
    """

    __slots__ = ("characters", "text_offsets", "offsets", "shape", "_rows")

    def __init__(self, characters: npt.NDArray[Any], text_offsets: npt.NDArray[Any], rows: int, shape: tuple[int, ...],
                 offsets: npt.NDArray[Any] | None) -> None:
        self.characters = characters
        self.text_offsets = text_offsets
        self.shape = shape
        self.offsets = offsets
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[bytes | list[bytes]]:
        return (self[i] for i in range(self._rows))

    def __repr__(self) -> str:
        return f"<Texts of {self._rows} rows: {len(self.text_offsets) - 1} texts, {len(self.characters)} bytes>"

    def text(self, t: int) -> bytes:
        """Returns text t, numbered over all rows, as bytes."""
        texts = len(self.text_offsets) - 1
        if not -texts <= t < texts:
            raise IndexError(f"text {t} of {texts}")
        t %= texts
        return self.characters[self.text_offsets[t]:self.text_offsets[t + 1]].tobytes()

    @overload
    def __getitem__(self, i: SupportsIndex) -> bytes | list[bytes]: ...
    @overload
    def __getitem__(self, i: slice) -> list[bytes | list[bytes]]: ...

    def __getitem__(self, i: SupportsIndex | slice) -> bytes | list[bytes] | list[bytes | list[bytes]]:
        """Returns row i: bytes for a single text, else a list of its texts, in C order if they have a shape.

        A slice returns a list of rows."""
        if isinstance(i, slice):
            return [self[row] for row in range(*i.indices(self._rows))]
        row = _place(i, self._rows)
        width = math.prod(self.shape)
        if self.offsets is None:
            if self.shape == ():
                return self.text(row)
            return [self.text(t) for t in range(row * width, (row + 1) * width)]
        return [self.text(t) for t in range(int(self.offsets[row]) * width, int(self.offsets[row + 1]) * width)]

    def to_list(self) -> list[bytes | list[bytes]]:
        """Returns all rows."""
        return list(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Returns the rows as objects: NumPy's own type for bytes would drop zeros at their ends."""
        import numpy as np

        if copy is False:
            raise ValueError("texts cannot become an array without a copy; characters and text_offsets are views")
        array = np.empty(len(self), object)
        array[:] = self.to_list()
        return array if dtype is None else array.astype(dtype)
