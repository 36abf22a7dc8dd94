// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <dovetail/columns.h>
#include <dovetail/error.h>
#include <dovetail/schema.h>

namespace dovetail::detail {

/// The decoders of a reader, one for each slot that is being filled. They are reused together with
/// their memory.
///
/// Threads: any.
class ColumnDecoders {
 public:
  /// Errors: those of `ColumnDecoder::make`.
  static Result<std::unique_ptr<ColumnDecoders>> make(const Schema& schema);

  const std::shared_ptr<const Schema>& schema() const noexcept { return schema_; }
  /// The most memory that a decoder may hold beside the slab if batches must not spill. Decoders
  /// that hold more than twice as much are not kept.
  std::uint64_t held_limit() const noexcept { return held_limit_; }
  void limit_held(std::uint64_t bytes) noexcept { held_limit_ = bytes; }
  /// A decoder to query the memory that columns need.
  const ColumnDecoder& sizes() const noexcept { return *first_; }

  /// Errors: `std::bad_alloc`.
  std::unique_ptr<ColumnDecoder> take();
  /// Needs no memory, as destructors call it.
  void give_back(std::unique_ptr<ColumnDecoder> decoder) noexcept;

 private:
  static constexpr std::size_t kMostKept = 128;  // as many as there may be slots

  explicit ColumnDecoders(ColumnDecoder first);

  const std::unique_ptr<const ColumnDecoder> first_;  // other decoders are copies of this one
  const std::shared_ptr<const Schema> schema_;
  std::uint64_t held_limit_ = UINT64_MAX;  // set before threads start
  std::mutex mutex_;
  std::vector<std::unique_ptr<ColumnDecoder>> free_;  // never grows beyond what is reserved
};

}  // namespace dovetail::detail
