// SPDX-License-Identifier: Apache-2.0
#include "format/shard_decoder.h"

#include <algorithm>
#include <string>

#include "format/crc32c/crc32c.h"
#include "format/try.h"

namespace dovetail::format {
namespace {

// Offset of the first data block after a metadata block without a body.
constexpr std::uint64_t kLeastDataOffset = kFileHeaderBytes + kBlockHeaderBytes;

Error contradiction(const std::string& left, std::uint64_t left_value, const std::string& right,
                    std::uint64_t right_value) {
  return Error(Errc::index_mismatch,
               left + " " + std::to_string(left_value) + ", " + right + " " + std::to_string(right_value));
}

Error at_offset(const Error& error, std::uint64_t offset) {
  return error.at({}, offset);
}

struct WholeBlock {
  BlockHeader header;
  ByteView body;
};

/// Decodes the block at the front of `bytes`, which is at `offset` in the file. More bytes may
/// follow.
Result<WholeBlock> decode_message_block(ByteView bytes, BlockType type, const char* what, std::uint64_t offset,
                                        std::uint64_t file_id) {
  const std::string name = what;
  const auto fail = [&](Errc code, const std::string& detail) { return at_offset(Error(code, name + detail), offset); };
  if (bytes.size() < kBlockHeaderBytes) return fail(Errc::truncated, " ends inside its header");
  const auto header = decode_block_header(bytes.first<kBlockHeaderBytes>());
  if (!header) return at_offset(header.error(), offset);
  if (header->type != type) return fail(Errc::misplaced_block, " expected, but another block found");
  if (header->offset != offset) {
    return fail(Errc::misplaced_block, " says that it begins at " + std::to_string(header->offset));
  }
  if (header->file_id != file_id) return fail(Errc::misplaced_block, " belongs to another file");
  if (bytes.size() - kBlockHeaderBytes < header->body_bytes()) return fail(Errc::truncated, " ends inside its payload");
  const ByteView body = bytes.subspan(kBlockHeaderBytes, header->stored_bytes);
  if (crc32c(body) != header->payload_crc) return fail(Errc::payload_checksum, "");
  return WholeBlock{*header, body};
}

/// Checks that footer and trailer agree, and that the index fits between the data and the footer.
Result<void> check_footer(const ShardTail& tail) {
  const ShardInfo& info = tail.footer.info;
  const Trailer& trailer = tail.trailer;
  if (info.records != trailer.records) {
    return contradiction("records in the footer:", info.records, "in the trailer:", trailer.records);
  }
  if (info.blocks != trailer.blocks) {
    return contradiction("blocks in the footer:", info.blocks, "in the trailer:", trailer.blocks);
  }
  if (info.file_id != trailer.file_id) {
    return contradiction("file id in the footer:", info.file_id, "in the trailer:", trailer.file_id);
  }
  const std::uint64_t index_offset = tail.footer.index_offset;
  const std::uint64_t index_span = align_up(kBlockHeaderBytes + info.blocks * kIndexEntryBytes);
  if (index_offset % kAlignment != 0 || index_offset > trailer.footer_offset ||
      trailer.footer_offset - index_offset != index_span) {
    return contradiction("the index of " + std::to_string(info.blocks) + " blocks begins at", index_offset,
                         "the footer at", trailer.footer_offset);
  }
  const std::uint64_t least = kLeastDataOffset + info.blocks * kBlockHeaderBytes;
  if (index_offset < least || index_offset - least < info.stored_bytes) {
    return contradiction("stored bytes of all blocks:", info.stored_bytes, "but the index begins at", index_offset);
  }
  return {};
}

struct Sums {
  std::uint64_t records = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t max_block_raw = 0;
  std::uint64_t max_block_stored = 0;
  std::uint64_t max_block_records = 0;

