// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_limits.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <vector>

#include "format/block_decoder.h"
#include "format/crc32c/crc32c.h"
#include "format/layout.h"
#include "format/snappy_decoder.h"
#include "format/structures.h"

namespace dovetail::tools {

namespace {

using BenchClock = std::chrono::steady_clock;

/// Blocks go through the parts in groups: large enough for the clock, small enough to stay in the caches of a core from
/// one part to the next, as in a reader.
constexpr std::size_t kGroupBlocks = 8;
constexpr std::uint64_t kGroupBytes = 1 << 20;
/// What a reader reads straight into rows.
constexpr std::uint32_t kDirectBytes = 16 << 10;
constexpr std::size_t kSlots = 4;
constexpr std::size_t kLeastRing = 64 << 10;
constexpr std::size_t kMostRing = 64 << 20;

/// Keeps the compiler from dropping work whose result nobody reads.
void keep(const void* data) {
  asm volatile("" : : "r"(data) : "memory");
}

bool is_direct(const BlockInfo& block) {
  return block.records == 1 && block.codec == Codec::none && block.raw_bytes >= kDirectBytes;
}

/// Adds the time since the last call to what is being measured.
class Lap {
 public:
  void into(double& seconds) {
    const BenchClock::time_point now = BenchClock::now();
    seconds += std::chrono::duration<double>(now - since_).count();
    since_ = now;
  }
  /// Leaves the time since the last call out.
  void skip() { since_ = BenchClock::now(); }

 private:
  BenchClock::time_point since_ = BenchClock::now();
};

class Bench {
 public:
  Bench(const BlockSample& sample, std::uint32_t batch) : sample_(sample), ring_(ring_bytes(sample, batch)) {}

  /// All blocks of the sample once.
  Result<void> round(Limits& limits) {
    std::size_t begin = 0;
    while (begin < sample_.blocks.size()) {
      std::size_t end = begin + 1;
      std::uint64_t bytes = sample_.blocks[begin].info.raw_bytes;
      while (end < sample_.blocks.size() && end - begin < kGroupBlocks) {
        bytes += sample_.blocks[end].info.raw_bytes;
        if (bytes > kGroupBytes) break;
        ++end;
      }
      if (Result<void> done = group(begin, end, limits); !done) return done;
      begin = end;
    }
    return {};
  }

 private:
  /// One block on its way.
  struct Place {
    std::vector<std::byte> header_and_body;
    std::vector<std::byte> decoded;
    format::BlockHeader header;
    ByteView body;
    format::BlockRecords records;
  };

  static std::size_t ring_bytes(const BlockSample& sample, std::uint32_t batch) {
    std::uint64_t records = 0;
    std::uint64_t largest = 0;
    for (const BlockSample::Block& block : sample.blocks) {
      records += block.info.records;
      largest = std::max<std::uint64_t>(largest, block.info.raw_bytes);
    }
    const std::uint64_t mean = sample.raw_bytes / std::max<std::uint64_t>(records, 1);
    const auto slots = static_cast<std::size_t>(std::min<std::uint64_t>(mean * batch * kSlots, kMostRing));
    return std::max({slots, kLeastRing, static_cast<std::size_t>(largest)});
  }

  /// Where the next so many bytes of rows go.
  std::byte* row(std::size_t bytes) {
    if (at_ + bytes > ring_.size()) at_ = 0;
    std::byte* const begin = ring_.data() + at_;
    at_ += bytes;
    return begin;
  }

  Result<void> group(std::size_t begin, std::size_t end, Limits& limits) {
    places_.resize(std::max(places_.size(), end - begin));
    for (std::size_t i = begin; i < end; ++i) prepare(sample_.blocks[i].info, places_[i - begin]);
    Lap lap;
    for (std::size_t i = begin; i < end; ++i) {
      if (!file_ || number_ != sample_.blocks[i].file) {
        lap.into(limits.read_seconds);
        if (Result<void> opened = open_file(sample_.blocks[i].file); !opened) return opened;
        lap.skip();
      }
      if (Result<void> read = this->read(sample_.blocks[i], places_[i - begin]); !read) return read;
    }
    lap.into(limits.read_seconds);
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t crc = format::crc32c(places_[i - begin].body);
      keep(&crc);
    }
    double check_seconds = 0;
    lap.into(check_seconds);
    for (std::size_t i = begin; i < end; ++i) {
      Place& place = places_[i - begin];
      const Result<format::BlockRecords> records = format::decode_block(place.header, place.body, place.decoded);
      if (!records) return named(records.error(), sample_.blocks[i]);
      place.records = *records;
    }
    double checked_and_decoded = 0;  // decoding a block checks it once more
    lap.into(checked_and_decoded);
    limits.check_seconds += check_seconds;
    limits.decode_seconds += std::max(0.0, checked_and_decoded - check_seconds);
    limits.copied_bytes += copy(begin, end);
    lap.into(limits.copy_seconds);
    for (std::size_t i = begin; i < end; ++i) {
      const BlockInfo& block = sample_.blocks[i].info;
      limits.raw_bytes += block.raw_bytes;
      limits.stored_bytes += block.stored_bytes;
      if (block.codec != Codec::none) limits.compressed_bytes += block.raw_bytes;
    }
    return {};
  }

