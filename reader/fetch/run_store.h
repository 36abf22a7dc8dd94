// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "reader/fetch/buffer_pool.h"
#include "reader/fetch/loaded_run.h"
#include "reader/fetch/run_pieces.h"
#include "reader/fetch/shard_table.h"
#include "reader/storage/storage.h"
#include "reader/walk/run_memory.h"

namespace dovetail::detail {

/// The runs that a reader has in memory, and those that are on their way there.
///
/// Whoever has nothing better to do claims a piece of a run, reads it, and finishes it. A walk takes a group once all of
/// its runs are there, and gives it up when its last record is dealt; the memory is free once the rows walked until then
/// are filled. A piece that was claimed is filled, whatever is given up meanwhile.
///
/// Threads: all functions may be called from any thread; those of `RunMemory` from one walk at a time.
class RunStore final : public RunMemory {
 public:
  struct Options {
    FetchRules rules;
    std::uint64_t budget = 0;  ///< For all that is in memory.
  };
  /// Borrows the shards and the storage.
  RunStore(const Options& options, ShardTable& shards, Storage& storage);
  ~RunStore() override;

  struct Group;
  /// A piece of a run that one thread reads and fills.
  struct Work {
    Group* group = nullptr;
    class Fetched* run = nullptr;
    std::size_t piece = 0;
  };
  /// The piece that is needed soonest: of the groups that walks wait for, or `ahead`, also of the next ones. None where
  /// nothing is to be read, has memory, or has its shard open.
  std::optional<Work> claim(bool ahead);
  /// Reads and fills a piece on this thread, waiting for storage if it must.
  void run(const Work& work);

  /// To be called before a step of the walk with the most rows that there may be after it, and after
  /// it with those that there are: what is closed in the step stays until these are filled.
  void walk_to(std::uint64_t rows);
  /// All rows before have been filled.
  void filled_to(std::uint64_t rows);

  /// What is wrong with a record that is damaged; its block's error names file and offset.
  Error damage_of(std::uint64_t id) const;
  /// Why the walk cannot go on; it will never be ready.
  std::optional<Error> failure() const;
  std::uint64_t peak_bytes() const;

  std::uint64_t begin(const StretchBegin& stretch) override;
  void end(std::uint64_t stretch) noexcept override;
  bool open(std::uint64_t stretch, std::uint64_t group, std::span<ReadyRun> runs) override;
  void close(std::uint64_t stretch) noexcept override;
  bool find(std::uint64_t stretch, std::span<const PooledPick> picks, std::span<SizedEntry> entries) override;
  bool is_damaged(std::uint64_t id) const noexcept override;
  std::span<std::byte> take_spare(std::uint64_t stretch, std::size_t bytes) override;
  void give_back(std::uint64_t stretch, std::span<std::byte> spare) noexcept override;

 private:
  struct Stretch;

  static void append_group(Stretch& stretch, std::uint64_t number);
  std::optional<Work> claim_of(Group& group, bool needed);
  bool prepare(Fetched& run, bool needed);
  SizedEntry entry_of(const Fetched& run) const;
  void give_up(std::list<Group>& groups) noexcept;
  void note_damage(std::uint64_t first_id, std::uint64_t records, const Error& error);
  void read_and_fill(const Work& work);
  void finish(const Work& work, const LoadedRun::Filled& filled);

  const Options options_;
  ShardTable& shards_;
  Storage& storage_;
  mutable std::mutex mutex_;
  BufferPool buffers_;
  std::map<std::uint64_t, Stretch> stretches_;
  std::uint64_t next_stretch_ = 0;
  std::uint64_t walked_ = 0;
  std::list<Group> leaving_;
  std::list<Group> spares_;
  struct Damage {
    std::uint64_t end_id = 0;
    Error error;
  };
  std::map<std::uint64_t, Damage> damage_;  // by the first id
  std::optional<Error> failure_;
};

}  // namespace dovetail::detail
