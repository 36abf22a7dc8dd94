// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/run_store.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <string>
#include <utility>

#include "reader/dataset/stored_block.h"

namespace dovetail::detail {

/// A run of a group, or the part of one that a walk which begins in the middle asks for.
class Fetched {
 public:
  explicit Fetched(const Run& of) : run(of) {}

  Run run;
  std::shared_ptr<const ShardFile> file;  // null until it is prepared, and where the shard is lost
  LoadedRun loaded;
  std::size_t next_piece = 0;  // to be claimed
  std::size_t left = 0;        // pieces that are not filled
  bool prepared = false;
  bool damaged = false;

  bool ready() const noexcept { return prepared && left == 0; }
};

/// Runs that are needed together.
struct RunStore::Group {
  std::uint64_t number = 0;
  std::deque<Fetched> runs;
  std::size_t next_run = 0;  // all before it are claimed

  bool ready() const noexcept {
    return std::all_of(runs.begin(), runs.end(), [](const Fetched& run) { return run.ready(); });
  }
};

struct RunStore::Stretch {
  explicit Stretch(PassOrder of) : order(std::move(of)) {}

  PassOrder order;
  std::uint64_t end_group = 0;   // it needs none from here on
  std::optional<Group> singles;  // for the pool that it begins with
  std::vector<AlignedBuffer> found;
  std::deque<Group> groups;  // those that are open, wanted, or read ahead, ascending
  bool open = false;         // the first of them is
  bool waits = false;        // a walk has asked for the next one
};

RunStore::RunStore(const Options& options, ShardTable& shards, Storage& storage)
    : options_(options), shards_(shards), storage_(storage), buffers_(options.budget) {}

RunStore::~RunStore() = default;

RunStore::Group RunStore::make_group(const Stretch& stretch, std::uint64_t number) const {
  Group group;
  group.number = number;
  const std::uint64_t end = stretch.order.group_begin(number + 1);
  for (std::uint64_t run = stretch.order.group_begin(number); run < end; ++run) {
    group.runs.emplace_back(stretch.order.run(run));
  }
  return group;
}

std::uint64_t RunStore::begin(const StretchBegin& stretch) {
  const std::lock_guard lock(mutex_);
  Stretch begun(stretch.order);
  if (stretch.order.groups() > 0) begun.end_group = stretch.order.groups_before(stretch.end);
  stretches_.emplace(next_stretch_, std::move(begun));
  return next_stretch_++;
}

void RunStore::end(std::uint64_t stretch) noexcept {
  const std::lock_guard lock(mutex_);
  const auto ending = stretches_.find(stretch);
  // What was read ahead for nothing goes like the rest; nobody ends a stretch while its runs are being filled.
  for (Group& group : ending->second.groups) give_up(group);
  for (AlignedBuffer& found : ending->second.found) leaving_.push_back({walked_, std::move(found), nullptr});
  stretches_.erase(ending);
}

bool RunStore::open(std::uint64_t stretch, std::uint64_t group, std::span<ReadyRun> runs) {
  const std::lock_guard lock(mutex_);
  Stretch& of = stretches_.at(stretch);
  if (of.groups.empty()) of.groups.push_back(make_group(of, group));
  Group& wanted = of.groups.front();
  of.waits = !wanted.ready();
  if (of.waits) return false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Fetched& run = wanted.runs[i];
    runs[i] = run.file != nullptr ? run.loaded.ready(run.run.shard, run.damaged)
                                  : ReadyRun{Entry::kDamage, run.run.first_id, nullptr, 0, run.run.shard};
  }
  of.open = true;
  return true;
}

void RunStore::close(std::uint64_t stretch) noexcept {
  const std::lock_guard lock(mutex_);
  Stretch& of = stretches_.at(stretch);
  give_up(of.groups.front());
  of.groups.pop_front();
  of.open = false;
  for (AlignedBuffer& found : of.found) leaving_.push_back({walked_, std::move(found), nullptr});
  of.found.clear();
}

void RunStore::give_up(Group& group) {
  for (Fetched& run : group.runs) leaving_.push_back({walked_, run.loaded.take_room(), std::move(run.file)});
}

bool RunStore::find(std::uint64_t stretch, std::span<const PooledPick> picks, std::span<SizedEntry> entries) {
  const std::lock_guard lock(mutex_);
  Stretch& of = stretches_.at(stretch);
  if (!of.singles) {
    of.singles.emplace();
    for (const PooledPick& pick : picks) {
      Run one = of.order.run(pick.pick.run);
      one.first_record += pick.pick.record;
      one.first_id += pick.pick.record;
      one.count = 1;
      of.singles->runs.emplace_back(one);
    }
  }
  of.waits = !of.singles->ready();
  if (of.waits) return false;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    Fetched& run = of.singles->runs[i];
    if (run.file == nullptr) {
      entries[i] = {Entry::kDamage, run.run.first_id, 0, SizedEntry::kInMemory};
      continue;
    }
    const ReadyRun ready = run.loaded.ready(run.run.shard, run.damaged);
    entries[i] = {ready.where, ready.first_id, options_.rules.record_bytes, SizedEntry::kInMemory};
    if (ready.extents != nullptr) {
      const RecordExtent extent = ready.extents[0];
      if ((extent.begin & RecordExtent::kPlaced) != 0) {
        entries[i] = {ready.first_block + (extent.begin - RecordExtent::kPlaced), ready.first_id, extent.bytes,
                      run.run.shard};
      } else {
        entries[i].where += extent.begin;
        entries[i].bytes = extent.bytes;
      }
    }
    of.found.push_back(run.loaded.take_room());
  }
  of.singles->runs.clear();
  return true;
}

