// SPDX-License-Identifier: Apache-2.0
#include "writer/writer_options.h"

#include <cstddef>
#include <memory>
#include <string_view>

#include <dovetail/columns.h>

#include "format/guard_memory.h"
#include "format/layout.h"
#include "format/text/utf8.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

constexpr std::uint32_t kMaxCodecLevel = 19;
constexpr std::size_t kMostSchemaShown = 200;

/// Decodes the first record to the columns of the schema, as a reader will.
Result<void> check_fit(const Schema& schema, ByteView record) {
  return guard_memory("", [&]() -> Result<void> {
    DOVETAIL_ASSIGN(ColumnDecoder decoder, ColumnDecoder::make(schema));
    const auto bytes = static_cast<std::size_t>(decoder.fixed_bytes(1));
    const auto slab = std::make_unique_for_overwrite<std::byte[]>(bytes);
    DOVETAIL_TRY(decoder.begin(1, {slab.get(), bytes}));
    const Result<void> added = decoder.add(0, record);
    if (added) return {};
    constexpr std::string_view kRow = "row";  // errors of a record begin with it: "row 0, column ..."
    if (!added.error().detail().starts_with(kRow)) return added.error();
    return Error(Errc::invalid_option, "schema = " + format::shortened(to_text(schema), kMostSchemaShown) + ": record" +
                                           added.error().detail().substr(kRow.size()) +
                                           "; check_schema = false stores it all the same");
  });
}

}  // namespace

Result<void> check_range(const char* name, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) return {};
  return Error(Errc::invalid_option, std::string(name) + " = " + std::to_string(value) + ": it must be " +
                                         std::to_string(least) + " to " + std::to_string(most));
}

Result<void> validate(const WriterOptions& options) {
  using namespace format;
  if (options.codec > Codec::zstd) {
    return Error(Errc::invalid_option, "codec = " + std::to_string(static_cast<unsigned>(options.codec)) +
                                           ": it must be none, snappy or zstd");
  }
  DOVETAIL_TRY(check_range("codec_level", options.codec_level, 1, kMaxCodecLevel));
  DOVETAIL_TRY(check_range("block_bytes", options.block_bytes, kMinBlockTarget, kMaxBlockTarget));
  DOVETAIL_TRY(check_range("run_bytes", options.run_bytes, 1, kMaxRunBytes));
  DOVETAIL_TRY(check_range("run_records", options.run_records, 0, kMaxRunRecords));
  if (options.schema) {
    DOVETAIL_TRY(dovetail::validate(*options.schema));
    if (const std::size_t bytes = to_text(*options.schema).size(); bytes > kMaxSchemaTextBytes) {
      return check_range("bytes of the schema's text", bytes, 1, kMaxSchemaTextBytes);
    }
  }
  return check_range("shard_number", options.shard_number, 0, kManifestShardNumber - 1);
}

Result<void> validate(const DatasetWriterOptions& options) {
  DOVETAIL_TRY(validate(options.shard));
  DOVETAIL_TRY(check_range("shards", options.shards, 0, kMaxShards));
  if (options.shards != 0 && options.expected_records == 0) {
    return Error(Errc::invalid_option, "expected_records = 0: give it with shards = " + std::to_string(options.shards));
  }
  return check_range("encode_threads", options.encode_threads, 0, kMaxThreads);
}

Result<void> check_record(const WriterOptions& options, std::uint64_t number, ByteView record) {
  if (record.size() > options.max_record_bytes) {
    return Error(Errc::record_too_large,
                 "record " + std::to_string(number) + " has " + std::to_string(record.size()) +
                     " bytes; the limit is max_record_bytes = " + std::to_string(options.max_record_bytes));
  }
  return number == 0 && options.schema && options.check_schema ? check_fit(*options.schema, record) : Result<void>();
}

format::Metadata make_metadata(const WriterOptions& options) {
  format::Metadata metadata = make_metadata(options.record_type);
  metadata.user = options.metadata;
  if (options.schema) metadata.schema = to_text(*options.schema);
  return metadata;
}

format::Metadata make_metadata(const std::string& record_type) {
  return {.record_type = record_type, .writer = "dovetail " DOVETAIL_VERSION, .user = {}};
}

}  // namespace dovetail::detail
