# SPDX-License-Identifier: Apache-2.0
"""What the function of `Reader(map=...)` or `map_batch` gets, and how its results become rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_DTYPES = {"u8": "uint8", "i8": "int8", "u16": "uint16", "i16": "int16", "u32": "uint32", "i32": "int32",
           "u64": "uint64", "i64": "int64", "f16": "float16", "f32": "float32", "f64": "float64"}


class Record(bytes):
    """The bytes of a record, as `Reader(map=...)` and `map_batch` give them to their function.

    Attributes:
        id: the number of the record in the dataset.
        epoch: the epoch of its row.
        seed: the seed of the plan.
    """

    id: int
    epoch: int
    seed: int

    def rng(self) -> np.random.Generator:
        """Returns a generator for random changes: the same for (seed, epoch, id), in every world and after a resume."""
        import numpy as np

        return np.random.default_rng((self.seed, self.epoch, self.id))


def fit(value: object, name: str, dtype: str, shape: tuple[int, ...], ragged: bool) -> npt.NDArray[np.generic]:
    """Returns a value as the row of a column, in memory in one piece. Integers become any dtype, floats other floats.

    Raises:
        TypeError, ValueError: for another kind of numbers, another shape, or a number out of range.
    """
    import numpy as np

    given = np.frombuffer(value, np.uint8) if isinstance(value, bytes) and dtype == "u8" else np.asarray(value)
    to = np.dtype(_DTYPES[dtype])
    if ragged and given.shape == (0,):  # of a list without items, which says nothing about these
        return np.zeros((0, *shape), to)
    rows = given.shape[1:] if ragged and given.ndim else given.shape
    if rows != tuple(shape) or (ragged and given.ndim == 0):
        wanted = ["*", *map(str, shape)] if ragged else list(map(str, shape))
        raise ValueError(f'column "{name}" has rows of shape [{", ".join(wanted)}], not {list(given.shape)}')
    integers = given.dtype.kind in "biu"
    if not integers and not (given.dtype.kind == "f" and to.kind == "f"):
        kind = type(value).__name__ if given.dtype.kind == "O" else given.dtype
        raise TypeError(f'column "{name}" has rows of {dtype}, not {kind}')
    if integers and to.kind in "iu" and given.size:
        least, most = int(given.min()), int(given.max())
        limits = np.iinfo(to)
        if least < limits.min or most > limits.max:
            raise ValueError(f'column "{name}": {least if least < limits.min else most} is out of range for {dtype}')
    with np.errstate(over="ignore"):
        row = np.ascontiguousarray(given, to).reshape(given.shape)
    if to.kind == "f" and not np.can_cast(given.dtype, to) and not np.isinf(given[np.isinf(row)]).all():
        raise ValueError(f'column "{name}": a number is out of range for {dtype}')
    return row
