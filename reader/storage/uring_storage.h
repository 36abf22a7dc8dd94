// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "reader/storage/storage.h"

namespace dovetail::detail {

/// Reads through io_uring past the page cache. Reads that a file system does not support so are
/// made by a pool of threads. One thread owns the ring and runs the completions.
///
/// Errors: `resource_limit` if a ring is unavailable: built without io_uring, an old kernel, a
///         sandbox, a limit.
Result<std::unique_ptr<Storage>> make_uring_storage(const StorageOptions& options);

}  // namespace dovetail::detail
