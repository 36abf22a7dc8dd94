// SPDX-License-Identifier: Apache-2.0
#include "inspect/record_survey.h"

#include <algorithm>
#include <optional>
#include <set>

#include "format/try.h"

namespace dovetail::inspect {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr std::size_t kSamples = 64;

/// Reads records anywhere in a dataset, best in ascending order.
class Visitor {
 public:
  Visitor(const Dataset& dataset, RecordSurvey& found) : dataset_(dataset), found_(found) {}

  Result<void> go_to(std::uint32_t shard, std::uint64_t record) {
    if (!reader_ || shard_ != shard) {
      DOVETAIL_ASSIGN(reader_, RecordReader::open(dataset_, shard));
      shard_ = shard;
    }
    return reader_->seek(record);
  }

  /// The next record; nothing if its block is damaged.
  Result<std::optional<ByteView>> next() {
    Result<std::optional<ByteView>> record = reader_->next();
    if (record || record.error().kind() != ErrorKind::damaged) return record;
    if (found_.damage.empty()) found_.damage = record.error().to_string();
    return std::optional<ByteView>();
  }

 private:
  const Dataset& dataset_;
  RecordSurvey& found_;
  std::optional<RecordReader> reader_;
  std::uint32_t shard_ = 0;
};

/// Sizes of the records of one block that has a table.
Result<void> read_sizes(Visitor& visitor, std::uint32_t shard, const BlockInfo& block, RecordSurvey& found) {
  DOVETAIL_TRY(visitor.go_to(shard, block.first_record));
  SizeHistogram sizes;
  for (std::uint32_t i = 0; i < block.records; ++i) {
    DOVETAIL_ASSIGN(const std::optional<ByteView> record, visitor.next());
    if (!record) break;
    sizes.add(record->size());
  }
  found.looked_at += block.records;
  if (sizes.records() < block.records) {
    found.unreadable += block.records - sizes.records();
    ++found.damaged_blocks;
    return {};
  }
  for (const SizeHistogram::Bucket& bucket : sizes.buckets()) found.sizes.add(bucket.from, bucket.records);
  return {};
}

/// Whether only reading the block shows the sizes of its records. The index of a TFRecord has no
/// tables, only the smallest and the largest size of all.
bool needs_reading(const ShardDescription& shard, const BlockInfo& block) {
  if (shard.tfrecord) return block.records > 1 && shard.info.min_record_bytes != shard.info.max_record_bytes;
  return block.has_table;
}

/// Distance of the sampled blocks, which limits how much is read and decoded.
std::uint64_t block_stride(std::span<const ShardDescription> shards) {
  std::uint64_t bytes = 0;
  for (const ShardDescription& shard : shards) {
    for (const BlockInfo& block : shard.blocks) bytes += needs_reading(shard, block) ? block.raw_bytes : 0;
  }
  return std::max<std::uint64_t>(1, (bytes + kMostBytes - 1) / kMostBytes);
}

using Blocks = std::set<const BlockInfo*>;

/// Adds the blocks that it reads to `seen`.
Result<void> survey_sizes(Visitor& visitor, std::span<const ShardDescription> shards, const OnProgress& on_progress,
                          RecordSurvey& found, Blocks& seen) {
  const std::uint64_t stride = block_stride(shards);
  found.sampled = stride > 1;
  std::uint64_t blocks = 0;
  for (const ShardDescription& shard : shards) blocks += shard.blocks.size();
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  for (std::uint32_t shard = 0; shard < shards.size(); ++shard) {
    for (const BlockInfo& block : shards[shard].blocks) {
      // Take the block in the middle of each stride, so that neither end has more weight.
      if (number++ % stride != stride / 2) continue;
      if (!needs_reading(shards[shard], block)) {
        found.sizes.add(block.raw_bytes / std::max(block.records, 1u), block.records);
        continue;
      }
      DOVETAIL_TRY(go_on(on_progress, {"reading", found.sizes.records(), bytes, share_of_work(number, blocks)}));
      DOVETAIL_TRY(read_sizes(visitor, shard, block, found));
      seen.insert(&block);
      bytes += block.raw_bytes;
    }
  }
  return {};
}

const BlockInfo* block_of(const ShardDescription& shard, std::uint64_t record) {
  const auto behind =
      std::upper_bound(shard.blocks.begin(), shard.blocks.end(), record,
                       [](std::uint64_t wanted, const BlockInfo& block) { return wanted < block.first_record; });
  return behind == shard.blocks.begin() ? nullptr : &*(behind - 1);
}

Result<void> survey_payloads(Visitor& visitor, const Dataset& dataset, std::span<const ShardDescription> shards,
                             const Blocks& seen, const OnProgress& on_progress, RecordSurvey& found) {
  const std::uint64_t samples = std::min<std::uint64_t>(kSamples, dataset.records());
  std::uint64_t bytes = 0;
  Blocks damaged;
  for (std::uint64_t i = 0; i < samples && bytes < kMostBytes; ++i) {
    DOVETAIL_TRY(go_on(on_progress, {"sampling", i, bytes, share_of_work(i, samples)}));
    const Dataset::Place place = dataset.locate(evenly(i, samples, dataset.records()));
    DOVETAIL_TRY(visitor.go_to(place.shard, place.record));
    DOVETAIL_ASSIGN(const std::optional<ByteView> record, visitor.next());
    const BlockInfo* const block = block_of(shards[place.shard], place.record);
    const bool counted = seen.contains(block);
    if (!counted) ++found.looked_at;
    if (!counted && !record) {
      ++found.unreadable;
      if (damaged.insert(block).second) ++found.damaged_blocks;
    }
    if (!record) continue;
    found.payloads.add(guess_payload(*record));
    bytes += record->size();
  }
  return {};
}

Result<void> survey_all(const Dataset& dataset, const OnProgress& on_progress, RecordSurvey& found) {
  PayloadSampler sampler;
  std::uint64_t bytes = 0;
  for (std::uint32_t shard = 0; shard < dataset.shards().size(); ++shard) {
    DOVETAIL_ASSIGN(RecordReader reader, RecordReader::open(dataset, shard));
    for (;;) {
      const double share = share_of_work(bytes, dataset.raw_bytes());
      DOVETAIL_TRY(go_on(on_progress, {"reading", found.sizes.records(), bytes, share}));
      const Result<std::optional<ByteView>> record = reader.next();
      if (!record && record.error().kind() != ErrorKind::damaged) return record.error();
      if (!record) {
        if (found.damage.empty()) found.damage = record.error().to_string();
        const auto lost = reader.skip_damage();
        found.looked_at += lost.end_record - lost.first_record;
        found.unreadable += lost.end_record - lost.first_record;
        ++found.damaged_blocks;
        continue;
      }
      if (!record->has_value()) break;
      ++found.looked_at;
      found.sizes.add((*record)->size());
      sampler.add(**record);
      bytes += (*record)->size();
    }
  }
  found.payloads = sampler.counts();
  return {};
}

}  // namespace

