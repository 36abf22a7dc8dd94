// SPDX-License-Identifier: Apache-2.0
#include "format/block_encoder.h"

#include <algorithm>
#include <new>

#include <snappy.h>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/layout.h"
#include "format/zstd_codec.h"

namespace dovetail::format {
namespace {

// Every reader decodes in every epoch. Compression that saves less than a sixteenth of the bytes
// does not pay for that time.
constexpr std::uint64_t kLeastSaving = 16;

struct RecordSizes {
  std::uint32_t min = 0;
  std::uint32_t max = 0;
};

RecordSizes sizes_of(const std::vector<std::uint32_t>& ends) noexcept {
  RecordSizes sizes{ends.front(), ends.front()};
  for (std::size_t i = 1; i < ends.size(); ++i) {
    const std::uint32_t size = ends[i] - ends[i - 1];
    sizes.min = std::min(sizes.min, size);
    sizes.max = std::max(sizes.max, size);
  }
  return sizes;
}

void put_table(const std::vector<std::uint32_t>& ends, std::vector<std::byte>& body) {
  body.resize(ends.size() * kTableEntryBytes);
  for (std::size_t i = 0; i < ends.size(); ++i) store_le(body.data() + i * kTableEntryBytes, ends[i]);
}

void append_snappy(ByteView raw, std::vector<std::byte>& body) {
  const std::size_t start = body.size();
  body.resize(start + snappy::MaxCompressedLength(raw.size()));
  std::size_t stored = 0;
  snappy::RawCompress(reinterpret_cast<const char*>(raw.data()), raw.size(),
                      reinterpret_cast<char*>(body.data() + start), &stored);
  body.resize(start + stored);
}

/// Appends the compressed bytes to `body` if they save enough; otherwise leaves `body` as it was.
bool put_compressed(ByteView raw, Codec codec, std::uint32_t level, std::vector<std::byte>& body) {
  if (codec == Codec::none || raw.empty() || raw.size() > kMaxCompressedRawBytes) return false;
  const std::size_t start = body.size();
  if (codec == Codec::snappy) {
    append_snappy(raw, body);
  } else if (!append_zstd_frame(raw, level, body)) {
    throw std::bad_alloc();
  }
  const std::size_t stored = body.size() - start;
  const bool worth_it = stored < raw.size() && (raw.size() - stored) * kLeastSaving >= raw.size();
  if (!worth_it) body.resize(start);
  return worth_it;
}

}  // namespace

void RawBlock::append(ByteView record) {
  bytes.insert(bytes.end(), record.begin(), record.end());
  ends.push_back(static_cast<std::uint32_t>(bytes.size()));
}

void RawBlock::clear() noexcept {
  bytes.clear();
  ends.clear();
}

void encode_block(const RawBlock& raw, Codec codec, EncodedBlock& out, std::uint32_t level) {
  const RecordSizes sizes = sizes_of(raw.ends);
  out.body.clear();
  if (sizes.min != sizes.max) put_table(raw.ends, out.body);
  out.table_bytes = static_cast<std::uint32_t>(out.body.size());
  out.codec = Codec::none;
  if (put_compressed(raw.bytes, codec, level, out.body)) {
    out.codec = codec;
  } else {
    out.body.insert(out.body.end(), raw.bytes.begin(), raw.bytes.end());
  }
  out.records = raw.records();
  out.raw_bytes = static_cast<std::uint32_t>(raw.bytes.size());
  out.payload_crc = crc32c(out.body);
  out.min_record_bytes = sizes.min;
  out.max_record_bytes = sizes.max;
}

}  // namespace dovetail::format
