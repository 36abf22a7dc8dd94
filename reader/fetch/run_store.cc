// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/run_store.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

#include "format/guard_memory.h"
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

/// Memory that is given up together: runs that are needed together, or spare room.
struct RunStore::Group {
  std::uint64_t number = 0;
  std::deque<Fetched> runs;
  std::size_t next_run = 0;  // all before it are claimed
  std::size_t working = 0;   // pieces that are being filled
  AlignedBuffer spare;
  std::uint64_t rows = 0;  // once it is given up: it stays until these are filled

  bool ready() const noexcept {
    return std::all_of(runs.begin(), runs.end(), [](const Fetched& run) { return run.ready(); });
  }
};

struct RunStore::Stretch {
  explicit Stretch(PassOrder of) : order(std::move(of)) {}

  PassOrder order;
  std::uint64_t end_group = 0;  // it needs none from here on
  std::list<Group> singles;     // one, for the pool that it begins with
  std::list<Group> groups;      // those that are open, wanted, or read ahead, ascending
  bool open = false;            // the first of them is
  bool waits = false;           // a walk has asked for the next one
  bool found = false;           // the singles have been given
};

RunStore::RunStore(const Options& options, ShardTable& shards, Storage& storage)
    : options_(options), shards_(shards), storage_(storage), buffers_(options.budget) {}

RunStore::~RunStore() = default;

void RunStore::append_group(Stretch& stretch, std::uint64_t number) {
  std::list<Group> made(1);  // whole, or not there
  made.front().number = number;
  const std::uint64_t end = stretch.order.group_begin(number + 1);
  for (std::uint64_t run = stretch.order.group_begin(number); run < end; ++run) {
    made.front().runs.emplace_back(stretch.order.run(run));
  }
  stretch.groups.splice(stretch.groups.end(), made);
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
  give_up(ending->second.singles);
  give_up(ending->second.groups);  // what was read ahead for nothing, too
  stretches_.erase(ending);
}

bool RunStore::open(std::uint64_t stretch, std::uint64_t group, std::span<ReadyRun> runs) {
  const std::lock_guard lock(mutex_);
  Stretch& of = stretches_.at(stretch);
  if (of.groups.empty()) append_group(of, group);
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
  Stretch& of = stretches_.find(stretch)->second;
  give_up(of.singles);
  std::list<Group> first;
  first.splice(first.end(), of.groups, of.groups.begin());
  give_up(first);
  of.open = false;
}

// Nothing is allocated: there is no way back from here.
void RunStore::give_up(std::list<Group>& groups) noexcept {
  for (Group& group : groups) group.rows = walked_;
  leaving_.splice(leaving_.end(), groups);
}

bool RunStore::find(std::uint64_t stretch, std::span<const PooledPick> picks, std::span<SizedEntry> entries) {
  const std::lock_guard lock(mutex_);
  Stretch& of = stretches_.at(stretch);
  if (of.singles.empty()) {
    Group& singles = of.singles.emplace_back();
    for (const PooledPick& pick : picks) {
      Run one = of.order.run(pick.pick.run);
      one.first_record += pick.pick.record;
      one.first_id += pick.pick.record;
      one.count = 1;
      singles.runs.emplace_back(one);
    }
  }
  const Group& singles = of.singles.front();
  of.waits = !singles.ready();
  if (of.waits) return false;
  for (std::size_t i = 0; i < picks.size(); ++i) entries[i] = entry_of(singles.runs[i]);
  of.found = true;
  return true;
}

SizedEntry RunStore::entry_of(const Fetched& run) const {
  if (run.file == nullptr) return {Entry::kDamage, run.run.first_id, 0, SizedEntry::kInMemory};
  const ReadyRun ready = run.loaded.ready(run.run.shard, run.damaged);
  if (ready.extents == nullptr)
    return {ready.where, ready.first_id, options_.rules.record_bytes, SizedEntry::kInMemory};
  return entry_in(ready, 0);
}

std::optional<RunStore::Work> RunStore::claim(bool ahead) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, stretch] : stretches_) {
    if (!stretch.waits) continue;
    Group& wanted = stretch.singles.empty() || stretch.found ? stretch.groups.front() : stretch.singles.front();
    if (const auto work = claim_of(wanted, true)) return work;
  }
  if (!ahead) return std::nullopt;
  for (auto& [number, stretch] : stretches_) {
    if (!stretch.open) continue;
    if (stretch.groups.size() == 1 && stretch.groups.front().number + 1 < stretch.end_group) {
      append_group(stretch, stretch.groups.front().number + 1);
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
      if (run.file != nullptr && run.next_piece < run.loaded.pieces().size()) {
        ++group.working;
        return Work{&group, &run, run.next_piece++};
      }
      if (all_before) group.next_run = i + 1;
    } else {
      all_before = false;
    }
  }
  return std::nullopt;
}

bool RunStore::prepare(Fetched& run, bool needed) {
  if (shards_.failed(run.run.shard)) {
    // All of the shard, so that ranges never overlap.
    note_damage(run.run.first_id - run.run.first_record, shards_.records(run.run.shard),
                shards_.failure(run.run.shard));
    return run.prepared = true;
  }
  std::shared_ptr<const ShardFile> file = shards_.find(run.run.shard);
  if (file == nullptr) {
    shards_.want(run.run.shard);
    return false;
  }
  RunPieces pieces = RunPieces::of(*file, run.run, options_.rules);
  const std::size_t bytes = pieces.room_bytes;
  if (bytes >= RecordExtent::kPlaced) {
    failure_ = Error(Errc::budget_too_small, "a run has " + std::to_string(bytes) + " bytes; 2 GiB are the most")
                   .in_file(file->file().path());
    return false;
  }
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

void RunStore::run(const Work& work) try { read_and_fill(work); } catch (const std::exception& failure) {
  const Error error = error_from(failure);
  const std::lock_guard lock(mutex_);
  --work.group->working;  // its run will never be ready
  failure_ = error;
}

void RunStore::read_and_fill(const Work& work) {
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
  for (const DamagedBlock& block : filled.damage) {
    work.run->damaged = true;
    note_damage(block.first_id, block.records, block.error);
  }
  --work.run->left;
  --work.group->working;
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
  for (Group& group : leaving_) group.rows = std::min(group.rows, rows);
}

void RunStore::filled_to(std::uint64_t rows) {
  std::list<Group> freed;  // files close without the lock
  const std::lock_guard lock(mutex_);
  for (auto group = leaving_.begin(); group != leaving_.end();) {
    const auto next = std::next(group);
    if (group->rows <= rows && group->working == 0) {
      for (Fetched& run : group->runs) buffers_.give_back(run.loaded.take_room());
      buffers_.give_back(std::move(group->spare));
      freed.splice(freed.end(), leaving_, group);
    }
    group = next;
  }
}

std::span<std::byte> RunStore::take_spare(std::uint64_t, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Group& made = spares_.emplace_back();
  made.spare = buffers_.take(bytes);
  return {made.spare.data(), made.spare.size()};
}

void RunStore::give_back(std::uint64_t, std::span<std::byte> spare) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(spares_.begin(), spares_.end(),
                                  [&](const Group& group) { return group.spare.data() == spare.data(); });
  std::list<Group> given;
  given.splice(given.end(), spares_, found);
  give_up(given);
}

}  // namespace dovetail::detail