std::optional<RunStore::Work> RunStore::claim(bool ahead) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, stretch] : stretches_) {
    if (!stretch.waits) continue;
    if (stretch.singles && !stretch.singles->runs.empty()) {
      if (const auto work = claim_of(*stretch.singles, true)) return work;
    } else if (const auto work = claim_of(stretch.groups.front(), true)) {
      return work;
    }
  }
  if (!ahead) return std::nullopt;
  for (auto& [number, stretch] : stretches_) {
    if (!stretch.open) continue;
    if (stretch.groups.size() == 1 && stretch.groups.front().number + 1 < stretch.end_group) {
      stretch.groups.push_back(make_group(stretch, stretch.groups.front().number + 1));
    }
    if (stretch.groups.size() == 1) continue;
    if (const auto work = claim_of(stretch.groups.back(), false)) return work;
  }
  return std::nullopt;
}

std::optional<RunStore::Work> RunStore::claim_of(Group& group, bool needed) {
  bool all_before = true;
  for (std::size_t i = group.next_run; i < group.runs.size(); ++i) {
    Fetched& run = group.runs[i];
    if (run.prepared || prepare(run, needed)) {
      if (run.file != nullptr && run.next_piece < run.loaded.pieces().size()) return Work{&run, run.next_piece++};
      if (all_before) group.next_run = i + 1;
    } else {
      all_before = false;
    }
  }
  return std::nullopt;
}

bool RunStore::prepare(Fetched& run, bool needed) {
  if (shards_.failed(run.run.shard)) {
    note_damage(run.run.first_id, run.run.count, shards_.failure(run.run.shard));
    return run.prepared = true;
  }
  std::shared_ptr<const ShardFile> file = shards_.find(run.run.shard);
  if (file == nullptr) {
    shards_.want(run.run.shard);
    return false;
  }
  RunPieces pieces = RunPieces::of(*file, run.run, options_.rules);
  const std::size_t bytes = pieces.room_bytes;
  if (bytes > 0 && !buffers_.fits(BufferPool::rounded(bytes))) {
    if (needed && leaving_.empty()) {
      failure_ =
          Error(Errc::budget_too_small, "the open runs do not fit " + std::to_string(options_.budget) + " bytes");
    }
    return false;
  }
  run.file = std::move(file);
  run.loaded = LoadedRun(*run.file, run.run, std::move(pieces), options_.rules,
                         bytes > 0 ? buffers_.take(bytes) : AlignedBuffer());
  run.left = run.loaded.pieces().size();
  return run.prepared = true;
}

void RunStore::run(const Work& work) {
  LoadedRun& loaded = work.run->loaded;
  const RunPiece& piece = loaded.pieces()[work.piece];
  thread_local std::vector<std::byte> scratch;  // hot, and as large as the largest piece
  std::span<std::byte> into = loaded.read_into(work.piece);
  if (into.empty()) {
    if (scratch.size() < piece.stored_bytes) scratch.resize(static_cast<std::size_t>(piece.stored_bytes));
    into = std::span(scratch).first(static_cast<std::size_t>(piece.stored_bytes));
  }
  Result<void> read;
  const Result<bool> there = storage_.try_read(loaded.file().file(), piece.file_offset, ReadInto{into});
  if (!there) {
    read = there.error();
  } else if (!*there) {
    std::mutex waiting;
    std::condition_variable arrived;
    bool done = false;
    storage_.read(loaded.file().file(), piece.file_offset, ReadInto{into}, [&](Result<void> outcome) {
      const std::lock_guard lock(waiting);
      read = std::move(outcome);
      done = true;
      arrived.notify_one();
    });
    std::unique_lock lock(waiting);
    arrived.wait(lock, [&] { return done; });
  }
  finish(work, loaded.fill(work.piece, read, into, storage_));
}

void RunStore::finish(const Work& work, const LoadedRun::Filled& filled) {
  const std::lock_guard lock(mutex_);
  --work.run->left;
  for (const DamagedBlock& block : filled.damage) {
    work.run->damaged = true;
    note_damage(block.first_id, block.records, block.error);
  }
}

void RunStore::note_damage(std::uint64_t first_id, std::uint64_t records, const Error& error) {
  damage_.insert_or_assign(first_id, Damage{first_id + records, error});
}

bool RunStore::is_damaged(std::uint64_t id) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto after = damage_.upper_bound(id);
  return after != damage_.begin() && id < std::prev(after)->second.end_id;
}

Error RunStore::damage_of(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  return std::prev(damage_.upper_bound(id))->second.error;
}

std::optional<Error> RunStore::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::uint64_t RunStore::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return buffers_.peak();
}

void RunStore::walk_to(std::uint64_t rows) {
  const std::lock_guard lock(mutex_);
  walked_ = rows;
}

void RunStore::filled_to(std::uint64_t rows) {
  const std::lock_guard lock(mutex_);
  filled_ = rows;
  while (!leaving_.empty() && leaving_.front().rows <= filled_) {
    buffers_.give_back(std::move(leaving_.front().buffer));
    leaving_.pop_front();
  }
}

std::span<std::byte> RunStore::take_spare(std::uint64_t, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  spares_.push_back(buffers_.take(bytes));
  return {spares_.back().data(), spares_.back().size()};
}

void RunStore::give_back(std::uint64_t, std::span<std::byte> spare) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(spares_.begin(), spares_.end(),
                                  [&](const AlignedBuffer& buffer) { return buffer.data() == spare.data(); });
  leaving_.push_back({walked_, std::move(*found), nullptr});
  spares_.erase(found);
}

}  // namespace dovetail::detail
