// SPDX-License-Identifier: Apache-2.0
// Streams the records of a dataset through one collector per thread. Full collectors are merged
// into a common one.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <boost/system/errc.hpp>

#include <dovetail/features.h>

#include "format/guard_memory.h"
#include "format/try.h"
#include "reader/dataset/block_loader.h"
#include "reader/dataset/parallel.h"
#include "reader/features/block_queue.h"
#include "reader/features/feature_collector.h"

namespace dovetail {
namespace {

constexpr std::size_t kThreadsBytes = std::size_t{8} << 20;  // for all threads together
constexpr unsigned kMostThreads = 8;

class FeaturePass {
 public:
  FeaturePass(const Dataset& dataset, const FeatureOptions& options)
      : options_(options), queue_(dataset, options.max_records) {}

  Result<FeaturesReport> describe() {
    const unsigned wanted = options_.threads != 0 ? options_.threads : std::thread::hardware_concurrency();
    unsigned threads = std::clamp(wanted, 1U, kMostThreads);
    // The first blocks tell whether several threads pay. If they do not, one allocates everything:
    // the allocator keeps what a thread frees from the others.
    bool crowded = threads == 1;
    DOVETAIL_TRY(run(threads, 2, crowded));
    if (crowded) threads = 1;
    DOVETAIL_TRY(detail::for_each_index(threads, threads, [&](std::size_t) {
      bool of_thread = crowded;
      return run(threads, std::numeric_limits<std::uint64_t>::max(), of_thread);
    }));
    FeaturesReport report = all_.report();
    const detail::BlockQueue::Damage damage = queue_.damage();
    report.damaged_blocks = damage.blocks;
    report.lost_records = damage.records;
    report.first_damage = damage.first;
    return report;
  }

 private:
  /// The work of one thread: reads blocks, `takes` times from the queue or until none are left. If
  /// several records fill a thread's own collector each, merging costs more than the collector
  /// saves: then it sets `crowded`, and adds to the common collector.
  Result<void> run(unsigned threads, std::uint64_t takes, bool& crowded) {
    // Other threads wait for the shards that this thread opens. So they must learn of every way in
    // which it ends.
    struct Stop {
      detail::BlockQueue& queue;
      bool wanted = true;
      ~Stop() {
        if (wanted) queue.stop();
      }
    } stop{queue_};
    std::optional<detail::Collector> own;
    if (!crowded) {
      own.emplace(kThreadsBytes / threads, [&, wide = 0](detail::Collector& full) mutable {
        if (full.records() == 1) crowded = ++wide > 1;
        empty(full);
      });
    }
    detail::BlockLoader loader;
    DOVETAIL_TRY(read(loader, takes, [&](std::uint64_t id, ByteView record) {
      if (!crowded) return own->add(id, record);
      if (own) {
        empty(*own);
        own.reset();
      }
      const std::lock_guard lock(mutex_);
      all_.add(id, record);
    }));
    if (own) empty(*own);
    stop.wanted = false;
    return {};
  }

  void empty(detail::Collector& own) {
    const std::lock_guard lock(mutex_);
    all_.merge(own);
    own.clear(all_);
  }

  template <class Add>
  Result<void> read(detail::BlockLoader& loader, std::uint64_t takes, const Add& add) {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    for (;;) {
      DOVETAIL_TRY(tell(std::exchange(records, 0), std::exchange(bytes, 0)));
      if (takes-- == 0) return {};
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
          add(first + i, (*loaded)[i]);
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
    const std::lock_guard lock(told_);
    records_ += records;
    bytes_ += bytes;
    if (options_.progress) options_.progress(records_, bytes_);
    if (!options_.cancelled || !options_.cancelled()) return {};
    return Error(make_error_code(boost::system::errc::operation_canceled));
  }

  const FeatureOptions& options_;
  detail::BlockQueue queue_;
  std::mutex mutex_;
  detail::Collector all_{kFeatureMemoryBytes};  // guarded by `mutex_`
  std::mutex told_;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<FeaturesReport> describe_features(const Dataset& dataset, const FeatureOptions& options) {
  return detail::guard_memory(dataset.path(), [&] { return FeaturePass(dataset, options).describe(); });
}

}  // namespace dovetail
