// SPDX-License-Identifier: Apache-2.0
#include "convert/shard_jobs.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "convert/spill.h"
#include "format/try.h"
#include "sources/bytes/hashes.h"

namespace dovetail::detail {

namespace {

constexpr std::uint64_t kSortedPerTick = 4096;

/// A record in memory before sorting.
struct LoadedRecord {
  SpilledHead head;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// Memory of a record besides its bytes: its entry, and the same again while the list grows.
constexpr std::uint64_t kLoadedBytes = 2 * sizeof(LoadedRecord);

// Returns the range of a key among `ranges` ranges of equal width. `first_key` is the first key of
// a range.
std::uint64_t range_of(std::uint64_t key, std::uint64_t ranges) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(key) * ranges) >> 64);
}
std::uint64_t first_key(std::uint64_t range, std::uint64_t ranges) {
  if (range == ranges) return 0;  // one past the last, modulo 2^64
  const unsigned __int128 scaled = (static_cast<unsigned __int128>(range) << 64) + (ranges - 1);
  return static_cast<std::uint64_t>(scaled / ranges);
}

/// The buckets: for each missing shard, as many as needed so that each fits into memory.
class Buckets {
 public:
  Buckets(const ShardWork& work, const Survey& survey) : shards_(work.shards), begin_(work.tally->begin()) {
    for (std::uint32_t shard = begin_; shard != work.tally->end(); ++shard) {
      const bool missing = !work.tally->has(shard);
      numbers_.push_back(missing ? static_cast<std::int64_t>(missing_.size()) : -1);
      if (missing) missing_.push_back(shard);
    }
    readers_ = static_cast<unsigned>(std::min<std::size_t>(work.jobs, std::max<std::size_t>(missing_.size(), 1)));
    limit_ = work.memory_bytes / readers_;
    // Aims at half of the limit on average, so that few buckets exceed it.
    const std::uint64_t all = survey.raw_bytes + survey.records * kLoadedBytes;
    per_shard_ = std::max<std::uint64_t>(all / shards_ / std::max<std::uint64_t>(limit_ / 2, 1) + 1, 1);
  }

  const std::vector<std::uint32_t>& missing() const noexcept { return missing_; }
  unsigned readers() const noexcept { return readers_; }
  /// Memory limit of one thread, in bytes.
  std::uint64_t limit() const noexcept { return limit_; }
  std::size_t count() const noexcept { return missing_.size() * per_shard_; }
  std::uint64_t per_shard() const noexcept { return per_shard_; }

  /// Returns nothing if the shard of the key is not missing.
  std::optional<std::size_t> of(std::uint64_t key) const noexcept {
    const std::uint64_t range = range_of(key, shards_ * per_shard_);
    const std::uint64_t shard = range / per_shard_;
    if (shard < begin_ || shard - begin_ >= numbers_.size() || numbers_[shard - begin_] < 0) return std::nullopt;
    return static_cast<std::size_t>(static_cast<std::uint64_t>(numbers_[shard - begin_]) * per_shard_ +
                                    range % per_shard_);
  }
  /// First and last key of bucket `part` of the missing shard `number`.
  std::pair<std::uint64_t, std::uint64_t> keys(std::size_t number, std::uint64_t part) const noexcept {
    const std::uint64_t ranges = shards_ * per_shard_;
    const std::uint64_t range = missing_[number] * per_shard_ + part;
    return {first_key(range, ranges), first_key(range + 1, ranges) - 1};
  }

 private:
  std::uint64_t shards_;
  std::uint32_t begin_;
  std::uint64_t per_shard_ = 1;
  std::uint64_t limit_ = 0;
  unsigned readers_ = 1;
  std::vector<std::uint32_t> missing_;
  std::vector<std::int64_t> numbers_;  // for each shard of the part, its number among the missing ones, or -1
};

Error too_large(const LineCursor& cursor, std::uint64_t limit) {
  return Error(Errc::budget_too_small, "the record has " + std::to_string(cursor.record().size()) +
                                           " bytes, but a shuffle has memory for " + std::to_string(limit) +
                                           " on each thread; raise memory_bytes or lower jobs")
      .at(cursor.file(), cursor.offset());
}

