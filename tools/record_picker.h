// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include <dovetail/bytes.h>
#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

namespace dovetail::tools {

/// Reads single records of a dataset, in any order.
///
/// Cost: memory for a block and an index of each of the shards that were used last.
class RecordPicker {
 public:
  explicit RecordPicker(Dataset dataset) : dataset_(std::move(dataset)) {}

  /// Valid until the next call. Errors: those of `RecordReader`.
  Result<ByteView> read(const Dataset::Place& place);

 private:
  struct Opened {
    RecordReader reader;
    std::uint64_t last_use = 0;
  };
  void make_room();

  Dataset dataset_;
  std::map<std::uint32_t, Opened> opened_;
  std::uint64_t uses_ = 0;
};

}  // namespace dovetail::tools
