// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "reader/fetch/buffer_pool.h"
#include "reader/fetch/damage_log.h"
#include "reader/fetch/fetched_group.h"
#include "reader/fetch/loaded_run.h"
#include "reader/fetch/run_pieces.h"
#include "reader/fetch/shard_table.h"
#include "reader/storage/storage.h"
#include "reader/walk/run_memory.h"

namespace dovetail::detail {

/// The runs that a reader has in memory, and those that are on their way there.
///
/// Whoever has nothing better to do claims a piece of a run and works on it: reads it, if that needs no waiting, and fills
/// it; else it is claimed again once it has arrived. A walk takes a group once all of its runs are there, and gives it up
/// when its last record is dealt; the memory is free once the rows walked until then are filled. A piece that was claimed
/// is filled, whatever is given up meanwhile.
///
/// Threads: all functions may be called from any thread; those of `RunMemory` from one walk at a time.
class RunStore final : public RunMemory {
 public:
  using Clock = std::chrono::steady_clock;
  /// A read that had to wait.
  struct Waited {
    std::uint32_t shard = 0;
    std::uint64_t bytes = 0;
    Clock::time_point asked;
    Clock::time_point arrived;
  };
  struct Options {
    FetchRules rules;
    std::uint64_t budget = 0;       ///< For all that is in memory;
    std::uint64_t spare_bytes = 0;  ///< of that, always left for spare room: one for each lane.
  };
  /// Borrows all but the function, which is called, with no lock held, when a piece has arrived from the storage.
  RunStore(const Options& options, ShardTable& shards, Storage& storage, DamageLog& damage,
           std::function<void(const Waited&)> on_arrival);
  /// Needs: the storage has stopped.
  ~RunStore() override;

  /// What the storage has brought.
  struct Arrival {
    Result<void> read;
    AlignedBuffer scratch;  ///< The bytes, unless they are read in place.
    Clock::time_point asked;
  };
  /// A piece of a run that one thread works on.
  struct Work {
    FetchedGroup* group = nullptr;
    Fetched* run = nullptr;
    std::size_t piece = 0;
    std::unique_ptr<Arrival> arrival;  ///< If it had to wait.
  };
  /// The piece that is needed soonest: one that has arrived, one of the groups that walks wait for, or `ahead`, also of the
  /// next ones. None where nothing is to be read, has memory, or has its shard open.
  std::optional<Work> claim(bool ahead);
  /// What was done, and when.
  struct Done {
    std::uint32_t shard = 0;
    std::uint64_t bytes = 0;
    Clock::time_point began;
    Clock::time_point read;  ///< Decoding began, at once where it had arrived.
    Clock::time_point ended;
  };
  /// Reads and fills a piece on this thread, from `now` on; gives nothing where it is left to the storage, or has failed.
  std::optional<Done> run(Work work, Clock::time_point now);
  /// Whether some piece may be claimed; it may turn out that there is no memory for it.
  bool has_work() const;
  /// Whether the storage is at work on a piece.
  bool waits_for_storage() const noexcept { return in_flight_.load(std::memory_order_relaxed) > 0; }
  /// Whether reads had to wait of late, so that it is worth to begin early.
  bool cold() const noexcept { return cold_.load(std::memory_order_relaxed) > 0; }

  /// To be called before a step of the walk with the most rows that there may be after it, and after
  /// it with those that there are: what is closed in the step stays until these are filled.
  void walk_to(std::uint64_t rows);
  /// All rows before have been filled.
  void filled_to(std::uint64_t rows);

  /// Why the walk cannot go on; it will never be ready.
  std::optional<Error> failure() const;
  /// Grows whenever a walk that found something not ready may look again.
  std::uint64_t changes() const noexcept { return changes_.load(std::memory_order_acquire); }

  struct Stats {
    std::uint64_t reads = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t waiting_reads = 0;
    std::uint64_t retried_reads = 0;
    std::uint64_t bytes = 0;  ///< In memory now,
    std::uint64_t peak_bytes = 0;
    std::chrono::nanoseconds time_reading{};  ///< Where that needed no waiting.
    std::chrono::nanoseconds time_decoding{};
  };
  Stats stats() const;

  std::uint64_t begin(const PassBegin& pass) override;
  void end(std::uint64_t pass) noexcept override;
  bool open(std::uint64_t pass, std::uint64_t group, std::span<ReadyRun> runs) override;
  void close(std::uint64_t pass) noexcept override;
  bool find(std::uint64_t pass, std::span<const PooledPick> picks, std::span<SizedEntry> entries) override;
  bool is_damaged(std::uint64_t id) const noexcept override;
  std::span<std::byte> take_spare(std::uint64_t pass, std::size_t least, std::size_t wanted) override;
  void give_back(std::uint64_t pass, std::span<std::byte> spare) noexcept override;

 private:
  struct Pass;

  std::optional<Work> claim_of(FetchedGroup& group, bool needed);
  std::optional<Work> claim_ahead(Pass& pass);
  /// Whether one more group may be read ahead.
  bool may_append(const Pass& pass) const;
  bool prepare(Fetched& run, bool needed);
  /// Makes room for what a walk waits for, by giving up what is read ahead. Whether there was any.
  bool drop_ahead();
  /// Frees what is given up and filled. Whether there was any.
  bool free_filled();
  /// Whether runs may have so much more.
  bool run_fits(std::size_t bytes) const noexcept;
  void give_up(std::list<FetchedGroup>& groups) noexcept;
  /// Leaves it to the storage; false where there is no memory to read it to.
  bool read_later(Work& work);
  void arrived(Work work);
  std::optional<Done> fill(Work& work, const Result<void>& read, std::span<std::byte> stored, Done done);
  void fail(const Error& error);

  const Options options_;
  ShardTable& shards_;
  Storage& storage_;
  DamageLog& damage_;
  const std::function<void(const Waited&)> on_arrival_;
  mutable std::mutex mutex_;
  BufferPool buffers_;
  std::map<std::uint64_t, Pass> passes_;
  std::uint64_t next_pass_ = 0;
  std::uint64_t walked_ = 0;
  std::uint64_t filled_ = 0;
  std::list<FetchedGroup> leaving_;
  std::list<FetchedGroup> spares_;
  std::deque<Work> arrived_;
  std::optional<Error> failure_;
  Stats stats_;
  std::atomic<std::uint64_t> changes_ = 0;
  std::atomic<int> cold_ = 0;
  std::atomic<int> in_flight_ = 0;  // reads
};

}  // namespace dovetail::detail
