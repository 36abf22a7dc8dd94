// SPDX-License-Identifier: Apache-2.0
#include "recover/shard_scan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

using format::BlockHeader;
using format::BlockType;
using format::kAlignment;

constexpr std::size_t kWindowBytes = std::size_t{1} << 20;

// Headers inside the body of a failed block are tried until this multiple of the file's size was
// checked for them. Damage never needs more than once the size. Without the limit, bytes made to
// look like overlapping blocks would take quadratic time.
constexpr std::uint64_t kRetryShare = 4;

/// A view of the file that only moves forward, so that each byte is read once.
class SlidingWindow {
 public:
  explicit SlidingWindow(SalvageFile& file) : file_(file), buffer_(kWindowBytes) {}

  /// Returns `bytes` bytes at `offset`, or fewer at the end of the file. Needs: `bytes <=
  /// kWindowBytes`; `offset` does not decrease from call to call.
  Result<ByteView> view(std::uint64_t offset, std::size_t bytes) {
    if (offset + bytes > begin_ + filled_ && !ended_) {
      DOVETAIL_TRY(move_to(offset));
    }
    const std::uint64_t skipped = offset - begin_;
    if (skipped >= filled_) return ByteView();
    return ByteView(buffer_).subspan(skipped, std::min<std::size_t>(bytes, filled_ - skipped));
  }

 private:
  Result<void> move_to(std::uint64_t offset) {
    const std::uint64_t kept = begin_ + filled_ - std::min(offset, begin_ + filled_);
    if (kept > 0) std::memmove(buffer_.data(), buffer_.data() + (offset - begin_), kept);
    begin_ = offset;
    filled_ = kept;
    DOVETAIL_ASSIGN(auto got, file_.read_at(begin_ + filled_, std::span(buffer_).subspan(filled_)));
    filled_ += got;
    ended_ = filled_ < buffer_.size();
    return {};
  }

  SalvageFile& file_;
  std::vector<std::byte> buffer_;
  std::uint64_t begin_ = 0;
  std::uint64_t filled_ = 0;
  bool ended_ = false;
};

template <std::size_t kBytes>
Result<std::optional<std::array<std::byte, kBytes>>> read_structure(SalvageFile& file, std::uint64_t offset) {
  std::array<std::byte, kBytes> bytes;
  DOVETAIL_ASSIGN(auto got, file.read_at(offset, bytes));
  if (got < kBytes) return std::nullopt;
  return bytes;
}

