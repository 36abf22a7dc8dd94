// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <dovetail/export.h>

namespace dovetail {

/// How the bytes of shards are read. All kinds deliver the same bytes and the same errors; they
/// differ in speed only.
enum class StorageKind : std::uint8_t {
  /// Fast on a warm page cache and works everywhere: `pread`.
  automatic,
  /// A pool of threads, with one `pread` in flight on each, through the page cache.
  pread,
  /// One thread that keeps many reads in flight past the page cache, with io_uring.
  /// Use it for data much larger than memory on fast devices. There caching costs processor time
  /// and evicts what other processes need. Every epoch reads from the device again.
  /// Files whose file system does not support it are read through the page cache and counted. An
  /// error if the kernel or a sandbox forbids io_uring.
  io_uring_direct,
};

/// Name of the enumerator, as the command takes it.
DOVETAIL_EXPORT std::string_view to_string(StorageKind kind) noexcept;

}  // namespace dovetail