std::uint64_t evenly(std::uint64_t i, std::uint64_t samples, std::uint64_t records) noexcept {
  // Adds the whole part of the distance and the rest separately, because a single product could
  // overflow.
  return i * (records / samples) + i * (records % samples) / samples;
}

void PayloadSampler::add(ByteView record) {
  if (passed_++ % stride_ != 0) return;
  taken_.push_back(guess_payload(record));
  if (taken_.size() < 2 * kSamples) return;
  // Keep every other sample, and halve the rate from now on.
  for (std::size_t i = 0; i < kSamples; ++i) taken_[i] = taken_[2 * i];
  taken_.resize(kSamples);
  stride_ *= 2;
}

PayloadCounts PayloadSampler::counts() const {
  PayloadCounts counts;
  for (const Payload payload : taken_) counts.add(payload);
  return counts;
}

Result<RecordSurvey> survey(const Dataset& dataset, std::span<const ShardDescription> shards, bool full,
                            const OnProgress& on_progress) {
  RecordSurvey found;
  if (full) {
    DOVETAIL_TRY(survey_all(dataset, on_progress, found));
  } else {
    Visitor visitor(dataset, found);
    Blocks seen;
    DOVETAIL_TRY(survey_sizes(visitor, shards, on_progress, found, seen));
    DOVETAIL_TRY(survey_payloads(visitor, dataset, shards, seen, on_progress, found));
  }
  found.exact = found.sizes.records() == dataset.records();
  return found;
}

}  // namespace dovetail::inspect
