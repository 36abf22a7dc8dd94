// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_limits.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "format/crc32c/crc32c.h"
#include "format/snappy_decoder.h"
#include "format/try.h"
#include "reader/dataset/stored_block.h"

namespace dovetail::tools {

namespace {

using BenchClock = std::chrono::steady_clock;

/// The most bytes of all open runs, over all threads, as in the budget of a reader.
constexpr std::uint64_t kGroupBytes = 64 << 20;
constexpr std::size_t kSlots = 4;
constexpr std::size_t kLeastRing = 64 << 10;
constexpr std::size_t kMostRing = 64 << 20;
/// Bytes of a record that are prefetched before it is copied.
constexpr std::size_t kPrefetch = 256;

/// Keeps the compiler from dropping work whose result nobody reads.
void keep(const void* data) {
  asm volatile("" : : "r"(data) : "memory");
}

/// Adds the time since the last call to one of the measured times.
class Lap {
 public:
  void into(double& seconds) {
    const BenchClock::time_point now = BenchClock::now();
    seconds += std::chrono::duration<double>(now - since_).count();
    since_ = now;
  }

 private:
  BenchClock::time_point since_ = BenchClock::now();
};

/// One thread of the walk.
class Walk {
 public:
  Walk(const BlockSample& sample, const WalkOptions& options, std::size_t first)
      : sample_(sample),
        open_runs_(std::max(1u, options.open_runs / options.threads)),
        group_bytes_(kGroupBytes / options.threads),
        next_(first),
        ring_(ring_bytes(sample, options.batch)) {}

  std::size_t walked() const noexcept { return walked_; }

  /// Reads, checks and decodes as many runs as may be open at a time, then copies the records of
  /// all.
  Result<void> group(Limits& limits) {
    std::uint64_t bytes = 0;
    blocks_.clear();
    for (std::size_t i = 0; i < open_runs_ && bytes < group_bytes_; ++i, ++walked_) {
      if (places_.size() <= i) places_.emplace_back();
      const BlockSample::Piece& piece = sample_.pieces[next_];
      next_ = (next_ + 1) % sample_.pieces.size();
      const std::uint64_t before = limits.raw_bytes;
      DOVETAIL_TRY(piece.direct ? read_row(piece, limits) : open_run(piece, places_[i], limits));
      bytes += limits.raw_bytes - before;
    }
    Lap lap;
    copy();
    lap.into(limits.copy_seconds);
    return {};
  }

 private:
  /// Memory of an open run.
  struct Place {
    std::vector<std::byte> stored;
    std::vector<std::byte> decoded;
  };

  static std::size_t ring_bytes(const BlockSample& sample, std::uint32_t batch) {
    std::uint64_t records = 0;
    std::uint64_t largest = 0;
    for (const detail::ShardFile& shard : sample.files) {
      records += shard.info().records;
      largest = std::max<std::uint64_t>(largest, shard.info().max_record_bytes);
    }
    std::uint64_t raw = 0;
    for (const detail::ShardFile& shard : sample.files) raw += shard.info().raw_bytes;
    const std::uint64_t mean = raw / std::max<std::uint64_t>(records, 1);
    const auto slots = static_cast<std::size_t>(std::min<std::uint64_t>(mean * batch * kSlots, kMostRing));
    return std::max({slots, kLeastRing, static_cast<std::size_t>(largest)});
  }

  /// Memory for the next `bytes` bytes of rows.
  std::byte* row(std::size_t bytes) {
    if (at_ + bytes > ring_.size()) at_ = 0;
    std::byte* const begin = ring_.data() + at_;
    at_ += bytes;
    return begin;
  }

  Result<void> read_row(const BlockSample::Piece& piece, Limits& limits) {
    const detail::ShardFile& shard = sample_.files[piece.file];
    const format::IndexEntry& entry = shard.blocks()[piece.first_block];
    head_.resize(detail::head_bytes(shard));
    const std::span<std::byte> into(row(entry.raw_bytes), entry.raw_bytes);
    Lap lap;
    Result<void> done = shard.file().read(entry.offset, {.first = head_, .second = into});
    lap.into(limits.read_seconds);
    if (done) done = detail::check_single(shard, piece.first_block, head_, into);
    lap.into(limits.check_seconds);
    limits.raw_bytes += entry.raw_bytes;
    return done ? done : done.error().at(shard.file().path(), entry.offset);
  }

