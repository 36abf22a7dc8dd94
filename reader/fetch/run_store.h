// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <dovetail/reader_stats.h>

#include "reader/fetch/buffer_pool.h"
#include "reader/fetch/damage_log.h"
#include "reader/fetch/loaded_run.h"
#include "reader/fetch/shard_table.h"
#include "reader/storage/storage.h"
#include "reader/walk/run_memory.h"

namespace dovetail::detail {

/// Memory that is freed together: runs that are needed together, or spare room.
struct FetchedGroup {
  /// The runs of a group of a pass.
  static FetchedGroup of(const PassOrder& order, std::uint64_t number);

  std::uint64_t number = 0;
  std::vector<LoadedRun> runs;  // do not move: pieces that are being filled refer to them
  std::size_t unready = 0;      ///< Runs without a result.
  std::size_t next_run = 0;     ///< All runs before this one are claimed.
  std::size_t working = 0;      ///< Pieces that are being read or filled.
  AlignedBuffer spare;
  bool given_up = false;
  std::uint64_t rows = 0;  ///< The group is freed once this number of rows is filled.

  bool ready() const noexcept { return unready == 0; }
  bool is_claimed() const noexcept { return next_run == runs.size(); }
  void give_back(BufferPool& buffers);
};

/// The runs in the memory of a reader, and the runs that are being fetched.
///
/// Idle threads claim pieces of runs. A thread reads its piece and fills it at once if the read
/// need not wait. Otherwise a thread fills it after it has arrived. A walk opens a group
/// when all its runs are loaded, and closes it after dealing its last record. The memory is freed
/// once all rows walked until then are filled. A claimed piece is always filled, even if its group
/// is closed meanwhile.
///
/// Threads: all functions may be called from any thread; those of `RunMemory` from one walk at a
///          time.
class RunStore final : public RunMemory {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    FetchRules rules;
    std::uint64_t budget = 0;       ///< Budget for all memory of the store.
    std::uint64_t spare_bytes = 0;  ///< Part of it reserved for spare room, one for each lane.
  };
  /// Borrows all arguments.
  RunStore(const Options& options, ShardTable& shards, Storage& storage, DamageLog& damage);
  ~RunStore() override;

  /// A piece of a run that one thread works on.
  struct Work {
    FetchedGroup* group = nullptr;
    LoadedRun* run = nullptr;
    std::size_t piece = 0;
    AlignedBuffer scratch = {};          ///< Memory for the bytes, unless they are read in place.
    std::span<std::byte> into = {};      ///< Where the storage must read the piece to, if it must.
    const Result<void>* read = nullptr;  ///< Result of that read.

    const RunPiece& of() const noexcept { return run->pieces()[piece]; }
    const InputFile& file() const noexcept { return run->file->file(); }
    bool waits() const noexcept { return !into.empty() && read == nullptr; }
  };
  /// Claims the most urgent piece: one that a walk waits for, else one of later groups. Empty if no
  /// piece is left, or if memory or an open shard is missing.
  std::optional<Work> claim();
  /// The times of a finished piece.
  struct Done {
    std::uint32_t shard = 0;
    std::uint64_t bytes = 0;
    Clock::time_point began;
    Clock::time_point read;  ///< End of the read, start of decoding.
    Clock::time_point ended;
  };
  /// Reads and fills a piece on this thread, starting at `now`. Empty if it failed, or if the work
  /// waits. Then have the storage read the piece, set `work.read`, and call this once more.
  std::optional<Done> run(Work& work, Clock::time_point now);
  /// Whether a piece may be claimed. A claim may still fail for lack of memory.
  bool has_work() const;
  /// Whether recent reads had to wait, so that fetching further ahead pays.
  bool cold() const noexcept { return cold_.load(std::memory_order_relaxed) > 0; }

  /// Call this before each step of the walk with the most rows that the step may reach, and after
  /// it with the rows reached. Groups that are closed in the step stay until these rows are filled.
  void walk_to(std::uint64_t rows);
  /// Call this when all rows before `rows` are filled.
  void filled_to(std::uint64_t rows);

  /// Why a walk that waits can never continue. Nothing more is fetched then.
  std::optional<Error> failure() const;
  /// Grows whenever a blocked walk may try again, or finds that it can never continue.
  std::uint64_t changes() const noexcept { return changes_.load(std::memory_order_acquire); }

  /// Adds the counts and times of reads to `stats`, and sets the memory in use.
  void add_to(ReaderStats& stats) const;

  std::uint64_t scattered_group() const noexcept override { return options_.rules.scattered_group; }
  std::uint64_t begin(const PassBegin& pass) override;
  void end(std::uint64_t pass) noexcept override;
  bool open(std::uint64_t pass, std::uint64_t group, std::span<ReadyRun> runs) override;
  void close(std::uint64_t pass) noexcept override;
  bool is_damaged(std::uint64_t id) const noexcept override;
  std::span<std::byte> take_spare(std::size_t least, std::size_t wanted) override;
  void give_back(std::span<std::byte> spare) noexcept override;

 private:
  struct Pass;
  using Group = std::list<FetchedGroup>::iterator;

  std::optional<Work> claim_of(FetchedGroup& group, bool needed);
  std::optional<Work> claim_ahead(Pass& pass);
  /// Whether one more group may be read ahead.
  bool may_append(const Pass& pass) const;
  bool prepare(FetchedGroup& group, LoadedRun& run, bool needed);
  void finish(FetchedGroup& group, LoadedRun& run);
  /// Makes room for a waiting walk by dropping read-ahead. Returns false if there was none.
  bool drop_ahead();
  /// Frees closed groups whose rows are filled. Returns false if there were none.
  bool free_filled();
  /// Whether runs may take `bytes` more; leaves the reserve for spare room.
  bool run_fits(std::size_t bytes) const noexcept;
  /// Gives up the groups before `end`.
  void give_up(std::list<FetchedGroup>& groups, Group end) noexcept;
  /// Sets the memory that the storage reads the piece to. Returns false if there is none.
  bool make_wait(Work& work);
  std::optional<Done> fill(Work& work, const Result<void>& read, std::span<std::byte> stored, Done done);
  /// Sets the failure. Returns false.
  bool fail_locked(const Error& error);

  const Options options_;
  ShardTable& shards_;
  Storage& storage_;
  DamageLog& damage_;
  mutable std::mutex mutex_;
  BufferPool buffers_;
  std::map<std::uint64_t, Pass> passes_;
  std::uint64_t next_pass_ = 0;
  std::uint64_t walked_ = 0;
  std::uint64_t filled_ = 0;
  std::list<FetchedGroup> leaving_;
  std::list<FetchedGroup> spares_;
  std::optional<Error> failure_;
  ReaderStats tally_;
  bool lacks_memory_ = false;  // the last claim found none for a run that a walk waits for
  std::atomic<std::uint64_t> changes_ = 0;
  std::atomic<int> cold_ = 0;
};

}  // namespace dovetail::detail