bool begins_with(ByteView bytes, const std::array<std::uint8_t, 8>& magic) noexcept {
  return std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

std::uint32_t entry_crc(const BlockHeader& header) noexcept {
  std::array<std::byte, format::kIndexEntryBytes> bytes;
  format::encode(format::IndexEntry{.offset = header.offset,
                                    .records = header.records,
                                    .stored_bytes = header.stored_bytes,
                                    .raw_bytes = header.raw_bytes,
                                    .table_bytes = header.table_bytes,
                                    .payload_crc = header.payload_crc,
                                    .codec = header.codec},
                 bytes);
  return format::crc32c(bytes);
}

struct IdCount {
  std::uint64_t id = 0;
  std::uint64_t blocks = 0;
};

// Limit of ids that are counted separately. The file's own id occurs among the first.
constexpr std::size_t kMostIds = 64;

// Counts headers. Skips the bodies behind headers that are at their own offset.
Result<void> count_blocks(SalvageFile& file, const CheckedBytes& checked, std::vector<IdCount>& ids) {
  SlidingWindow window(file);
  std::uint64_t told = 0;
  for (std::uint64_t at = 0; at + kAlignment <= file.size();) {
    if (at - told >= kWindowBytes) {
      DOVETAIL_TRY(checked(at - std::exchange(told, at)));
    }
    DOVETAIL_ASSIGN(auto bytes, window.view(at, kAlignment));
    if (bytes.size() < kAlignment) break;
    const auto header = format::decode_block_header(bytes.first<kAlignment>());
    at += header && header->offset == at ? header->span_bytes() : kAlignment;
    if (!header) continue;
    const auto known =
        std::find_if(ids.begin(), ids.end(), [&](const IdCount& count) { return count.id == header->file_id; });
    if (known != ids.end()) {
      ++known->blocks;
    } else if (ids.size() < kMostIds) {
      ids.push_back({header->file_id, 1});
    }
  }
  return checked(file.size() - told);
}

std::optional<std::uint64_t> most_frequent(const std::vector<IdCount>& ids) {
  const auto most =
      std::max_element(ids.begin(), ids.end(), [](const IdCount& a, const IdCount& b) { return a.blocks < b.blocks; });
  return most == ids.end() ? std::nullopt : std::optional(most->id);
}

// Returns the file ids in file header, first block and trailer, if these are valid.
Result<std::vector<IdCount>> ids_at_ends(SalvageFile& file) {
  std::vector<IdCount> ids;
  const auto add = [&](std::uint64_t id) {
    for (IdCount& known : ids) {
      if (known.id == id) return void(++known.blocks);
    }
    ids.push_back({id, 1});
  };
  DOVETAIL_ASSIGN(auto front, read_structure<format::kFileHeaderBytes>(file, 0));
  if (front) {
    const auto header = format::decode_file_header(*front);
    if (header) add(format::make_file_id(header->dataset_id, header->shard_number));
    if (!header && header.error().is(Errc::unsupported_version)) return header.error().at(file.path(), 0);
  }
  DOVETAIL_ASSIGN(auto first, read_structure<format::kBlockHeaderBytes>(file, format::kFileHeaderBytes));
  if (first) {
    if (const auto header = format::decode_block_header(*first)) add(header->file_id);
  }
  if (file.size() >= format::kTrailerBytes) {
    DOVETAIL_ASSIGN(auto end, read_structure<format::kTrailerBytes>(file, file.size() - format::kTrailerBytes));
    if (end) {
      if (const auto trailer = format::decode_trailer(*end)) add(trailer->file_id);
    }
  }
  return ids;
}

class Scanner {
 public:
  Scanner(SalvageFile& file, std::optional<std::uint64_t> file_id, const CheckedBytes& checked)
      : file_(file), checked_(checked), window_(file), known_id_(file_id.has_value()) {
    scan_.file_bytes = file.size();
    scan_.file_id = file_id.value_or(0);
  }

  Result<ShardScan> run() {
    while (at_ + kAlignment <= scan_.file_bytes) {
      DOVETAIL_ASSIGN(auto bytes, window_.view(at_, kAlignment));
      if (bytes.size() < kAlignment) break;  // the file was cut after it was opened
      unreported_ += kAlignment;
      DOVETAIL_TRY(look_at(bytes.first<kAlignment>()));
      if (unreported_ >= kWindowBytes) {
        DOVETAIL_TRY(tell());
      }
    }
    DOVETAIL_TRY(tell());
    return std::move(scan_);
  }

 private:
  Result<void> tell() { return checked_(std::exchange(unreported_, 0)); }

  // Moves behind the structure at `at_`, or to the next possible place of a structure.
  Result<void> look_at(std::span<const std::byte, kAlignment> bytes) {
    if (file_.is_unreadable(at_, kAlignment)) return pass(Finding::unreadable);
    if (format::load_le<std::uint32_t>(bytes.data()) == format::kBlockSync) return look_at_block(bytes);
    if (begins_with(bytes, format::kFileMagic)) {
      const auto header = format::decode_file_header(bytes);
      const bool good = header && is_ours(format::make_file_id(header->dataset_id, header->shard_number));
      return good && !scan_.header_position ? claim(scan_.header_position) : pass(Finding::header_checksum);
    }
    if (begins_with(bytes, format::kTrailerMagic)) {
      const auto trailer = format::decode_trailer(bytes);
      if (!trailer || !is_ours(trailer->file_id)) return pass(Finding::no_header);
      const bool placed = trailer->file_bytes == at_ + kAlignment;
      if (scan_.trailer_position && !placed) return pass(Finding::repeated);
      scan_.trailer = *trailer;
      return claim(scan_.trailer_position);
    }
    return pass(Finding::no_header);
  }

  Result<void> claim(std::optional<std::uint64_t>& position) {
    position = at_;
    at_ += kAlignment;
    noted_ = false;
    return {};
  }

  Result<void> pass(Finding finding) {
    if (!noted_ && finding != Finding::no_header) {
      scan_.notes.push_back({at_, finding});
      noted_ = true;
    }
    // Bytes that were not read, or not even tried, must be reported even after another finding.
    if (finding == Finding::passed_over || finding == Finding::unreadable) scan_.notes.back().finding = finding;
    at_ += kAlignment;
    return {};
  }

  bool is_ours(std::uint64_t file_id) noexcept {
    if (!std::exchange(known_id_, true)) scan_.file_id = file_id;
    return scan_.file_id == file_id;
  }

  Result<void> look_at_block(std::span<const std::byte, kAlignment> bytes) {
    const auto header = format::decode_block_header(bytes);
    if (!header) {
      const bool damaged = header.error().is(Errc::header_checksum);
      return pass(damaged ? Finding::header_checksum : Finding::unsupported_header);
    }
    if (!is_ours(header->file_id)) return pass(Finding::foreign_block);
    const std::uint64_t begin = at_ + format::kBlockHeaderBytes;
    const std::uint64_t body = header->body_bytes();
    if (body > scan_.file_bytes - begin) return pass_body(*header, Finding::cut_body);
    if (at_ < failed_end_) {
      if (retried_ + body > kRetryShare * scan_.file_bytes) return pass(Finding::passed_over);
      retried_ += body;
    }
    DOVETAIL_ASSIGN(auto good, body_holds(*header, begin));
    if (good) return keep(*header);
    failed_end_ = std::max(failed_end_, at_ + header->span_bytes());
    return pass_body(*header, file_.is_unreadable(begin, body) ? Finding::unreadable : Finding::payload_checksum);
  }

  Result<void> pass_body(const BlockHeader& header, Finding finding) {
    if (header.offset == at_ && header.type == BlockType::data) {
      scan_.cut_end_record = std::max(scan_.cut_end_record, header.first_record + header.records);
    }
    if (header.offset == at_ && (header.type == BlockType::index || header.type == BlockType::footer)) {
      scan_.cut_index_records = header.first_record;
    }
    return pass(finding);
  }

  Result<bool> body_holds(const BlockHeader& header, std::uint64_t begin) {
    const std::uint64_t body = header.body_bytes();
    // Keep the header in the window: if the body fails, the scan goes on right behind the header.
    DOVETAIL_ASSIGN(auto front,
                    window_.view(at_, std::min<std::uint64_t>(format::kBlockHeaderBytes + body, kWindowBytes)));
    if (front.size() < format::kBlockHeaderBytes) return false;
    ByteView part = front.subspan(format::kBlockHeaderBytes);
    std::uint32_t crc = format::crc32c(part);
    std::uint64_t done = part.size();
    unreported_ += done;
    while (done < body) {
      large_.resize(kWindowBytes);
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(body - done, large_.size()));
      DOVETAIL_ASSIGN(auto got, file_.read_at(begin + done, std::span(large_).first(wanted)));
      if (got < wanted) return false;
      crc = format::crc32c(ByteView(large_).first(wanted), crc);
      done += wanted;
      unreported_ += wanted;
      DOVETAIL_TRY(tell());
    }
    return crc == header.payload_crc && !file_.is_unreadable(begin, body);
  }

  Result<void> keep(const BlockHeader& header) {
    FoundBlock block;
    block.position = at_;
    block.first_record = header.first_record;
    block.sequence = header.sequence;
    block.records = header.records;
    block.span_units = static_cast<std::uint32_t>(header.span_bytes() / kAlignment);
    block.type = header.type;
    block.codec = header.codec;
    block.at_own_offset = header.offset == at_;
    if (block.is_data()) {
      block.entry_crc = entry_crc(header);
      scan_.cut_end_record = 0;
    } else {
      keep_message(header);
    }
    scan_.blocks.push_back(block);
    noted_ = false;
    const std::uint64_t end = at_ + format::kBlockHeaderBytes + header.body_bytes();
    at_ = block.end();
    return look_at_padding(end, std::min(at_, scan_.file_bytes));
  }

  void keep_message(const BlockHeader& header) {
    std::optional<FoundMessage>* known = nullptr;
    if (header.type == BlockType::metadata) known = &scan_.metadata;
    if (header.type == BlockType::index) known = &scan_.index;
    if (header.type == BlockType::footer) known = &scan_.footer;
    if (known == nullptr) return;
    // If there are several, the message at its own offset is the file's. Metadata begin a file, so
    // the first counts; the others end a file, so the last counts.
    const bool placed = header.offset == at_;
    const bool was_placed = *known && (*known)->position == (*known)->header.offset;
    const bool better = placed && (!was_placed || header.type != BlockType::metadata);
    if (!*known || better) *known = FoundMessage{at_, header};
  }

  Result<void> look_at_padding(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return {};
    DOVETAIL_ASSIGN(auto padding, window_.view(begin, static_cast<std::size_t>(end - begin)));
    const bool clean = std::all_of(padding.begin(), padding.end(), [](std::byte b) { return b == std::byte{0}; });
    if (!clean) scan_.padding.push_back({begin, end - begin});
    return {};
  }

  SalvageFile& file_;
  const CheckedBytes& checked_;
  SlidingWindow window_;
  bool known_id_;
  ShardScan scan_;
  std::vector<std::byte> large_;  // bodies larger than the window
  std::uint64_t at_ = 0;
  std::uint64_t failed_end_ = 0;  // the furthest end of a body that failed
  std::uint64_t retried_ = 0;     // bytes checked for headers before that end
  std::uint64_t unreported_ = 0;
  bool noted_ = false;
};

}  // namespace

Result<std::optional<std::uint64_t>> identify_shard(SalvageFile& file) {
  DOVETAIL_ASSIGN(auto ids, ids_at_ends(file));
  return most_frequent(ids);
}

Result<std::optional<std::uint64_t>> search_identity(SalvageFile& file, const CheckedBytes& checked) {
  DOVETAIL_ASSIGN(auto ids, ids_at_ends(file));
  if (ids.size() != 1 || ids.front().blocks < 3) {
    DOVETAIL_TRY(count_blocks(file, checked, ids));
  }
  return most_frequent(ids);
}

Result<ShardScan> scan_shard(SalvageFile& file, std::optional<std::uint64_t> file_id, const CheckedBytes& checked) {
  if (file_id) {
    // Called only to refuse an unsupported version.
    DOVETAIL_TRY(ids_at_ends(file));
  } else {
    DOVETAIL_ASSIGN(file_id, search_identity(file, checked));
  }
  return Scanner(file, file_id, checked).run();
}

}  // namespace dovetail::detail