/// The first pass, on any number of threads. Each thread takes shares of the line.
Result<void> put_aside(const ShardWork& work, const Buckets& buckets, std::uint64_t seed, ProgressMeter& meter,
                       Spill& spill) {
  const auto shares = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(work.line->files(), 1, 4 * work.jobs));
  // Every part reads all input, but counts only the skipped records of its own shards.
  const SkipScope scope{.shares = shares,
                        .begin = work.line->begin_of(work.tally->begin(), work.shards),
                        .end = work.line->begin_of(work.tally->end(), work.shards)};
  FailureGate gate;
  std::atomic<std::uint32_t> next{0};
  const auto put = [&](const LineCursor& cursor) -> Result<void> {
    const ByteView record = cursor.record();
    const std::uint64_t key = shuffle_key(seed, cursor.source_number(), cursor.place_in_source(), cursor.ordinal());
    const auto bucket = buckets.of(key);
    if (!bucket) return {};
    work.notes->add(cursor);
    if (record.size() + kLoadedBytes > buckets.limit()) return too_large(cursor, buckets.limit());
    const SpilledHead head{.key = key,
                           .source = static_cast<std::uint32_t>(cursor.source_number()),
                           .place = cursor.place_in_source(),
                           .ordinal = cursor.ordinal(),
                           .output = static_cast<std::uint32_t>(work.split->output_of(cursor.key(), record))};
    return spill.add(*bucket, head, record);
  };
  run_workers(std::min(work.jobs, shares), gate, [&] {
    LineCursor cursor(*work.line, scope);
    for (std::uint32_t share = next.fetch_add(1); share < shares && !gate.stops(share); share = next.fetch_add(1)) {
      const auto read = read_range(
          cursor, work.line->begin_of(share, shares), work.line->begin_of(share + 1, shares), meter,
          [&gate, share] { return gate.stops(share); }, put);
      if (!read) return gate.fail(share, read.error());
      work.skips->add(cursor.take_skips(share));
    }
  });
  DOVETAIL_TRY(gate.outcome());
  return spill.flush();
}

/// One thread of the second pass.
class SortJob {
 public:
  SortJob(const ShardWork& work, const Buckets& buckets, const Spill& spill, FailureGate& gate, ProgressMeter& meter,
          double work_per_byte)
      : work_(work), buckets_(buckets), spill_(spill), gate_(gate), meter_(meter), work_per_byte_(work_per_byte) {}

  void run(std::atomic<std::size_t>& next, unsigned threads) {
    auto pipelines = start_pipelines(work_, threads);
    if (!pipelines) return gate_.fail(0, pipelines.error());
    pipelines_ = std::move(*pipelines);
    for (std::size_t number = next.fetch_add(1); number < buckets_.missing().size(); number = next.fetch_add(1)) {
      shard_ = buckets_.missing()[number];
      if (gate_.stops(shard_)) break;
      if (auto written = write_shard(number); !written) {
        gate_.fail(shard_, written.error());
        break;
      }
    }
    // Finish the pipelines even after a failure: complete shards are worth keeping.
    for (auto& pipeline : pipelines_) {
      if (auto finished = pipeline->finish(); !finished) gate_.fail(shard_, finished.error());
    }
  }

 private:
  Result<void> write_shard(std::size_t number) {
    for (auto& pipeline : pipelines_) {
      DOVETAIL_TRY(pipeline->begin_shard(shard_));
    }
    for (std::uint64_t part = 0; part != buckets_.per_shard(); ++part) {
      const auto [first, last] = buckets_.keys(number, part);
      DOVETAIL_TRY(write_bucket(number * buckets_.per_shard() + part, first, last));
      if (gate_.stops(shard_)) return {};
    }
    for (auto& pipeline : pipelines_) {
      DOVETAIL_TRY(pipeline->end_shard());
    }
    return {};
  }

