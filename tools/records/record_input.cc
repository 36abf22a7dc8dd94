// SPDX-License-Identifier: Apache-2.0
#include "tools/records/record_input.h"

#include <algorithm>
#include <utility>

#include "format/text/count_of.h"
#include "format/text/number_text.h"
#include "format/try.h"
#include "tools/command/messages.h"

namespace dovetail::tools {

Result<IdRange> parse_range(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const bool to_end = colon + 1 == text.size();
    const auto first = format::parse_number<std::uint64_t>(colon == 0 ? "0" : text.substr(0, colon));
    const auto end = to_end ? std::nullopt : format::parse_number<std::uint64_t>(text.substr(colon + 1));
    if (first && (to_end || (end && *end >= *first))) return IdRange{*first, end, false};
  }
  if (const auto only = format::parse_number<std::uint64_t>(text); only && *only != ~std::uint64_t{0}) {
    return IdRange{*only, *only + 1, true};
  }
  return Error(Errc::invalid_option, "--range = " + std::string(text) +
                                         ": it must be A:B, A:, :B or A with record numbers A <= B; B is not included");
}

Error no_such_record(std::uint64_t id, std::uint64_t records) {
  return Error(Errc::invalid_option, "record " + std::to_string(id) + " does not exist: there are only " +
                                         format::count_of(records, "record") + ", numbered from 0");
}

void warn_of_missing(const std::string& path, const LeftOut& left_out) {
  // Do not mention hidden files and litter, which nobody wants to read.
  const LeftOut missed = {.dangling = left_out.dangling, .special = left_out.special};
  if (missed != LeftOut()) warn(path + ": left out: " + to_string(missed));
}

Result<inspect::Input> open_input(const std::string& path, SourceFormat from) {
  DOVETAIL_ASSIGN(inspect::Input input, inspect::open_input(path, from));
  if (const RecordSource* source = std::get_if<RecordSource>(&input)) warn_of_missing(path, source->left_out());
  return input;
}

Result<IdRange> range_in(const inspect::Input& input, const IdRange& range) {
  const Dataset* const dataset = std::get_if<Dataset>(&input);
  if (dataset == nullptr) return range;
  const std::uint64_t records = dataset->records();
  if (range.least_records() > records) return no_such_record(range.first, records);
  return IdRange{range.first, std::min(range.end.value_or(records), records), range.one};
}

RecordStream::RecordStream(inspect::Input input, const IdRange& range)
    : input_(std::move(input)), range_(range), next_id_(std::holds_alternative<Dataset>(input_) ? range.first : 0) {}

Result<RecordStream> RecordStream::open(inspect::Input input, const IdRange& range) {
  DOVETAIL_ASSIGN(const IdRange part, range_in(input, range));
  return RecordStream(std::move(input), part);
}

Result<std::optional<PlacedRecord>> RecordStream::next() {
  if (RecordSource* source = std::get_if<RecordSource>(&input_)) return next_foreign(*source);
  return next_packed(std::get<Dataset>(input_));
}

Result<void> RecordStream::open_shard(const Dataset& dataset, const Dataset::Place& place) {
  DOVETAIL_ASSIGN(RecordReader reader, RecordReader::open(dataset, place.shard));
  DOVETAIL_TRY(reader.seek(place.record));
  reader_.emplace(std::move(reader));
  shard_ = place.shard;
  shard_first_ = next_id_ - place.record;
  shard_end_ = shard_first_ + dataset.shards()[place.shard].records;
  return {};
}

Result<std::optional<PlacedRecord>> RecordStream::next_packed(const Dataset& dataset) {
  if (next_id_ >= *range_.end) return std::optional<PlacedRecord>();
  if (!reader_ || next_id_ >= shard_end_) {
    DOVETAIL_TRY(open_shard(dataset, dataset.locate(next_id_)));
  }
  const auto bytes = reader_->next();
  if (!bytes) return bytes.error();
  if (!bytes->has_value()) {
    return Error(Errc::index_mismatch, "the shard ends before the record that its footer counts")
        .in_file(dataset.shard_path(shard_));
  }
  const std::uint64_t id = next_id_++;
  return std::optional(PlacedRecord{id, shard_, id - shard_first_, **bytes});
}

Result<std::optional<PlacedRecord>> RecordStream::next_foreign(RecordSource& source) {
  while (!range_.end || next_id_ < *range_.end) {
    DOVETAIL_ASSIGN(const std::optional<ByteView> bytes, source.next());
    if (!bytes.has_value()) {
      if (next_id_ < range_.least_records()) return no_such_record(range_.first, next_id_);
      break;
    }
    const std::uint64_t id = next_id_++;
    if (id >= range_.first) return std::optional(PlacedRecord{id, 0, id, *bytes});
  }
  return std::optional<PlacedRecord>();
}

}  // namespace dovetail::tools
