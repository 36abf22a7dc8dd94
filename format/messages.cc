// SPDX-License-Identifier: Apache-2.0
#include "format/messages.h"

#include <utility>

#include <google/protobuf/io/coded_stream.h>

#include "dovetail.pb.h"
#include "format/layout.h"
#include "format/tfrecord/tfrecord.h"
#include "format/try.h"
#include "format/wire.h"

namespace dovetail::format {
namespace {

// The container's own messages nest at most 2 levels deep; unknown fields may nest deeper.
constexpr int kMaxNesting = 16;

Error bad_message(const char* what, const std::string& detail) {
  return Error(Errc::bad_message, std::string(what) + ": " + detail);
}

/// Checks that every field of a message ends within the message. Protobuf does not know where its
/// input ends: for an unknown field it would allocate up to 50 MB because a length claims so.
Result<void> check_lengths(const char* what, ByteView bytes) {
  WireCursor cursor(bytes);
  WireFault fault;
  for (std::uint32_t tag = 0; !cursor.done();) {
    if (!cursor.read_tag(tag, fault) || !cursor.skip(tag, kMaxNesting, fault)) {
      return bad_message(what, "does not parse: " + std::string(fault.what));
    }
  }
  return {};
}

template <class Message>
Result<Message> parse(const char* what, ByteView bytes, std::size_t limit) {
  if (bytes.size() > limit) {
    return bad_message(what, std::to_string(bytes.size()) + " bytes, the limit is " + std::to_string(limit));
  }
  DOVETAIL_TRY(check_lengths(what, bytes));
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxNesting);
  Message message;
  if (!message.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return bad_message(what, "does not parse");
  }
  return message;
}

void fill(const ShardInfo& info, proto::ShardInfo& out) {
  out.set_name(info.name);
  out.set_records(info.records);
  out.set_blocks(info.blocks);
  out.set_run_records(info.run_records);
  out.set_raw_bytes(info.raw_bytes);
  out.set_stored_bytes(info.stored_bytes);
  out.set_file_bytes(info.file_bytes);
  out.set_min_record_bytes(info.min_record_bytes);
  out.set_max_record_bytes(info.max_record_bytes);
  out.set_max_block_raw(info.max_block_raw);
  out.set_max_block_stored(info.max_block_stored);
  out.set_max_block_records(info.max_block_records);
  out.set_fingerprint(info.fingerprint);
  out.set_file_id(info.file_id);
}

ShardInfo value_of(const proto::ShardInfo& in) {
  ShardInfo info;
  info.name = in.name();
  info.records = in.records();
  info.blocks = in.blocks();
  info.run_records = in.run_records();
  info.raw_bytes = in.raw_bytes();
  info.stored_bytes = in.stored_bytes();
  info.file_bytes = in.file_bytes();
  info.min_record_bytes = in.min_record_bytes();
  info.max_record_bytes = in.max_record_bytes();
  info.max_block_raw = in.max_block_raw();
  info.max_block_stored = in.max_block_stored();
  info.max_block_records = in.max_block_records();
  info.fingerprint = in.fingerprint();
  info.file_id = in.file_id();
  return info;
}

/// Returns whether `total` can be the sum of `count` numbers in [min, max]. Needs: `count > 0`.
/// Divides instead of multiplying, so that nothing wraps.
bool can_add_up(std::uint64_t total, std::uint64_t count, std::uint64_t min, std::uint64_t max) noexcept {
  const std::uint64_t rounded_up = total / count + (total % count != 0 ? 1 : 0);
  return total / count >= min && rounded_up <= max;
}

/// Returns which fields contradict each other, or nullptr.
const char* contradiction_in(const ShardInfo& info) noexcept {
  if (info.run_records == 0 || info.run_records > kMaxRunRecords) return "run_records is out of range";
  if (info.blocks > kMaxShardBlocks) return "too many blocks";
  if (info.records == 0) {
    const bool empty = (info.blocks | info.raw_bytes | info.stored_bytes | info.fingerprint) == 0 &&
                       (info.min_record_bytes | info.max_record_bytes | info.max_block_raw | info.max_block_stored |
                        info.max_block_records) == 0;
    return empty ? nullptr : "no records, but blocks or sizes";
  }
  if (info.blocks == 0) return "records without blocks";
  if (info.max_block_records > info.run_records) return "a block is longer than a run";
  if (info.max_block_records > kMaxBlockRecords || info.max_block_records > info.records ||
      !can_add_up(info.records, info.blocks, 1, info.max_block_records)) {
    return "records, blocks and max_block_records disagree";
  }
  if (info.min_record_bytes > info.max_record_bytes) return "the smallest record is larger than the largest";
  if (!can_add_up(info.raw_bytes, info.records, info.min_record_bytes, info.max_record_bytes)) {
    return "raw_bytes and record sizes disagree";
  }
  if (info.max_record_bytes > info.max_block_raw || info.max_block_raw > info.raw_bytes ||
      !can_add_up(info.raw_bytes, info.blocks, 0, info.max_block_raw)) {
    return "raw_bytes, blocks and max_block_raw disagree";
  }
  if (info.max_block_stored > info.stored_bytes ||
      !can_add_up(info.stored_bytes, info.blocks, 0, info.max_block_stored)) {
    return "stored_bytes, blocks and max_block_stored disagree";
  }
  return nullptr;
}

/// Returns what is wrong with the description of a file, or nullptr.
const char* wrong_with_file(const ShardInfo& info) noexcept {
  if (info.name.empty()) return "name is missing";
  if (info.name.size() > kMaxShardNameBytes) return "the name is longer than 4096 bytes";
  if (info.name.find('\0') != std::string::npos) return "a zero byte in the name";
  if (info.file_bytes > kMaxFileBytes) return "file_bytes is out of range";
  return contradiction_in(info);
}

}  // namespace