  void add(const IndexEntry& entry) noexcept {
    const std::uint64_t stored = std::uint64_t{entry.table_bytes} + entry.stored_bytes;
    records += entry.records;
    raw_bytes += entry.raw_bytes;
    stored_bytes += stored;
    max_block_raw = std::max<std::uint64_t>(max_block_raw, entry.raw_bytes);
    max_block_stored = std::max(max_block_stored, stored);
    max_block_records = std::max<std::uint64_t>(max_block_records, entry.records);
  }
};

Result<void> check_sums(const Sums& sums, const ShardInfo& info) {
  const struct {
    const char* name;
    std::uint64_t in_index;
    std::uint64_t in_footer;
  } pairs[] = {
      {"records", sums.records, info.records},
      {"raw bytes", sums.raw_bytes, info.raw_bytes},
      {"stored bytes", sums.stored_bytes, info.stored_bytes},
      {"raw bytes of the largest block", sums.max_block_raw, info.max_block_raw},
      {"stored bytes of the largest block", sums.max_block_stored, info.max_block_stored},
      {"records of the largest block", sums.max_block_records, info.max_block_records},
  };
  for (const auto& pair : pairs) {
    if (pair.in_index != pair.in_footer) {
      return contradiction(std::string(pair.name) + " in the index:", pair.in_index, "in the footer:", pair.in_footer);
    }
  }
  return {};
}

}  // namespace

Result<ShardTail> decode_tail(ByteView tail, std::uint64_t file_bytes) {
  if (tail.size() != std::min<std::uint64_t>(file_bytes, kTailBytes)) {
    return Error(Errc::truncated, "got " + std::to_string(tail.size()) + " bytes of the end of the file");
  }
  if (file_bytes < kTrailerBytes) {
    return Error(Errc::unfinished, std::to_string(file_bytes) + " bytes are too few for a finished file");
  }
  const std::uint64_t trailer_offset = file_bytes - kTrailerBytes;
  const auto trailer = decode_trailer(tail.last<kTrailerBytes>());
  if (!trailer) return at_offset(trailer.error(), trailer_offset);
  if (trailer->file_bytes != file_bytes) {
    const Errc code = trailer->file_bytes > file_bytes ? Errc::truncated : Errc::bad_length;
    return at_offset(Error(code, "the trailer says " + std::to_string(trailer->file_bytes) +
                                     " bytes, but the file has " + std::to_string(file_bytes)),
                     trailer_offset);
  }
  // The trailer's own check keeps the footer offset inside the file. The footer must also lie in
  // the bytes read.
  const std::uint64_t from_end = file_bytes - trailer->footer_offset;
  if (from_end > tail.size()) {
    return at_offset(Error(Errc::bad_length, "footer and trailer take " + std::to_string(from_end) + " bytes"),
                     trailer_offset);
  }
  const ByteView footer_bytes = tail.last(from_end).first(from_end - kTrailerBytes);
  DOVETAIL_ASSIGN(const auto block, decode_message_block(footer_bytes, BlockType::footer, "the footer",
                                                         trailer->footer_offset, trailer->file_id));
  const auto fail = [&](const Error& error) { return at_offset(error, trailer->footer_offset); };
  if (block.header.span_bytes() != footer_bytes.size()) {
    return fail(Error(Errc::bad_length, "the footer does not end at the trailer"));
  }
  if (block.header.first_record != trailer->records || block.header.sequence < trailer->blocks + 2) {
    return fail(Error(Errc::misplaced_block, "the footer counts other records or blocks before it than the trailer"));
  }
  auto footer = decode_footer(block.body);
  if (!footer) return fail(footer.error());

  // Blocks before the footer: one metadata block, skippable blocks, data blocks, one index.
  const auto skipped = static_cast<std::uint32_t>(block.header.sequence - trailer->blocks - 2);
  ShardTail result{*trailer, std::move(*footer), 1 + skipped};
  if (auto agrees = check_footer(result); !agrees) return fail(agrees.error());
  result.footer.info.file_bytes = file_bytes;
  return result;
}

Result<std::vector<IndexEntry>> decode_index(ByteView block, const ShardTail& tail) {
  const ShardInfo& info = tail.footer.info;
  const std::uint64_t offset = tail.footer.index_offset;
  DOVETAIL_ASSIGN(const auto index,
                  decode_message_block(block, BlockType::index, "the index", offset, tail.trailer.file_id));
  const auto fail = [&](const Error& error) { return at_offset(error, offset); };
  if (index.header.first_record != info.records || index.header.sequence != tail.first_sequence + info.blocks) {
    return fail(Error(Errc::misplaced_block, "the index counts other records or blocks before it than the footer"));
  }
  if (index.header.payload_crc != tail.footer.index_crc) {
    return fail(Error(Errc::index_mismatch, "the index is intact, but does not belong to this footer"));
  }
  if (index.body.size() != info.blocks * kIndexEntryBytes) {
    return fail(contradiction("bytes of the index:", index.body.size(), "blocks in the footer:", info.blocks));
  }

  std::vector<IndexEntry> entries;
  entries.reserve(info.blocks);
  Sums sums;
  std::uint64_t expected = 0;
  for (ByteView rest = index.body; !rest.empty(); rest = rest.subspan(kIndexEntryBytes)) {
    const auto entry = decode_index_entry(rest.first<kIndexEntryBytes>());
    if (!entry) return fail(entry.error());
    const bool first = entries.empty();
    if (first ? entry->offset < kLeastDataOffset : entry->offset != expected) {
      return fail(contradiction("block " + std::to_string(entries.size()) + " begins at", entry->offset,
                                first ? "not before" : "the one before ends at", first ? kLeastDataOffset : expected));
    }
    if (sums.records / info.run_records != (sums.records + entry->records - 1) / info.run_records) {
      return fail(contradiction("block " + std::to_string(entries.size()) + " begins at record", sums.records,
                                "and crosses a multiple of", info.run_records));
    }
    expected = entry->offset + entry->span_bytes();
    sums.add(*entry);
    entries.push_back(*entry);
  }
  if (!entries.empty() && expected != offset) {
    return fail(contradiction("the last block ends at", expected, "the index begins at", offset));
  }
  if (auto agrees = check_sums(sums, info); !agrees) return fail(agrees.error());
  return entries;
}

Result<Metadata> decode_metadata_block(ByteView block, std::uint64_t file_id) {
  DOVETAIL_ASSIGN(const auto metadata,
                  decode_message_block(block, BlockType::metadata, "the metadata block", kFileHeaderBytes, file_id));
  if (metadata.header.sequence != 0 || metadata.header.first_record != 0) {
    return at_offset(Error(Errc::misplaced_block, "the metadata block is not the first"), kFileHeaderBytes);
  }
  auto message = decode_metadata(metadata.body);
  if (!message) return at_offset(message.error(), kFileHeaderBytes);
  return message;
}

}  // namespace dovetail::format
