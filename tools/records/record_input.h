// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_source.h>

#include "tools/records/range.h"

namespace dovetail::tools {

/// What a PATH names: a dataset, or records in another format, which some subcommands take as they are.
using Input = std::variant<Dataset, RecordSource>;

/// What to say where a record, or the first of a range, is behind the end.
Error no_such_record(std::uint64_t id, std::uint64_t records);

/// Opens what PATH holds as `from` says. `detect` tries a dataset, then records of a known format,
/// then the files of a folder. If all fail, it returns the error of the source. It returns the error
/// of the dataset if a shard is damaged, or if there is no file at all. Links that lead nowhere, and what is no file, are
/// told on standard error.
Result<Input> open_input(const std::string& path, SourceFormat from = SourceFormat::detect);

/// A record and its place. `bytes` is valid until the next record.
struct PlacedRecord {
  std::uint64_t id = 0;
  std::uint32_t shard = 0;
  std::uint64_t record = 0;  ///< In the shard.
  ByteView bytes;
};

/// Records [first, end) of an input, in order.
class RecordStream {
 public:
  /// An end beyond the last record is the last record. Errors: `invalid_option` for a beginning beyond it.
  static Result<RecordStream> open(Input input, const IdRange& range);

  /// Errors: `manifest_mismatch` for a shard that is not the one of the manifest; those of the readers.
  Result<std::optional<PlacedRecord>> next();

 private:
  RecordStream(Input input, const IdRange& range);
  Result<std::optional<PlacedRecord>> next_packed(const Dataset& dataset);
  Result<std::optional<PlacedRecord>> next_foreign(RecordSource& source);
  Result<void> open_shard(const Dataset& dataset, const Dataset::Place& place);

  Input input_;
  IdRange range_;
  std::uint64_t next_id_;
  std::optional<RecordReader> reader_;
  std::uint32_t shard_ = 0;
};

}  // namespace dovetail::tools
