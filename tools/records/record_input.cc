// SPDX-License-Identifier: Apache-2.0
#include "tools/records/record_input.h"

#include <utility>

#include "format/text/count_of.h"
#include "tools/command/warning.h"

namespace dovetail::tools {

namespace {

/// Whether something else than a dataset may be there.
bool may_be_foreign(const Error& error) {
  return error.is(Errc::not_indexed) || error.is(Errc::not_dovetail) || error.is(Errc::foreign_file) ||
         error.is(Errc::empty_input);
}

// Of what a folder leaves out, that which somebody may miss; hidden files and litter nobody does.
void tell_what_is_missing(const std::string& path, const LeftOut& left_out) {
  const LeftOut missed = {.dangling = left_out.dangling, .special = left_out.special};
  if (missed != LeftOut()) warn(path + ": left out: " + to_string(missed));
}

}  // namespace

Error no_such_record(std::uint64_t id, std::uint64_t records) {
  return Error(Errc::invalid_option, "record " + std::to_string(id) + " was asked for, but there are only " +
                                         format::count_of(records, "record") + ", from 0");
}

Result<Input> open_input(const std::string& path, SourceFormat from) {
  if (path == "-") {
    return Error(Errc::invalid_option, "give a file; standard input can be packed: `... | dovetail convert - --to DIR`")
        .in_file(path);
  }
  const bool detect = from == SourceFormat::detect;
  Result<Dataset> dataset =
      detect || from == SourceFormat::dovetail ? Dataset::open(path) : Result<Dataset>(Error(Errc::foreign_file));
  if (dataset) return Input(std::move(*dataset));
  if (!may_be_foreign(dataset.error()) || from == SourceFormat::dovetail) return dataset.error();
  SourceOptions options;
  options.format = from;
  Result<RecordSource> source = RecordSource::open(path, options);
  if (source) {
    tell_what_is_missing(path, source->left_out());
    return Input(std::move(*source));
  }
  if (!detect) return source.error();
  // The dataset's advice is to convert it, which would fail with the error of the source. Where
  // neither finds a file, the dataset says more.
  const bool damaged = dataset.error().kind() == ErrorKind::damaged;
  return damaged || source.error().is(Errc::empty_input) ? dataset.error() : source.error();
}

RecordStream::RecordStream(Input input, const IdRange& range)
    : input_(std::move(input)), range_(range), next_id_(range.first) {}

Result<RecordStream> RecordStream::open(Input input, const IdRange& range) {
  RecordStream stream(std::move(input), range);
  if (const Dataset* dataset = std::get_if<Dataset>(&stream.input_)) {
    if (range.first > dataset->records()) return no_such_record(range.first, dataset->records());
    if (range.end.value_or(dataset->records()) >= dataset->records()) stream.range_.end = dataset->records();
  } else {
    stream.next_id_ = 0;
  }
  return stream;
}

Result<std::optional<PlacedRecord>> RecordStream::next() {
  if (RecordSource* source = std::get_if<RecordSource>(&input_)) return next_foreign(*source);
  return next_packed(std::get<Dataset>(input_));
}

Result<void> RecordStream::open_shard(const Dataset& dataset, const Dataset::Place& place) {
  const std::string path = dataset.shard_path(place.shard);
  Result<RecordReader> reader = RecordReader::open(path);
  if (!reader) return reader.error();
  ShardInfo found = reader->shard().info;
  const ShardInfo& listed = dataset.shards()[place.shard];
  found.name = listed.name;
  if (found != listed) {
    return Error(Errc::manifest_mismatch, "the shard is not the one that the manifest lists").in_file(path);
  }
  if (Result<void> sought = reader->seek(place.record); !sought) return sought;
  reader_.emplace(std::move(*reader));
  shard_ = place.shard;
  return {};
}

Result<std::optional<PlacedRecord>> RecordStream::next_packed(const Dataset& dataset) {
  if (next_id_ >= *range_.end) return std::optional<PlacedRecord>();
  const Dataset::Place place = dataset.locate(next_id_);
  if (!reader_ || shard_ != place.shard) {
    if (const Result<void> opened = open_shard(dataset, place); !opened) return opened.error();
  }
  const Result<std::optional<ByteView>> bytes = reader_->next();
  if (!bytes) return bytes.error();
  if (!bytes->has_value()) {
    return Error(Errc::index_mismatch, "the shard ends before the record that its footer counts")
        .in_file(dataset.shard_path(place.shard));
  }
  return std::optional(PlacedRecord{next_id_++, place.shard, place.record, **bytes});
}

Result<std::optional<PlacedRecord>> RecordStream::next_foreign(RecordSource& source) {
  while (!range_.end || next_id_ < *range_.end) {
    const Result<std::optional<ByteView>> bytes = source.next();
    if (!bytes) return bytes.error();
    if (!bytes->has_value()) {
      if (next_id_ < range_.first) return no_such_record(range_.first, next_id_);
      break;
    }
    const std::uint64_t id = next_id_++;
    if (id >= range_.first) return std::optional(PlacedRecord{id, 0, id, **bytes});
  }
  return std::optional<PlacedRecord>();
}

}  // namespace dovetail::tools