  Result<void> open_run(const BlockSample::Piece& piece, Place& place, Limits& limits) {
    const detail::ShardFile& shard = sample_.files[piece.file];
    const std::uint64_t begin = shard.blocks()[piece.first_block].offset;
    const std::uint64_t end =
        shard.blocks()[piece.end_block - 1].offset + detail::stored_bytes(shard, piece.end_block - 1);
    if (place.stored.size() < end - begin) place.stored.resize(end - begin);
    std::size_t decoded = format::kDecodeSlack;
    for (std::size_t block = piece.first_block; block < piece.end_block; ++block) {
      decoded += detail::decoded_bytes(shard, block);
    }
    if (place.decoded.size() < decoded) place.decoded.resize(decoded);

    Lap lap;
    const std::span<std::byte> stored = std::span(place.stored).first(end - begin);
    DOVETAIL_TRY(shard.file().read(begin, stored));
    lap.into(limits.read_seconds);
    std::span<std::byte> out(place.decoded);
    for (std::size_t block = piece.first_block; block < piece.end_block; ++block) {
      const std::uint64_t offset = shard.blocks()[block].offset;
      const ByteView of_block = stored.subspan(offset - begin, detail::stored_bytes(shard, block));
      const std::uint32_t crc = format::crc32c(of_block);
      keep(&crc);
      double check = 0;
      lap.into(check);
      const Result<format::BlockRecords> records = detail::decode_stored(shard, block, of_block, out);
      if (!records) return records.error().at(shard.file().path(), offset);
      double checked_and_decoded = 0;  // decoding a block checks it once more
      lap.into(checked_and_decoded);
      limits.check_seconds += check;
      limits.decode_seconds += std::max(0.0, checked_and_decoded - check);
      out = out.subspan(detail::decoded_bytes(shard, block));
      blocks_.push_back(*records);
      limits.raw_bytes += shard.blocks()[block].raw_bytes;
    }
    return {};
  }

  /// Copies one record of each block in turn, in the way that the order of a plan takes them.
  void copy() {
    bool more = true;
    for (std::uint32_t record = 0; more; ++record) {
      more = false;
      for (const format::BlockRecords& block : blocks_) {
        if (record >= block.size()) continue;
        more = true;
        const ByteView bytes = block[record];
        // Prefetch the next record of this block, which is copied after one record of each other
        // block.
        for (std::size_t at = 0; at < std::min(bytes.size(), kPrefetch); at += 64) {
          __builtin_prefetch(bytes.data() + bytes.size() + at);
        }
        if (!bytes.empty()) std::memcpy(row(bytes.size()), bytes.data(), bytes.size());
      }
    }
    keep(ring_.data());
  }

  const BlockSample& sample_;
  std::size_t open_runs_;  // of this thread
  std::uint64_t group_bytes_;
  std::size_t next_;
  std::size_t walked_ = 0;
  std::vector<std::byte> ring_;
  std::size_t at_ = 0;
  std::vector<std::byte> head_;
  std::vector<Place> places_;
  std::vector<format::BlockRecords> blocks_;  // of the open runs
};

/// Walks on one thread until `done` returns true. Does not count the first group, which touches new
/// memory.
template <class Done>
Result<Limits> walk(const BlockSample& sample, const WalkOptions& options, unsigned thread, const Done& done) {
  Walk walk(sample, options, sample.pieces.size() * thread / options.threads);
  Limits limits;
  for (std::size_t group = 0; group < 2 || !done(walk); ++group) {
    DOVETAIL_TRY(walk.group(limits));
    if (group == 0) limits = {};
  }
  return limits;
}

}  // namespace

void Limits::add(const Limits& other) noexcept {
  read_seconds += other.read_seconds;
  check_seconds += other.check_seconds;
  decode_seconds += other.decode_seconds;
  copy_seconds += other.copy_seconds;
  raw_bytes += other.raw_bytes;
}

Result<Limits> measure_limits(const BlockSample& sample, const WalkOptions& options, double seconds) {
  Limits sum;
  sum.threads = options.threads;
  if (sample.pieces.empty()) return sum;
  const BenchClock::time_point start = BenchClock::now();
  const auto done = [&](const Walk&) {
    return std::chrono::duration<double>(BenchClock::now() - start).count() >= seconds;
  };
  std::vector<Result<Limits>> found(options.threads, Limits());
  {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < options.threads; ++thread) {
      threads.emplace_back([&, thread] { found[thread] = walk(sample, options, thread, done); });
    }
  }
  for (const Result<Limits>& limits : found) {
    if (!limits) return limits.error();
    sum.add(*limits);
  }
  return sum;
}

Result<void> warm_up(const BlockSample& sample, const WalkOptions& options) {
  if (sample.pieces.empty()) return {};
  const Result<Limits> walked =
      walk(sample, options, 0, [&](const Walk& walk) { return walk.walked() >= sample.pieces.size(); });
  return walked ? Result<void>() : walked.error();
}

}  // namespace dovetail::tools
