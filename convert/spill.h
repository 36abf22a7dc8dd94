// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "writer/descriptor.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

/// The facts of a spilled record. Records are ordered by its fields, in this order.
struct SpilledHead {
  std::uint64_t key = 0;
  std::uint32_t source = 0;
  std::uint64_t place = 0;
  std::uint64_t ordinal = 0;
  std::uint32_t output = 0;  ///< The dataset that it goes to.

  friend auto operator<=>(const SpilledHead&, const SpilledHead&) = default;
};

/// Spills records to buckets in one unnamed file, which is removed with the process.
///
/// A bucket is a chain of chunks, each with the offset of the one before it, so that memory does
/// not grow with the data.
///
/// Threads: `add` from any, and `read` from any once `flush` was called.
/// Errors:  the system's; EIO if the file does not return the bytes written.
/// Cost:    one buffer per bucket, `buffer_bytes` in total; each record is written once.
class Spill {
 public:
  /// Errors: also `budget_too_small` if the buffers would be too small.
  static Result<std::unique_ptr<Spill>> create(const OutputFolder& folder, std::size_t buckets,
                                               std::uint64_t buffer_bytes);
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  Result<void> add(std::size_t bucket, const SpilledHead& head, ByteView record);
  Result<void> flush();

  std::uint64_t records(std::size_t bucket) const noexcept { return buckets_[bucket].records; }
  /// Bytes of its records.
  std::uint64_t bytes(std::size_t bucket) const noexcept { return buckets_[bucket].bytes; }
  /// Calls `take` with every record of a bucket, in unspecified order, until it returns false.
  Result<void> read(std::size_t bucket,
                    const std::function<bool(const SpilledHead& head, ByteView record)>& take) const;

  /// Overhead of a record.
  static constexpr std::size_t kHeadBytes = 40;

 private:
  struct Bucket {
    std::mutex mutex;
    std::vector<std::byte> buffer;  // a chunk's header, and its records so far
    std::uint64_t last_chunk = kNoChunk;
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
  };
  static constexpr std::uint64_t kNoChunk = ~std::uint64_t{0};

  Spill(Descriptor file, std::string path, std::size_t buckets, std::size_t chunk_bytes);
  Result<void> write_chunk(Bucket& bucket, ByteView rest);
  Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const;

  Descriptor file_;
  std::string path_;
  std::vector<Bucket> buckets_;
  std::size_t chunk_bytes_;
  std::mutex end_mutex_;
  std::uint64_t end_ = 0;
};

}  // namespace dovetail::detail
