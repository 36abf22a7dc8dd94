// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_source.h>

#include "inspect/open_input.h"

namespace dovetail::tools {

/// Records [first, end) of a dataset.
struct IdRange {
  std::uint64_t first = 0;
  std::optional<std::uint64_t> end;
  bool one = false;  ///< A record that must be there. A range may begin at the end and be empty.

  /// The least number of records of an input that has the range.
  std::uint64_t least_records() const noexcept { return first + (one ? 1 : 0); }
};

/// Parses `A:B`, `A:`, `:B`, `:`, or one number. Errors: `invalid_option`.
Result<IdRange> parse_range(std::string_view text);

/// The error for a record, or the first record of a range, beyond the end.
Error no_such_record(std::uint64_t id, std::uint64_t records);

/// Warns of files in a folder that are skipped although they may be wanted: dangling links, and
/// special files.
void warn_of_missing(const std::string& path, const LeftOut& left_out);

/// Does what `inspect::open_input` does, and warns of skipped files.
Result<inspect::Input> open_input(const std::string& path, SourceFormat from);

/// The part of a range that is in a dataset, with its end. The range of another input stays as it
/// is. Errors: `invalid_option` if a dataset has fewer than `least_records()`.
Result<IdRange> range_in(const inspect::Input& input, const IdRange& range);

/// A record and its place. `bytes` is valid until the next record.
struct PlacedRecord {
  std::uint64_t id = 0;
  std::uint32_t shard = 0;
  std::uint64_t record = 0;  ///< Number in the shard.
  ByteView bytes;
};

/// Records [first, end) of an input, in order.
class RecordStream {
 public:
  /// Errors: those of `range_in`; those of an input of another format come from `next`.
  static Result<RecordStream> open(inspect::Input input, const IdRange& range);

  /// Errors: `manifest_mismatch` for a shard that does not match the manifest; those of the
  ///         readers.
  Result<std::optional<PlacedRecord>> next();

 private:
  RecordStream(inspect::Input input, const IdRange& range);
  Result<std::optional<PlacedRecord>> next_packed(const Dataset& dataset);
  Result<std::optional<PlacedRecord>> next_foreign(RecordSource& source);
  Result<void> open_shard(const Dataset& dataset, const Dataset::Place& place);

  inspect::Input input_;
  IdRange range_;
  std::uint64_t next_id_;
  std::optional<RecordReader> reader_;
  // The shard of the reader, and its records among those of the dataset.
  std::uint32_t shard_ = 0;
  std::uint64_t shard_first_ = 0;
  std::uint64_t shard_end_ = 0;
};

}  // namespace dovetail::tools