  // A bucket may be larger than estimated. Then it is read several times, one range of its keys at
  // a time.
  Result<void> write_bucket(std::size_t bucket, std::uint64_t first, std::uint64_t last) {
    const std::uint64_t bytes = spill_.bytes(bucket) + spill_.records(bucket) * kLoadedBytes;
    const std::uint64_t reads = bytes <= buckets_.limit() ? 1 : bytes / buckets_.limit() * 2 + 1;
    std::uint64_t width = (last - first) / reads;  // number of keys in a range, minus one
    for (;;) {
      const std::uint64_t end = last - first <= width ? last : first + width;
      DOVETAIL_ASSIGN(auto fits, load(bucket, first, end));
      if (!fits) {
        width /= 2;
        continue;
      }
      DOVETAIL_TRY(write_loaded());
      if (end == last || gate_.stops(shard_)) return {};
      first = end + 1;
    }
  }

  // Returns whether the records of these keys fit into memory. A single key always fits: no record
  // exceeds the limit.
  Result<bool> load(std::size_t bucket, std::uint64_t first, std::uint64_t last) {
    bytes_.clear();
    records_.clear();
    bool fits = true;
    const auto take = [&](const SpilledHead& head, ByteView record) {
      if (head.key < first || head.key > last) return true;
      const std::uint64_t needed = bytes_.size() + record.size() + (records_.size() + 1) * kLoadedBytes;
      fits = needed <= buckets_.limit() || first == last;
      if (!fits) return false;
      records_.push_back({head, bytes_.size(), record.size()});
      bytes_.insert(bytes_.end(), record.begin(), record.end());
      return true;
    };
    // Without this, growing would hold the bytes twice.
    bytes_.reserve(static_cast<std::size_t>(std::min(spill_.bytes(bucket), buckets_.limit())));
    DOVETAIL_TRY(spill_.read(bucket, take));
    return fits;
  }

  Result<void> write_loaded() {
    std::sort(records_.begin(), records_.end(),
              [](const LoadedRecord& a, const LoadedRecord& b) { return a.head < b.head; });
    std::uint64_t done = 0;
    for (std::size_t i = 0; i != records_.size(); ++i) {
      const LoadedRecord& record = records_[i];
      auto appended = pipelines_[record.head.output]->append(ByteView(bytes_).subspan(record.offset, record.bytes));
      if (!appended) return appended;
      done += record.bytes + 1;
      if (i % kSortedPerTick != kSortedPerTick - 1 && i + 1 != records_.size()) continue;
      if (gate_.stops(shard_)) return {};
      if (auto told = meter_.add({.work = static_cast<double>(std::exchange(done, 0)) * work_per_byte_}); !told) {
        return told;
      }
    }
    return {};
  }

  const ShardWork& work_;
  const Buckets& buckets_;
  const Spill& spill_;
  FailureGate& gate_;
  ProgressMeter& meter_;
  double work_per_byte_;
  std::vector<std::unique_ptr<EncodePipeline>> pipelines_;
  std::uint32_t shard_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<LoadedRecord> records_;
};

}  // namespace

Result<void> write_shuffled_shards(const ShardWork& work, const Survey& survey, std::uint64_t seed) {
  const Buckets buckets(work, survey);
  if (buckets.missing().empty()) return {};
  DOVETAIL_ASSIGN(auto spill, Spill::create(*work.folders.front(), buckets.count(), work.memory_bytes));
  // Each pass counts as half of the work.
  const auto half = static_cast<double>(std::max<std::uint64_t>(work.line->bytes(), 1));
  ProgressMeter meter(work.progress, work.line->bytes(), 2 * half);
  DOVETAIL_TRY(put_aside(work, buckets, seed, meter, *spill));

  std::uint64_t units = 0;
  for (std::size_t bucket = 0; bucket != buckets.count(); ++bucket) {
    units += spill->bytes(bucket) + spill->records(bucket);
  }
  const double work_per_byte = half / static_cast<double>(std::max<std::uint64_t>(units, 1));
  FailureGate gate;
  std::atomic<std::size_t> next{0};
  const unsigned threads = (work.jobs + buckets.readers() - 1) / buckets.readers();
  run_workers(buckets.readers(), gate,
              [&] { SortJob(work, buckets, *spill, gate, meter, work_per_byte).run(next, threads); });
  return gate.outcome();
}

}  // namespace dovetail::detail
