// SPDX-License-Identifier: Apache-2.0
#include "recover/block_choice.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "format/crc32c/crc32c.h"
#include "format/shard_encoder.h"
#include "format/snappy_decoder.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

using format::kBlockHeaderBytes;
using format::kIndexEntryBytes;

using DataBlocks = std::span<FoundBlock>;

void sort_blocks(std::vector<FoundBlock>& blocks) {
  const auto key = [](const FoundBlock& block) {
    return std::tuple(!block.is_data(), block.first_record, block.sequence, !block.at_own_offset, block.position);
  };
  std::sort(blocks.begin(), blocks.end(), [&](const FoundBlock& a, const FoundBlock& b) { return key(a) < key(b); });
}

DataBlocks data_blocks(ShardScan& scan) {
  const auto end = std::find_if(scan.blocks.begin(), scan.blocks.end(), [](const auto& b) { return !b.is_data(); });
  return {scan.blocks.begin(), end};
}

/// Walks over the entries of the index and the blocks side by side. Both are in the order of the
/// records.
class IndexComparison {
 public:
  IndexComparison(SalvageFile& file, const FoundMessage& index, DataBlocks blocks)
      : file_(file), index_(index), blocks_(blocks), known_(blocks.size()) {}

  /// Returns whether the index could be read.
  Result<bool> run() {
    const std::uint64_t entries = index_.header.stored_bytes / kIndexEntryBytes;
    if (index_.header.stored_bytes % kIndexEntryBytes != 0 || index_.header.sequence < entries) return false;
    sequence_ = index_.header.sequence - static_cast<std::uint32_t>(entries);
    std::vector<std::byte> bytes(std::min<std::size_t>(index_.header.stored_bytes, kIndexEntryBytes << 13));
    for (std::uint64_t done = 0; done < index_.header.stored_bytes; done += bytes.size()) {
      bytes.resize(std::min<std::uint64_t>(bytes.size(), index_.header.stored_bytes - done));
      DOVETAIL_ASSIGN(auto got, file_.read_at(index_.position + kBlockHeaderBytes + done, bytes));
      if (got < bytes.size() || file_.is_unreadable(index_.position + kBlockHeaderBytes + done, bytes.size()))
        return false;
      for (std::size_t at = 0; at < bytes.size(); at += kIndexEntryBytes) {
        if (!compare(std::span<const std::byte, kIndexEntryBytes>(&bytes[at], kIndexEntryBytes))) return false;
      }
    }
    return true;
  }

  bool knows(std::size_t block) const noexcept { return known_[block]; }
  std::uint64_t known_blocks() const noexcept { return count_; }

 private:
  bool compare(std::span<const std::byte, kIndexEntryBytes> bytes) {
    const auto entry = format::decode_index_entry(bytes);
    if (!entry) return false;
    const std::uint32_t crc = format::crc32c(bytes);
    while (at_ < blocks_.size() && blocks_[at_].first_record < first_record_) ++at_;
    for (; at_ < blocks_.size() && blocks_[at_].first_record == first_record_; ++at_) {
      known_[at_] = blocks_[at_].sequence == sequence_ && blocks_[at_].entry_crc == crc;
      count_ += known_[at_] ? 1 : 0;
    }
    first_record_ += entry->records;
    ++sequence_;
    return true;
  }

  SalvageFile& file_;
  const FoundMessage& index_;
  const DataBlocks blocks_;
  std::vector<bool> known_;
  std::uint64_t count_ = 0;
  std::size_t at_ = 0;
  std::uint64_t first_record_ = 0;
  std::uint32_t sequence_ = 0;
};

// The blocks missing between two blocks must hold the records missing between them, within the
// format's limits.
bool may_follow(const FoundBlock& before, const FoundBlock& block) noexcept {
  if (block.first_record < before.end_record() || block.sequence <= before.sequence) return false;
  const std::uint64_t records = block.first_record - before.end_record();
  const std::uint64_t blocks = std::uint64_t{block.sequence} - before.sequence - 1;
  return blocks <= records && records <= blocks * format::kMaxBlockRecords;
}

bool is_repeated(const FoundBlock& before, const FoundBlock& block) noexcept {
  return block.first_record == before.first_record && block.sequence == before.sequence &&
         block.entry_crc == before.entry_crc;
}

