// SPDX-License-Identifier: Apache-2.0
#include "writer/writer_options.h"

#include "format/layout.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

constexpr std::uint32_t kMaxCodecLevel = 19;

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

Result<void> check_record_size(const WriterOptions& options, std::uint64_t record, std::size_t bytes) {
  if (bytes <= options.max_record_bytes) return {};
  return Error(Errc::record_too_large,
               "record " + std::to_string(record) + " has " + std::to_string(bytes) +
                   " bytes; the limit is max_record_bytes = " + std::to_string(options.max_record_bytes));
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
