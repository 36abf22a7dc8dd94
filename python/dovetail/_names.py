# SPDX-License-Identifier: Apache-2.0
"""Names of options: which there are, and what options of other libraries are called here."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, TypeVar, cast

_Call = TypeVar("_Call", bound=Callable[..., Any])

_HERE = {
    "batch_size": "batch",
    "shuffle": 'order, "shuffle" by default, "sequential" or "global"',
    "drop_last": 'tail, "drop" by default, or "pad" or "wrap"',
    "num_workers": "decode_threads, of threads of the library, which read ahead in the same process",
    "prefetch_factor": "prefetch",
    "pin_memory": 'registration, "preferred" by default',
    "num_replicas": "world",
    "num_shards": "world",
    "shard_id": "rank",
    "collate_fn": "collate",
    "schema": "columns",
}
"""What PyTorch and others have; the text begins with the option of this package that it is."""


def names_options(*others: Callable[..., Any]) -> Callable[[_Call], _Call]:
    """Decorates what takes options by name, also those that it hands on to others: a wrong name is told with the right
    ones, a name of PyTorch's with the one it has here.

    Raises:
        TypeError: from the decorated call.
    """

    def decorate(call: _Call) -> _Call:
        takers: list[Callable[..., Any]] = [call, *others]
        parameters = [each for taker in takers for each in inspect.signature(taker).parameters.values()]
        names = list(dict.fromkeys(each.name for each in parameters if each.kind is not each.VAR_KEYWORD))
        options = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]

        @functools.wraps(call)
        def checked(*given: Any, **named: Any) -> Any:
            for name in named:
                if name not in names:
                    here = _HERE.get(name, "")
                    if here.split(",")[0] in options:
                        raise TypeError(f"there is no option {name!r}: here it is {here}")
                    listed = ", ".join(dict.fromkeys(options))
                    raise TypeError(f"there is no option {name!r}; there are: {listed}")
            return call(*given, **named)

        return cast(_Call, checked)

    return decorate