FoundBlock* next_in_chain(DataBlocks blocks, const FoundBlock& block) {
  const auto place = [](const FoundBlock& b) { return std::pair(b.first_record, b.sequence); };
  const std::pair wanted(block.end_record(), block.sequence + 1);
  const auto at = std::lower_bound(blocks.begin(), blocks.end(), wanted,
                                   [&](const FoundBlock& b, const auto& key) { return place(b) < key; });
  return at != blocks.end() && place(*at) == wanted ? &*at : nullptr;
}

// Gives each block the length of its whole chain.
void measure_chains(DataBlocks blocks) {
  for (std::size_t i = blocks.size(); i-- > 0;) {
    const FoundBlock* const next = next_in_chain(blocks, blocks[i]);
    blocks[i].chain = next == nullptr ? 1 : next->chain + 1;
  }
  for (FoundBlock& block : blocks) {
    if (FoundBlock* const next = next_in_chain(blocks, block)) next->chain = std::max(next->chain, block.chain);
  }
}

bool is_likelier(const FoundBlock& a, const FoundBlock& b) noexcept {
  return std::pair(a.at_own_offset, a.chain) > std::pair(b.at_own_offset, b.chain);
}

/// The blocks kept so far. Each may follow the block before.
class Sequence {
 public:
  explicit Sequence(std::size_t most) { kept_.reserve(most); }

  const FoundBlock* last() const noexcept { return kept_.empty() ? nullptr : kept_.back(); }

  /// Returns how many kept blocks stay if `block` comes behind them. A block that may follow one
  /// kept block may follow all before it, so the others are the last ones.
  std::size_t before(const FoundBlock& block) const {
    const auto stay = [&](const FoundBlock* kept) { return may_follow(*kept, block); };
    return static_cast<std::size_t>(std::partition_point(kept_.begin(), kept_.end(), stay) - kept_.begin());
  }

  /// Returns whether `block` is likelier than each kept block from `first` on. Needs: there is at
  /// least one.
  bool yields(std::size_t first, const FoundBlock& block) const {
    return is_likelier(block, *kept_[*std::lower_bound(peaks_.begin(), peaks_.end(), first)]);
  }

  /// Replaces the kept blocks from `first` on by `block`.
  template <class Reject>
  void put(std::size_t first, FoundBlock& block, Reject&& reject) {
    while (!peaks_.empty() && (peaks_.back() >= first || !is_likelier(*kept_[peaks_.back()], block))) peaks_.pop_back();
    std::for_each(kept_.begin() + static_cast<std::ptrdiff_t>(first), kept_.end(), reject);
    kept_.resize(first);
    peaks_.push_back(first);
    kept_.push_back(&block);
  }

 private:
  std::vector<FoundBlock*> kept_;
  // Kept blocks that are likelier than all behind them, so that a search need not visit all blocks.
  std::vector<std::size_t> peaks_;
};

bool contradict(DataBlocks blocks) {
  const FoundBlock* before = nullptr;
  for (const FoundBlock& block : blocks) {
    if (block.rejected) continue;
    if (before != nullptr && !may_follow(*before, block)) return true;
    before = &block;
  }
  return false;
}

// A block that contradicts several others stays only if it is likelier than each of them. Otherwise
// the others stay.
void reject_contradictions(ShardScan& scan) {
  DataBlocks blocks = data_blocks(scan);
  if (!contradict(blocks)) return;
  measure_chains(blocks);
  Sequence kept(blocks.size());
  for (FoundBlock& block : blocks) {
    if (block.rejected) continue;
    const std::size_t first = kept.before(block);
    const FoundBlock* const last = kept.last();
    if (last != nullptr && !may_follow(*last, block)) {
      const bool repeated = is_repeated(*last, block);
      if (repeated || !kept.yields(first, block)) {
        scan.reject(block, repeated ? Finding::repeated : Finding::contradicting);
        continue;
      }
    }
    kept.put(first, block, [&](FoundBlock* beaten) { scan.reject(*beaten, Finding::contradicting); });
  }
}

/// Loads one block at a time, into buffers that it reuses.
class BlockLoader {
 public:
  explicit BlockLoader(SalvageFile& file) : file_(file) {}