  static void prepare(const BlockInfo& block, Place& place) {
    const std::size_t bytes = format::kBlockHeaderBytes + std::size_t{block.stored_bytes};
    if (place.header_and_body.size() < bytes) place.header_and_body.resize(bytes);
    const std::size_t decoded = std::size_t{block.raw_bytes} + format::kDecodeSlack;
    if (block.codec != Codec::none && place.decoded.size() < decoded) place.decoded.resize(decoded);
  }

  /// One at a time: the reader that is measured needs the descriptors.
  Result<void> open_file(std::uint32_t number) {
    file_.reset();
    Result<BlockFile> opened = BlockFile::open(sample_.files[number]);
    if (!opened) return opened.error();
    file_ = std::move(*opened);
    number_ = number;
    return {};
  }

  Result<void> read(const BlockSample::Block& block, Place& place) {
    const BlockFile& file = *file_;
    const std::span<std::byte> header(place.header_and_body.data(), format::kBlockHeaderBytes);
    if (is_direct(block.info)) {
      const std::span<std::byte> into(row(block.info.stored_bytes), block.info.stored_bytes);
      if (Result<void> read = file.read(block.info.offset, header); !read) return read;
      if (Result<void> read = file.read(block.info.offset + header.size(), into); !read) return read;
      place.body = into;
    } else {
      const std::span<std::byte> into(place.header_and_body.data(), header.size() + block.info.stored_bytes);
      if (Result<void> read = file.read(block.info.offset, into); !read) return read;
      place.body = into.subspan(header.size());
    }
    const Result<format::BlockHeader> decoded =
        format::decode_block_header(std::span<const std::byte, format::kBlockHeaderBytes>(header));
    if (!decoded) return named(decoded.error(), block);
    if (decoded->body_bytes() != block.info.stored_bytes || decoded->raw_bytes != block.info.raw_bytes ||
        decoded->codec != block.info.codec) {
      return named(Error(Errc::index_mismatch, "the header of a block contradicts the index"), block);
    }
    place.header = *decoded;
    return {};
  }

  Error named(const Error& error, const BlockSample::Block& block) const {
    return error.at(sample_.files[block.file], block.info.offset);
  }

  /// One record of each block in turn, as the order of a plan takes them.
  std::uint64_t copy(std::size_t begin, std::size_t end) {
    std::uint64_t copied = 0;
    bool more = true;
    for (std::uint32_t record = 0; more; ++record) {
      more = false;
      for (std::size_t i = begin; i < end; ++i) {
        const format::BlockRecords& records = places_[i - begin].records;
        if (record >= records.size() || is_direct(sample_.blocks[i].info)) continue;
        more = true;
        const ByteView bytes = records[record];
        if (!bytes.empty()) std::memcpy(row(bytes.size()), bytes.data(), bytes.size());
        copied += bytes.size();
      }
    }
    keep(ring_.data());
    return copied;
  }

  const BlockSample& sample_;
  std::optional<BlockFile> file_;  // the sample's file of that number
  std::uint32_t number_ = 0;
  std::vector<std::byte> ring_;
  std::size_t at_ = 0;
  std::vector<Place> places_;
};

}  // namespace

double Limits::together_uncompressed() const noexcept {
  if (stored_bytes == 0) return 0;
  const double as_stored = static_cast<double>(raw_bytes) / static_cast<double>(stored_bytes);
  return rate(raw_bytes, (read_seconds + check_seconds) * as_stored + copy_seconds);
}

Result<Limits> measure_limits(const BlockSample& sample, std::uint32_t batch, double seconds) {
  Bench bench(sample, batch);
  Limits limits;
  if (sample.blocks.empty()) return limits;
  if (Result<void> warm = bench.round(limits); !warm) return warm.error();
  limits = {};
  const BenchClock::time_point start = BenchClock::now();
  do {
    if (Result<void> round = bench.round(limits); !round) return round.error();
  } while (std::chrono::duration<double>(BenchClock::now() - start).count() < seconds);
  return limits;
}

}  // namespace dovetail::tools
