// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <dovetail/bytes.h>
#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

namespace dovetail::inspect {

/// Reads single records of a dataset, in any order.
///
/// Cost: a descriptor, and memory for one block and one index, for up to 64 shards.
class RecordPicker {
 public:
  explicit RecordPicker(Dataset dataset) : dataset_(std::move(dataset)) {}

  /// The record is valid until the next call. Errors: those of `RecordReader`.
  Result<ByteView> read(const Dataset::Place& place);
  /// Stored bytes of the blocks that were read.
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  static constexpr std::size_t kNoBlock = ~std::size_t{0};
  struct Opened {
    RecordReader reader;
    std::size_t block = kNoBlock;  // the block in memory
  };
  void count_block(Opened& opened, std::uint64_t record);

  Dataset dataset_;
  std::map<std::uint32_t, Opened> opened_;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace dovetail::inspect
