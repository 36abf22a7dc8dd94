// SPDX-License-Identifier: Apache-2.0
// The protobuf messages of the container as plain values. Only messages.cc includes Protobuf.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/shard_info.h>

namespace dovetail::format {

/// Payload of the metadata block.
struct Metadata {
  std::string record_type;
  std::string writer;  ///< Program and version.
  std::map<std::string, std::string> user;
  std::string schema = {};  ///< As text, not parsed; empty if there is no schema.

  friend bool operator==(const Metadata&, const Metadata&) = default;
};

/// Payload of the footer block: `ShardInfo` without name and file size, and the place of the index.
struct Footer {
  ShardInfo info;  ///< `name` and `file_bytes` stay empty.
  std::uint64_t index_offset = 0;
  std::uint32_t index_crc = 0;  ///< CRC32C of the entries.

  friend bool operator==(const Footer&, const Footer&) = default;
};

/// The first record of the index of a TFRecord file.
struct TfrecordFacts {
  /// As for any shard. `name` is the file's own name. `stored_bytes` counts the frames, so it
  /// equals the file's size.
  ShardInfo info;
  /// CRC32C of the first and then of the last bytes of the file, up to `kTfrecordEndBytes` each.
  std::uint32_t ends_crc = 0;

  friend bool operator==(const TfrecordFacts&, const TfrecordFacts&) = default;
};

// The bytes are deterministic: map entries are written in the order of their keys.
std::string encode(const Metadata& metadata);
std::string encode(const Footer& footer);
/// One record of a manifest.
std::string encode(const ShardInfo& info);
std::string encode(const TfrecordFacts& facts);

// Errors: `bad_message` if the bytes do not parse, a required value is missing, or values
// contradict each other. Examples are records without blocks, a minimum above its maximum, and
// `run_records` of 0.
Result<Metadata> decode_metadata(ByteView bytes);
Result<Footer> decode_footer(ByteView bytes);
Result<ShardInfo> decode_shard_info(ByteView bytes);
Result<TfrecordFacts> decode_tfrecord_facts(ByteView bytes);

}  // namespace dovetail::format
