# SPDX-License-Identifier: Apache-2.0
"""Errors as exceptions. Each carries the file and the byte offset, if they are known."""

from __future__ import annotations

import enum
import errno
import os
from typing import Any

__all__ = ["BusyError", "CancelledError", "ClosedError", "DamagedError", "DeviceError", "DovetailError", "ErrorCode",
           "MissingFileError", "SlotsHeldError", "StateMismatchError", "StorageError", "UsageError"]


class ErrorCode(enum.IntEnum):
    """What went wrong, if the operating system has no code of its own for it. Values are never renumbered."""

    not_dovetail = 1
    unsupported_version = 2
    unfinished = 3
    truncated = 4
    header_checksum = 5
    payload_checksum = 6
    misplaced_block = 7
    bad_length = 8
    decompression = 9
    bad_message = 10
    index_mismatch = 11
    manifest_mismatch = 12
    tfrecord_checksum = 13
    file_changed = 14
    bad_state = 15
    malformed_input = 16
    sidecar_mismatch = 17
    missing_shard = 18
    misplaced_shard = 19
    invalid_option = 30
    empty_input = 31
    no_steps = 32
    record_too_large = 33
    not_indexed = 34
    unknown_format = 35
    already_exists = 36
    outside_dataset = 37
    batch_too_large = 38
    budget_too_small = 39
    resource_limit = 40
    state_mismatch = 41
    too_many_changes = 42
    several_datasets = 43
    foreign_file = 44
    rejected_record = 45
    closed = 60
    busy = 61
    slots_held = 62
    not_yet = 63
    registration_failed = 80
    device_failed = 81
    stream_captured = 82


class DovetailError(Exception):
    """Base class of all errors of this package.

    Attributes:
        code: an `ErrorCode`, or None if the operating system has the code (see `errno` of a `StorageError`).
        detail: description, without file and offset. `str()` returns everything in one line.
        path: the file, or None if no file is involved.
        offset: the byte offset in the file, or None.
    """

    def __init__(self, message: str, *, code: ErrorCode | None = None, detail: str = "", path: str | None = None,
                 offset: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.detail = detail
        self.path = path
        self.offset = offset

    def __str__(self) -> str:
        return self.message


class DamagedError(DovetailError):
    """Data that is cut, altered or contradicts itself."""


class UsageError(DovetailError, ValueError):
    """The request cannot be fulfilled as given; the message says what to change."""


class StateMismatchError(UsageError):
    """A state of another dataset or order; the message names what differs."""


class ClosedError(DovetailError, RuntimeError):
    """The object was closed, released or finished, or belongs to the process that this one was forked from."""


class BusyError(DovetailError, RuntimeError):
    """Another call, thread or process is working on it, or it is still in use. Try again later."""


class SlotsHeldError(DovetailError, RuntimeError):
    """`max_held` batches are still alive.

    Drop or release one (arrays and tensors keep theirs alive), copy what must stay, or raise `max_held`."""


class DeviceError(DovetailError, RuntimeError):
    """Memory could not be registered, or a CUDA device cannot be used."""


class CancelledError(DovetailError):
    """The reader was closed, or the work cancelled, while a call waited for it."""


class StorageError(DovetailError, OSError):
    """The operating system refused: unreadable, full. `errno` and `filename` are as in any `OSError`."""

    def __init__(self, message: str, *, code: ErrorCode | None = None, detail: str = "", path: str | None = None,
                 offset: int | None = None, errno: int | None = None) -> None:
        DovetailError.__init__(self, message, code=code, detail=detail, path=path, offset=offset)
        known: Any = errno  # typeshed had it as a number always, as OSError itself does not
        self.errno = known
        self.strerror = os.strerror(errno) if errno is not None else message
        self.filename = path

    def __reduce__(self) -> tuple[Any, ...]:
        kept = {"errno": self.errno, "strerror": self.strerror, "filename": self.filename}
        return type(self), (self.message,), {**vars(self), **kept}


class MissingFileError(StorageError, FileNotFoundError):
    """The file or folder does not exist."""


_BY_CODE: dict[int | None, type[DovetailError]] = {
    ErrorCode.state_mismatch: StateMismatchError,
    ErrorCode.too_many_changes: StateMismatchError,
    ErrorCode.closed: ClosedError,
    ErrorCode.busy: BusyError,
    ErrorCode.slots_held: SlotsHeldError,
    ErrorCode.registration_failed: DeviceError,
    ErrorCode.device_failed: DeviceError,
    ErrorCode.stream_captured: DeviceError,
}
BY_KIND: tuple[type[DovetailError], ...] = (DamagedError, UsageError, StorageError, CancelledError)


def of_library(kind: int, code: int | None, number: int | None, message: str, detail: str, path: str | None,
               offset: int | None) -> DovetailError:
    """Makes the exception of an error of the library, which has a code of its own or a number of the system."""
    made = _BY_CODE.get(code, BY_KIND[kind])
    known: dict[str, Any] = {"code": None if code is None else ErrorCode(code), "detail": detail, "path": path,
                             "offset": offset}
    if made is StorageError:
        known["errno"] = number
        if number == errno.ENOENT:
            made = MissingFileError
    return made(message, **known)


def usage_error(detail: str) -> UsageError:
    """Makes an error that other arguments would avoid."""
    return UsageError(f"invalid option: {detail}", code=ErrorCode.invalid_option, detail=detail)
