// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "reader/storage/storage.h"

namespace dovetail::detail {

/// Reads through io_uring past the page cache, what a file system does not offer so on a pool of threads. One thread owns the ring and runs the completions.
///
/// Errors: `resource_limit` where a ring cannot be had: built without io_uring, an old kernel, a sandbox, a limit.
Result<std::unique_ptr<Storage>> make_uring_storage(const StorageOptions& options);

}  // namespace dovetail::detail
