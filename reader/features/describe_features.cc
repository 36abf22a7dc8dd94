// SPDX-License-Identifier: Apache-2.0
// Streams the records of a dataset through collectors, one for each thread.
#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/system/errc.hpp>

#include <dovetail/features.h>

#include "format/example/example_wire.h"
#include "format/guard_memory.h"
#include "format/try.h"
#include "reader/dataset/block_loader.h"
#include "reader/dataset/parallel.h"
#include "reader/features/block_queue.h"

namespace dovetail {
namespace {

constexpr std::size_t kMemoryBytes = std::size_t{24} << 20;
constexpr unsigned kMostThreads = 8;
// What a feature takes at the least in each thread, with some precision left.
constexpr std::size_t kFeatureBytes = std::size_t{4} << 10;

class FeaturePass {
 public:
  FeaturePass(const Dataset& dataset, const FeatureOptions& options)
      : options_(options), queue_(dataset, options.max_records) {}

  /// Reads blocks until there are no more.
  Result<void> run(FeatureCollector& collector) {
    detail::BlockLoader loader;
    // Others wait for the shards that this thread opens: they have to hear of every way in which it ends.
    auto done = detail::guard_memory({}, [&] { return read_all(loader, collector); });
    if (!done) queue_.stop();
    return done;
  }

  detail::BlockQueue& queue() noexcept { return queue_; }

 private:
  Result<void> read_all(detail::BlockLoader& loader, FeatureCollector& collector) {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    for (;;) {
      DOVETAIL_TRY(tell(std::exchange(records, 0), std::exchange(bytes, 0)));
      DOVETAIL_ASSIGN(auto blocks, queue_.take());
      if (!blocks) return {};
      for (std::size_t block = blocks->begin; block < blocks->end; ++block) {
        if (!queue_.chosen(blocks->first_number + block)) continue;
        auto loaded = loader.load(*blocks->file, block);
        if (!loaded) {
          DOVETAIL_TRY(note_damage(*blocks, block, loaded.error()));
          continue;
        }
        const std::uint64_t first = blocks->first_id + blocks->file->first_record(block);
        for (std::uint32_t i = 0; i < loaded->size(); ++i) {
          collector.add(first + i, (*loaded)[i]);
          bytes += (*loaded)[i].size();
        }
        records += loaded->size();
      }
    }
  }

  Result<void> note_damage(const detail::BlockQueue::Blocks& blocks, std::size_t block, const Error& error) {
    if (error.kind() != ErrorKind::damaged) return error;
    const std::uint64_t lost = blocks.file->first_record(block + 1) - blocks.file->first_record(block);
    queue_.add_damage(blocks.first_number + block, 1, lost,
                      error.at(blocks.file->file().path(), blocks.file->blocks()[block].offset));
    return {};
  }

  Result<void> tell(std::uint64_t records, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    records_ += records;
    bytes_ += bytes;
    if (options_.progress) options_.progress(records_, bytes_);
    if (!options_.cancelled || !options_.cancelled()) return {};
    return Error(make_error_code(boost::system::errc::operation_canceled));
  }

  const FeatureOptions& options_;
  detail::BlockQueue queue_;
  std::mutex mutex_;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
};

/// The number of features in the first record; 0 where it cannot be read, which the pass tells.
std::size_t features_of_first_record(const Dataset& dataset) {
  if (dataset.records() == 0) return 0;
  auto shard = detail::open_shard(dataset, dataset.locate(0).shard);
  if (!shard) return 0;
  detail::BlockLoader loader;
  auto block = loader.load(*shard, 0);
  format::ExampleFeatures features;
  if (!block || !features.parse((*block)[0])) return 0;
  return features.all().size();
}

unsigned thread_count(const Dataset& dataset, const FeatureOptions& options) {
  const unsigned wanted = options.threads != 0 ? options.threads : std::thread::hardware_concurrency();
  const std::size_t features = std::min(features_of_first_record(dataset), kMaxReportedFeatures);
  const std::size_t affordable = kMemoryBytes / kFeatureBytes / std::max<std::size_t>(features, 1);
  return static_cast<unsigned>(
      std::clamp<std::size_t>(wanted, 1, std::clamp<std::size_t>(affordable, 1, kMostThreads)));
}

Result<FeaturesReport> describe(const Dataset& dataset, const FeatureOptions& options) {
  const unsigned threads = thread_count(dataset, options);
  FeaturePass pass(dataset, options);
  std::vector<FeatureCollector> parts;
  for (unsigned i = 0; i < threads; ++i) parts.emplace_back(kMemoryBytes / threads);
  DOVETAIL_TRY(detail::for_each_index(threads, threads, [&](std::size_t i) { return pass.run(parts[i]); }));
  while (parts.size() > 1) {
    parts.front().merge(parts.back());
    parts.pop_back();
  }
  FeaturesReport report = parts.front().report();
  const detail::BlockQueue::Damage damage = pass.queue().damage();
  report.damaged_blocks = damage.blocks;
  report.lost_records = damage.records;
  report.first_damage = damage.first;
  return report;
}

}  // namespace

Result<FeaturesReport> describe_features(const Dataset& dataset, const FeatureOptions& options) {
  return detail::guard_memory(dataset.path(), [&] { return describe(dataset, options); });
}

}  // namespace dovetail