std::string encode(const Metadata& metadata) {
  proto::Metadata message;
  message.set_record_type(metadata.record_type);
  message.set_writer(metadata.writer);
  for (const auto& [key, value] : metadata.user) {
    proto::Metadata::User& user = *message.add_user();
    user.set_key(key);
    user.set_value(value);
  }
  message.set_schema(metadata.schema);
  return message.SerializeAsString();
}

std::string encode(const Footer& footer) {
  proto::Footer message;
  fill(footer.info, *message.mutable_info());
  message.set_index_offset(footer.index_offset);
  message.set_index_crc(footer.index_crc);
  return message.SerializeAsString();
}

std::string encode(const ShardInfo& info) {
  proto::ShardInfo message;
  fill(info, message);
  return message.SerializeAsString();
}

std::string encode(const TfrecordFacts& facts) {
  proto::TfrecordIndex message;
  fill(facts.info, *message.mutable_info());
  message.set_ends_crc(facts.ends_crc);
  return message.SerializeAsString();
}

Result<Metadata> decode_metadata(ByteView bytes) {
  DOVETAIL_ASSIGN(const auto message, parse<proto::Metadata>("metadata", bytes, kMaxMetadataBytes));
  Metadata metadata;
  metadata.record_type = message.record_type();
  metadata.writer = message.writer();
  for (const proto::Metadata::User& user : message.user()) {
    if (!metadata.user.emplace(user.key(), user.value()).second) {
      return bad_message("metadata", "a key occurs twice");
    }
  }
  metadata.schema = message.schema();
  return metadata;
}

Result<Footer> decode_footer(ByteView bytes) {
  DOVETAIL_ASSIGN(const auto message, parse<proto::Footer>("footer", bytes, kMaxFooterBytes));
  Footer footer{value_of(message.info()), message.index_offset(), message.index_crc()};
  if (!footer.info.name.empty() || footer.info.file_bytes != 0)
    return bad_message("footer", "name or size of the file");
  if (footer.index_offset == 0) return bad_message("footer", "index_offset is missing");
  if (const char* reason = contradiction_in(footer.info)) return bad_message("footer", reason);
  return footer;
}

Result<ShardInfo> decode_shard_info(ByteView bytes) {
  DOVETAIL_ASSIGN(const auto message, parse<proto::ShardInfo>("manifest entry", bytes, kMaxManifestEntryBytes));
  ShardInfo info = value_of(message);
  if (const char* reason = wrong_with_file(info)) return bad_message("manifest entry", reason);
  if (info.file_bytes == 0) return bad_message("manifest entry", "file_bytes is missing");
  return info;
}

Result<TfrecordFacts> decode_tfrecord_facts(ByteView bytes) {
  DOVETAIL_ASSIGN(const auto message, parse<proto::TfrecordIndex>("TFRecord index", bytes, kMaxManifestEntryBytes));
  ShardInfo info = value_of(message.info());
  if (const char* reason = wrong_with_file(info)) return bad_message("TFRecord index", reason);
  const std::uint64_t frames = info.records * kTfrecordFrameBytes;
  if (info.stored_bytes != info.file_bytes || info.raw_bytes > info.file_bytes ||
      info.file_bytes - info.raw_bytes != frames) {
    return bad_message("TFRecord index", "sizes of file and records disagree");
  }
  return TfrecordFacts{std::move(info), message.ends_crc()};
}

}  // namespace dovetail::format
