// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/shard_verifier.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "format/crc32c/crc32c.h"
#include "format/layout.h"
#include "format/shard_encoder.h"
#include "format/structures.h"
#include "format/try.h"
#include "reader/dataset/block_loader.h"
#include "reader/dataset/shard_file.h"
#include "reader/dataset/tfrecord_sidecar.h"

namespace dovetail::detail {
namespace {

bool is_damage(const Error& error) {
  return error.kind() == ErrorKind::damaged;
}

bool all_zero(ByteView bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

Error padding_in_use() {
  return Error(Errc::bad_length, "the padding after the block is not zero");
}

class ShardVerifier {
 public:
  ShardVerifier(ShardFile shard, const DamageSink& damaged) : shard_(std::move(shard)), damaged_(damaged) {}

  Result<GoodBlocks> run(const ShardInfo* expected) {
    if (expected != nullptr) {
      if (auto same = check_shard_info(*expected, shard_.info()); !same) report(same.error(), 0, 0, 0);
    }
    // For a TFRecord, opening has checked that the blocks of the index fill the file.
    const bool has_ends = shard_.framing() == Framing::blocks;
    DOVETAIL_TRY(has_ends ? check_front() : Result<void>());
    DOVETAIL_TRY(check_data());
    DOVETAIL_TRY(has_ends ? check_back() : Result<void>());
    return good_;
  }

 private:
  const std::string& path() const noexcept { return shard_.file().path(); }

  void report(const Error& error, std::uint64_t offset, std::uint64_t first, std::uint64_t end) {
    damaged_(as_damage(error.at(path(), offset), path(), first, end));
  }

  // Reports damage. Returns every other failure.
  Result<void> note(const Error& error, std::uint64_t offset, std::uint64_t first, std::uint64_t end) {
    if (!is_damage(error)) return error;
    report(error, offset, first, end);
    return {};
  }

  Result<void> check_front();
  Result<void> check_data();
  Result<void> check_block(std::size_t block);
  Result<void> check_back();
  void check_totals();

  Result<format::BlockHeader> check_plain_block(std::uint64_t offset, std::uint32_t sequence, std::uint64_t limit);
  Result<std::uint32_t> crc_of(std::uint64_t offset, std::uint64_t bytes);

  ShardFile shard_;
  const DamageSink& damaged_;
  GoodBlocks good_;
  BlockLoader loader_;
  ReusableBuffer chunk_;
  format::RecordFingerprint fingerprint_;
  std::uint32_t min_record_bytes_ = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t max_record_bytes_ = 0;
};

// Checks the metadata block, and blocks that later versions may put between it and the data.
Result<void> ShardVerifier::check_front() {
  if (auto metadata = shard_.read_metadata(); !metadata) {
    return note(metadata.error(), format::kFileHeaderBytes, 0, 0);
  }
  std::uint64_t offset = format::kFileHeaderBytes;
  std::uint32_t sequence = 0;
  while (offset < shard_.data_offset()) {
    auto header = check_plain_block(offset, sequence, shard_.data_offset());
    if (!header) return note(header.error(), offset, 0, 0);
    if (sequence > 0 && !format::is_skippable(header->type)) {
      report(Error(Errc::misplaced_block, "a block of this type must not come before the data"), offset, 0, 0);
    }
    offset += header->span_bytes();
    ++sequence;
  }
  if (sequence != shard_.tail().first_sequence) {
    report(
        Error(Errc::index_mismatch, std::to_string(sequence) + " blocks come before the data, but the footer counts " +
                                        std::to_string(shard_.tail().first_sequence)),
        offset, 0, 0);
  }
  return {};
}

Result<void> ShardVerifier::check_data() {
  for (std::size_t block = 0; block < shard_.blocks().size(); ++block) {
    DOVETAIL_TRY(check_block(block));
  }
  if (good_.blocks == shard_.blocks().size()) check_totals();
  return {};
}

Result<void> ShardVerifier::check_block(std::size_t block) {
  const std::uint64_t first = shard_.first_record(block);
  const std::uint64_t end = shard_.first_record(block + 1);
  const format::IndexEntry& entry = shard_.blocks()[block];
  auto records = loader_.load(shard_, block);
  if (!records) return note(records.error(), entry.offset, first, end);

  for (std::uint32_t i = 0; i < records->size(); ++i) {
    const ByteView record = (*records)[i];
    fingerprint_.add(record);
    min_record_bytes_ = std::min(min_record_bytes_, static_cast<std::uint32_t>(record.size()));
    max_record_bytes_ = std::max(max_record_bytes_, static_cast<std::uint32_t>(record.size()));
  }
  good_.records += records->size();
  ++good_.blocks;
  if (!all_zero(loader_.padding())) {
    report(padding_in_use(), entry.offset + entry.span_bytes() - loader_.padding().size(), end, end);
  }
  return {};
}

// Checks the facts in the footer that only the records can confirm.
void ShardVerifier::check_totals() {
  const ShardInfo& info = shard_.info();
  const char* const told_by = shard_.framing() == Framing::blocks ? "footer" : "index";
  const auto compare = [&](const char* name, std::uint64_t in_footer, std::uint64_t in_records) {
    if (in_footer == in_records) return;
    report(Error(Errc::index_mismatch, std::string(name) + ": the " + told_by + " says " + std::to_string(in_footer) +
                                           ", but the records give " + std::to_string(in_records)),
           shard_.tail().trailer.footer_offset, info.records, info.records);
  };
  compare("min_record_bytes", info.min_record_bytes, info.records == 0 ? 0 : min_record_bytes_);
  compare("max_record_bytes", info.max_record_bytes, max_record_bytes_);
  compare("fingerprint", info.fingerprint, fingerprint_.value());
}

Result<void> ShardVerifier::check_back() {
  const std::uint64_t records = shard_.info().records;
  const std::uint64_t index_offset = shard_.tail().footer.index_offset;
  const std::uint64_t footer_offset = shard_.tail().trailer.footer_offset;
  const std::uint32_t sequence = shard_.sequence(shard_.blocks().size());
  auto index = check_plain_block(index_offset, sequence, footer_offset);
  if (!index) {
    DOVETAIL_TRY(note(index.error(), index_offset, records, records));
  }
  auto footer = check_plain_block(footer_offset, sequence + 1, shard_.file().size() - format::kTrailerBytes);
  if (!footer) return note(footer.error(), footer_offset, records, records);
  return {};
}

// Checks header, payload and padding of a block without records.
Result<format::BlockHeader> ShardVerifier::check_plain_block(std::uint64_t offset, std::uint32_t sequence,
                                                             std::uint64_t limit) {
  const InputFile& file = shard_.file();
  std::array<std::byte, format::kBlockHeaderBytes> bytes;
  DOVETAIL_TRY(file.read(offset, bytes));
  DOVETAIL_ASSIGN(const auto header, format::decode_block_header(bytes));
  if (header.offset != offset || header.sequence != sequence || header.file_id != shard_.info().file_id) {
    return Error(Errc::misplaced_block, "the block belongs elsewhere");
  }
  if (header.span_bytes() > limit - offset) return Error(Errc::bad_length, "the block reaches into the next");

  DOVETAIL_ASSIGN(auto crc, crc_of(offset + format::kBlockHeaderBytes, header.body_bytes()));
  if (crc != header.payload_crc) return Error(Errc::payload_checksum, "the block's message");

  std::array<std::byte, format::kAlignment> padding{};
  const std::uint64_t body_end = offset + format::kBlockHeaderBytes + header.body_bytes();
  const auto padding_bytes = static_cast<std::size_t>(offset + header.span_bytes() - body_end);
  DOVETAIL_TRY(file.read(body_end, std::span(padding).first(padding_bytes)));
  if (!all_zero(padding)) return padding_in_use();
  return header;
}

Result<std::uint32_t> ShardVerifier::crc_of(std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint64_t kChunkBytes = 1 << 20;
  DOVETAIL_ASSIGN(auto chunk, chunk_.take(static_cast<std::size_t>(std::min(bytes, kChunkBytes))));
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < bytes;) {
    const auto part = chunk.first(static_cast<std::size_t>(std::min(bytes - done, kChunkBytes)));
    DOVETAIL_TRY(shard_.file().read(offset + done, part));
    crc = format::crc32c(part, crc);
    done += part.size();
  }
  return crc;
}

std::uint64_t known_records(const std::string& path, const ShardInfo* expected) {
  if (expected != nullptr) return expected->records;
  const auto ends = read_shard_ends(path);
  return ends ? ends->info().records : 0;
}

// Opening has checked the content of a TFRecord's index, but not the bytes without meaning. The
// records of the index are not records of the dataset, so its damage loses none.
Result<void> verify_sidecar(const std::string& path, const DamageSink& damaged) {
  const DamageSink without_records = [&](LostRange damage) {
    damage.first_record = damage.end_record = 0;
    damaged(std::move(damage));
  };
  auto verified = verify_shard(sidecar_path(path), nullptr, without_records);
  if (!verified) return verified.error();
  return {};
}

}  // namespace

LostRange as_damage(const Error& error, const std::string& file, std::uint64_t first, std::uint64_t end) {
  // The error may be of another file, such as the index of a TFRecord.
  const bool of_file = error.path().empty() || error.path() == file;
  const std::string what = error.code().message() + (error.detail().empty() ? "" : ": " + error.detail());
  return LostRange{.file = file,
                   .offset = of_file ? error.offset().value_or(0) : 0,
                   .first_record = first,
                   .end_record = end,
                   .reason = of_file ? what : error.to_string()};
}

Result<GoodBlocks> verify_shard(const std::string& path, const ShardInfo* expected, const DamageSink& damaged) {
  auto shard = ShardFile::open(path);
  if (shard) {
    if (shard->framing() == Framing::tfrecord) {
      DOVETAIL_TRY(verify_sidecar(path, damaged));
    }
    return ShardVerifier(std::move(*shard), damaged).run(expected);
  }
  const Error& error = shard.error();
  if (!is_damage(error)) return error;
  // The damaged file may be the index of a TFRecord.
  const std::string& file = error.path().empty() ? path : error.path();
  damaged(as_damage(error, file, 0, known_records(path, expected)));
  return GoodBlocks{};
}

}  // namespace dovetail::detail
