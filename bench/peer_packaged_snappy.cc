// SPDX-License-Identifier: Apache-2.0
#include <span>
#include <stdexcept>
#include <vector>

#include <snappy.h>

#include "bench/contestants.h"
#include "bench/files.h"
#include "bench/shuffled_rows.h"
#include "format/block_decoder.h"
#include "format/crc32c/crc32c.h"
#include "format/layout.h"

namespace dovetail::bench {

namespace {

/// Records of one shard, block after block.
class SnappyBlocks {
 public:
  explicit SnappyBlocks(const std::string& path) : file_(path), index_(read_index(file_)) {}

  void rewind() {
    block_ = 0;
    record_ = 0;
    records_ = {};
  }

  bool next(std::string& record) {
    while (record_ == records_.size()) {
      if (block_ == index_.size()) return false;
      load(index_[block_++]);
      record_ = 0;
    }
    record.assign(as_chars(records_[record_++]));
    return true;
  }

 private:
  void load(const format::IndexEntry& entry) {
    // Only ever grown: resizing would write zeros that are then overwritten.
    const std::size_t stored = std::size_t{entry.table_bytes} + entry.stored_bytes;
    if (stored_.size() < stored) stored_.resize(stored);
    if (raw_.size() < entry.raw_bytes) raw_.resize(entry.raw_bytes);
    const auto body = std::span(stored_).first(stored);
    file_.read(entry.offset + format::kBlockHeaderBytes, body);
    if (format::crc32c(body) != entry.payload_crc) throw std::runtime_error("a block fails its CRC");
    const auto payload = body.subspan(entry.table_bytes);
    const std::byte* data = payload.data();
    if (entry.codec == Codec::snappy) {
      const auto* from = reinterpret_cast<const char*>(payload.data());
      std::size_t length = 0;
      if (!snappy::GetUncompressedLength(from, payload.size(), &length) || length != entry.raw_bytes ||
          !snappy::RawUncompress(from, payload.size(), reinterpret_cast<char*>(raw_.data()))) {
        throw std::runtime_error("a block cannot be decoded");
      }
      data = raw_.data();
    }
    records_ = entry.table_bytes == 0 ? format::BlockRecords(data, entry.records, entry.raw_bytes / entry.records)
                                      : format::BlockRecords(data, body.data(), entry.records);
  }

  ReadFile file_;
  std::vector<format::IndexEntry> index_;
  std::vector<std::byte> stored_;
  std::vector<std::byte> raw_;
  format::BlockRecords records_;
  std::size_t block_ = 0;
  std::uint32_t record_ = 0;
};

}  // namespace

Outcome run_packaged_snappy(const Job& job) {
  return run_shuffled<SnappyBlocks>(job, share_of(shards_in(job.data), job.rank, job.world));
}

}  // namespace dovetail::bench