  /// Returns nothing if the block has changed since the scan, or does not decode.
  Result<std::optional<format::BlockRecords>> load(const FoundBlock& block) {
    std::array<std::byte, kBlockHeaderBytes> head;
    auto got = file_.read_at(block.position, head);
    if (!got) return got.error();
    const auto header = format::decode_block_header(head);
    if (*got < head.size() || !header || entry_is_other(block, *header)) return std::nullopt;
    body_.resize(header->body_bytes());
    got = file_.read_at(block.position + kBlockHeaderBytes, body_);
    if (!got) return got.error();
    if (*got < body_.size() || file_.is_unreadable(block.position, bytes())) return std::nullopt;
    if (header->codec != Codec::none) out_.resize(std::size_t{header->raw_bytes} + format::kDecodeSlack);
    auto records = format::decode_block(*header, body_, out_);
    if (records) return std::optional(*records);
    if (records.error().kind() == ErrorKind::damaged) return std::nullopt;
    return records.error();  // such as no memory for decoding
  }
  std::uint64_t bytes() const noexcept { return kBlockHeaderBytes + body_.size(); }

 private:
  // The file may have changed since the scan, and only the scan compared sizes with the file's
  // size.
  static bool entry_is_other(const FoundBlock& block, const format::BlockHeader& header) noexcept {
    return header.first_record != block.first_record || header.records != block.records ||
           header.span_bytes() != block.end() - block.position;
  }

  SalvageFile& file_;
  std::vector<std::byte> body_;
  std::vector<std::byte> out_;
};

// Returns whether all records are there, but differ from those of the footer. Then foreign blocks
// are among them.
Result<bool> has_foreign_records(SalvageFile& file, const ShardInfo& content, const CheckedBytes& checked,
                                 ShardScan trial) {
  reject_contradictions(trial);
  DOVETAIL_ASSIGN(auto decoded, decode_blocks(file, trial, {}, checked));
  return decoded.records == content.records && decoded.fingerprint != content.fingerprint;
}

}  // namespace

Result<void> choose_blocks(SalvageFile& file, const std::optional<ShardInfo>& content, const CheckedBytes& checked,
                           ShardScan& scan) {
  sort_blocks(scan.blocks);
  const DataBlocks blocks = data_blocks(scan);
  if (scan.index) {
    IndexComparison index(file, *scan.index, blocks);
    DOVETAIL_ASSIGN(auto readable, index.run());
    bool trusted = readable && 2 * index.known_blocks() >= blocks.size();
    if (readable && !trusted && content) {
      DOVETAIL_ASSIGN(auto foreign, has_foreign_records(file, *content, checked, scan));
      trusted = foreign;
    }
    for (std::size_t i = 0; trusted && i < blocks.size(); ++i) {
      if (!index.knows(i)) scan.reject(blocks[i], Finding::contradicting);
    }
    if (!trusted) {
      const bool unreadable = file.is_unreadable(scan.index->position, scan.index->header.span_bytes());
      scan.notes.push_back({scan.index->position, unreadable ? Finding::unreadable : Finding::contradicting});
      scan.index.reset();
    }
  }
  reject_contradictions(scan);
  return {};
}

Result<DecodedBlocks> decode_blocks(SalvageFile& file, ShardScan& scan, const BlockSink& sink,
                                    const CheckedBytes& checked) {
  DecodedBlocks decoded;
  BlockLoader loader(file);
  format::RecordFingerprint fingerprint;
  for (FoundBlock& block : data_blocks(scan)) {
    if (block.rejected) continue;
    DOVETAIL_ASSIGN(auto records, loader.load(block));
    DOVETAIL_TRY(checked(loader.bytes()));
    if (!records) {
      const bool unreadable = file.is_unreadable(block.position, block.end() - block.position);
      scan.reject(block, unreadable ? Finding::unreadable : Finding::undecodable);
      continue;
    }
    for (std::uint32_t i = 0; i < records->size(); ++i) fingerprint.add((*records)[i]);
    if (sink) {
      DOVETAIL_TRY(sink(*records));
    }
    decoded.records += block.records;
    ++decoded.blocks;
  }
  decoded.fingerprint = fingerprint.value();
  return decoded;
}

}  // namespace dovetail::detail
