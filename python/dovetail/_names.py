# SPDX-License-Identifier: Apache-2.0
"""Messages for options and copies that do not exist, with what to use instead."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, NoReturn, Sequence, TypeVar, cast

_Call = TypeVar("_Call", bound=Callable[..., Any])

_PART = "part, as (rank, world), and `merge` when all parts are there"
_HERE = {
    "batch_size": ["batch"],
    "shuffle": ['order, "shuffle" by default, "sequential" or "global"',
                "shuffle_seed, a number, by which all records are shuffled"],
    "sampler": ['order, "shuffle" by default; rank and world in place of a DistributedSampler'],
    "batch_sampler": ["batch, and order"],
    "generator": ["seed, a number"],
    "seed": ["shuffle_seed, or split_seed with split"],
    "drop_last": ['tail, "drop" by default, or "pad" or "wrap"'],
    "num_workers": ["decode_threads, of threads of the library, which read ahead in the same process",
                    "jobs, of threads of the library", "encode_threads, of threads that compress"],
    "prefetch_factor": ["prefetch"],
    "pin_memory": ['registration, "preferred" by default'],
    "num_replicas": ["world"],
    "world_size": ["world", _PART],
    "rank": [_PART],
    "world": [_PART],
    "local_world_size": ["local_world"],
    "num_shards": ["world", "shards"],
    "shard_id": ["rank"],
    "collate_fn": ["collate"],
    "transform": ["map, a function of a record, or map_batch, and columns, which it fills"],
    "map_fn": ["map"],
    "schema": ["columns"],
    "columns": ["schema"],
    "compression": ['codec, "snappy" by default, or "none" or "zstd"'],
    "size_limit": ["shard_bytes"],
    "buffer_size": ["pool, of records in the shuffle pool of a lane"],
    "timeout": ['hung_after, in seconds, for a read that hangs, and on_hung_read="fail" to give it up'],
    "memory": ["memory_bytes"],
    "meta": ["metadata"],
}
"""Option names of PyTorch, other packers and the command. Values: the options here, each with words after a comma."""

_NO_WORKERS = "there are no worker processes: threads of the library do the work in this process"
_ELSEWHERE = {
    "batch_size": "give batch to dovetail.Reader, the rows of a batch",
    "collate_fn": "a Reader returns plain batches; use collate of dovetail.torch.BatchDataset",
    "persistent_workers": _NO_WORKERS,
    "worker_init_fn": _NO_WORKERS,
}
"""Names without an option in this call, because another call has it or it is not needed."""

# Where processes are not forked, worker processes of a DataLoader get a copy.
_LOADER = "; for a DataLoader use dovetail.torch.BatchDataset, in DataLoader(dataset, batch_size=None, num_workers=0)"
_IN_PLACE_OF_A_COPY = {
    "Dataset": "open it again by its path" + _LOADER,
    "Records": "open them again by the path of their dataset",
    "Reader": "open another one, with state=reader.state_dict() to go on at the same place" + _LOADER,
    "Plan": "make it again, as dovetail.Plan(dataset, **plan.options)",
    "Batch": "copy its arrays, as batch.copy() does",
    "Tensor": "copy an array made from it",
    "ShardInfo": "copy the fields that you need, such as name and records",
    "EpochPlan": "copy the fields that you need, such as steps and digest",
}


def no_option(name: str, options: Sequence[str]) -> str:
    """Says that the option does not exist, and which one is meant."""
    for here in _HERE.get(name, []):
        if here.split(",")[0] in options:
            return f"there is no option {name!r}: here it is {here}"
    if name in _ELSEWHERE:
        return f"there is no option {name!r}: {_ELSEWHERE[name]}"
    import difflib  # the import of dovetail is light

    for meant in difflib.get_close_matches(name, options, n=1):
        return f"there is no option {name!r}; did you mean {meant!r}?"
    return f"there is no option {name!r}; there are: {', '.join(options) or 'none'}"


def refuse_copies(cls: type) -> None:
    """Makes pickling and copying raise a TypeError with advice.

    Without this, `copyreg` would make an object of the base class of all pybind11 classes, which ends the process."""
    instead = _IN_PLACE_OF_A_COPY.get(cls.__name__)
    why = f"dovetail.{cls.__name__} cannot be pickled or copied" + (f": {instead}" if instead else "")

    def __reduce__(self: object) -> NoReturn:
        raise TypeError(why)

    setattr(cls, "__reduce__", __reduce__)  # for every protocol, and for derived classes that have no other


def names_options(*others: Callable[..., Any]) -> Callable[[_Call], _Call]:
    """Decorates a method that takes options by name, also options that it passes on to `others`.

    A wrong name raises an error with the right names. A name of PyTorch raises one with the name here.

    Raises:
        TypeError: from the decorated call.
    """

    def decorate(call: _Call) -> _Call:
        takers: list[Callable[..., Any]] = [call, *others]
        parameters = [each for taker in takers for each in inspect.signature(taker).parameters.values()]
        names = list(dict.fromkeys(each.name for each in parameters if each.kind is not each.VAR_KEYWORD))
        options = list(dict.fromkeys(each.name for each in parameters if each.kind is each.KEYWORD_ONLY))

        @functools.wraps(call)
        def checked(*given: Any, **named: Any) -> Any:
            for name in named:
                if name not in names:
                    raise TypeError(no_option(name, options))
            return call(*given, **named)

        return cast(_Call, checked)

    return decorate
