// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/run_store.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "format/guard_memory.h"
#include "reader/dataset/stored_block.h"
#include "reader/fetch/shortage.h"

namespace dovetail::detail {

using Clock = std::chrono::steady_clock;

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
  /// Of a run of which some records are asked for: which one is that for which pick, and where it is then.
  struct Single {
    std::uint64_t record = 0;  // in the run
    std::size_t pick = 0;
    SizedEntry entry;
  };
  std::vector<Single> singles;
  AlignedBuffer copies;  // of them: the blocks do not stay

  bool ready() const noexcept { return prepared && left == 0; }
};

/// Memory that is given up together: runs that are needed together, or spare room.
struct RunStore::Group {
  std::uint64_t number = 0;
  std::deque<Fetched> runs;
  std::size_t next_run = 0;  // all before it are claimed
  std::size_t working = 0;   // pieces that are being read or filled
  AlignedBuffer spare;
  bool given_up = false;
  std::uint64_t rows = 0;  // then it stays until these are filled

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

RunStore::RunStore(const Options& options, ShardTable& shards, Storage& storage, DamageLog& damage,
                   std::function<void()> on_arrival)
    : options_(options),
      shards_(shards),
      storage_(storage),
      damage_(damage),
      on_arrival_(std::move(on_arrival)),
      buffers_(options.budget) {}

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
  for (Group& group : groups) {
    group.given_up = true;
    group.rows = walked_;
  }
  leaving_.splice(leaving_.end(), groups);
}

bool RunStore::find(std::uint64_t stretch, std::span<const PooledPick> picks, std::span<SizedEntry> entries) {
  const std::lock_guard lock(mutex_);
  Stretch& of = stretches_.at(stretch);
  if (of.singles.empty()) {
    append_singles(of, picks);
  }
  const Group& singles = of.singles.front();
  of.waits = !singles.ready();
  if (of.waits) return false;
  for (const Fetched& run : singles.runs) {
    for (const Fetched::Single& single : run.singles) entries[single.pick] = single.entry;
  }
  of.found = true;
  return true;
}

// Of each run what lies between the first and the last record that are asked for.
void RunStore::append_singles(Stretch& stretch, std::span<const PooledPick> picks) {
  std::list<Group> made(1);  // whole, or not there
  std::vector<std::size_t> by_run(picks.size());
  std::iota(by_run.begin(), by_run.end(), std::size_t{0});
  std::sort(by_run.begin(), by_run.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(picks[a].pick.run, picks[a].pick.record) < std::pair(picks[b].pick.run, picks[b].pick.record);
  });
  for (auto begin = by_run.begin(); begin != by_run.end();) {
    const Pick& first = picks[*begin].pick;
    const auto end =
        std::find_if(begin, by_run.end(), [&](std::size_t pick) { return picks[pick].pick.run != first.run; });
    Run run = stretch.order.run(first.run);
    run.first_record += first.record;
    run.first_id += first.record;
    run.count = picks[*std::prev(end)].pick.record - first.record + 1;
    Fetched& fetched = made.front().runs.emplace_back(run);
    for (; begin != end; ++begin) {
      fetched.singles.push_back({.record = picks[*begin].pick.record - first.record, .pick = *begin, .entry = {}});
    }
  }
  stretch.singles.splice(stretch.singles.end(), made);
}

std::optional<RunStore::Work> RunStore::claim(bool ahead) {
  const std::lock_guard lock(mutex_);
  if (!arrived_.empty()) {
    Work work = std::move(arrived_.front());
    arrived_.pop_front();
    return work;
  }
  for (auto& [number, stretch] : stretches_) {
    if (!stretch.waits) continue;
    Group& wanted = stretch.singles.empty() || stretch.found ? stretch.groups.front() : stretch.singles.front();
    if (auto work = claim_of(wanted, true)) return work;
  }
  if (!ahead) return std::nullopt;
  for (auto& [number, stretch] : stretches_) {
    if (!stretch.open) continue;
    if (stretch.groups.size() == 1 && stretch.groups.front().number + 1 < stretch.end_group) {
      append_group(stretch, stretch.groups.front().number + 1);
    }
    if (stretch.groups.size() == 1) continue;
    if (auto work = claim_of(stretch.groups.back(), false)) return work;
  }
  return std::nullopt;
}

bool RunStore::has_work() const {
  const std::lock_guard lock(mutex_);
  if (!arrived_.empty()) return true;
  return std::any_of(stretches_.begin(), stretches_.end(), [](const auto& numbered) {
    const Stretch& stretch = numbered.second;
    const auto unclaimed = [](const Group& group) { return group.next_run < group.runs.size(); };
    if (stretch.waits && !stretch.singles.empty() && !stretch.found) return unclaimed(stretch.singles.front());
    if (stretch.waits) return unclaimed(stretch.groups.front());
    if (!stretch.open) return false;
    return stretch.groups.size() > 1 ? unclaimed(stretch.groups.back())
                                     : stretch.groups.front().number + 1 < stretch.end_group;
  });
}

std::optional<RunStore::Work> RunStore::claim_of(Group& group, bool needed) {
  bool all_before = true;
  for (std::size_t i = group.next_run; i < group.runs.size(); ++i) {
    Fetched& run = group.runs[i];
    if (run.prepared || prepare(run, needed)) {
      if (run.file != nullptr && run.next_piece < run.loaded.pieces().size()) {
        ++group.working;
        return Work{.group = &group, .run = &run, .piece = run.next_piece++, .arrival = nullptr};
      }
      if (all_before) group.next_run = i + 1;
    } else {
      all_before = false;
    }
  }
  return std::nullopt;
}

bool RunStore::prepare(Fetched& run, bool needed) {
  const std::uint32_t shard = run.run.shard;
  if (shards_.failed(shard)) {
    if (is_shortage(shards_.failure(shard))) {
      failure_ = shards_.failure(shard);
      return false;
    }
    damage_.note(run.run.first_id - run.run.first_record, {shard, 0, shards_.records(shard), shards_.failure(shard)});
    if (!run.singles.empty()) find_singles(run);
    ++changes_;
    return run.prepared = true;
  }
  std::shared_ptr<const ShardFile> file = shards_.find(shard);
  if (file == nullptr) {
    shards_.want(shard);
    return false;
  }
  RunPieces pieces = RunPieces::of(*file, run.run, options_.rules);
  const std::size_t bytes = pieces.room_bytes;
  if (bytes >= RecordExtent::kPlaced) {
    failure_ = Error(Errc::budget_too_small, "a run has " + std::to_string(bytes) + " bytes; 2 GiB are the most")
                   .in_file(file->file().path());
    return false;
  }
  while (bytes > 0 && !buffers_.fits(BufferPool::rounded(bytes))) {
    if (!needed || !leaving_.empty()) return false;
    if (drop_ahead()) continue;
    // What is being worked on may give memory back.
    const auto works = [](const auto& numbered) {
      const Stretch& stretch = numbered.second;
      const auto any = [](const Group& group) { return group.working > 0; };
      return std::any_of(stretch.singles.begin(), stretch.singles.end(), any) ||
             std::any_of(stretch.groups.begin(), stretch.groups.end(), any);
    };
    if (std::none_of(stretches_.begin(), stretches_.end(), works)) {
      failure_ = Error(Errc::budget_too_small, "the open runs do not fit " + std::to_string(options_.budget) +
                                                   " bytes: raise memory_bytes, or lower open_runs");
    }
    return false;
  }
  run.file = std::move(file);
  run.loaded = LoadedRun(*run.file, run.run, std::move(pieces), options_.rules,
                         bytes > 0 ? buffers_.take(bytes) : AlignedBuffer());
  run.left = run.loaded.pieces().size();
  if (run.left == 0 && !run.singles.empty()) find_singles(run);
  if (run.left == 0) ++changes_;
  return run.prepared = true;
}

bool RunStore::drop_ahead() {
  for (auto& [number, stretch] : stretches_) {
    if (stretch.waits || stretch.groups.size() < 2 || stretch.groups.back().working > 0) continue;
    const auto ahead = std::prev(stretch.groups.end());
    if (std::none_of(ahead->runs.begin(), ahead->runs.end(), [](const Fetched& run) { return run.prepared; })) continue;
    std::list<Group> freed;
    freed.splice(freed.end(), stretch.groups, ahead);
    give_back(freed.front());
    return true;
  }
  return false;
}

void RunStore::give_back(Group& group) {
  for (Fetched& run : group.runs) {
    buffers_.give_back(run.loaded.take_room());
    buffers_.give_back(std::exchange(run.copies, {}));
  }
  buffers_.give_back(std::exchange(group.spare, {}));
}

void RunStore::run(Work work) try {
  LoadedRun& loaded = work.run->loaded;
  const auto bytes = static_cast<std::size_t>(loaded.pieces()[work.piece].stored_bytes);
  std::span<std::byte> stored = loaded.read_into(work.piece);
  if (work.arrival != nullptr) {
    if (stored.empty()) stored = {work.arrival->scratch.data(), bytes};
    return fill(work, work.arrival->read, stored, {});
  }
  if (stored.empty()) {
    thread_local std::vector<std::byte> scratch;  // hot, and as large as the largest piece
    if (scratch.size() < bytes) scratch.resize(bytes);
    stored = std::span(scratch).first(bytes);
  }
  const Clock::time_point began = Clock::now();
  const std::uint64_t offset = loaded.pieces()[work.piece].file_offset;
  const Result<bool> there = storage_.try_read(loaded.file().file(), offset, ReadInto{stored});
  if (there && !*there) return read_later(std::move(work));
  if (cold()) --cold_;
  fill(work, there ? Result<void>() : there.error(), stored, Clock::now() - began);
} catch (const std::exception& failure) {
  fail(error_from(failure));  // its run will never be ready
}

void RunStore::read_later(Work work) {
  constexpr int kColdFor = 16;  // reads that need no waiting
  const LoadedRun& loaded = work.run->loaded;
  const RunPiece& piece = loaded.pieces()[work.piece];
  cold_.store(kColdFor, std::memory_order_relaxed);
  std::span<std::byte> into = loaded.read_into(work.piece);
  work.arrival = std::make_unique<Arrival>();
  {
    const std::lock_guard lock(mutex_);
    ++stats_.waiting_reads;
    if (into.empty()) {
      work.arrival->scratch = buffers_.take(static_cast<std::size_t>(piece.stored_bytes));
      into = {work.arrival->scratch.data(), static_cast<std::size_t>(piece.stored_bytes)};
    }
  }
  const InputFile& file = loaded.file().file();
  const std::uint64_t offset = piece.file_offset;
  ++in_flight_;
  storage_.read(file, offset, ReadInto{into}, [this, waiting = std::move(work)](Result<void> read) mutable {
    waiting.arrival->read = std::move(read);
    arrived(std::move(waiting));
  });
}

void RunStore::arrived(Work work) try {
  --in_flight_;
  {
    const std::lock_guard lock(mutex_);
    arrived_.push_back(std::move(work));
  }
  on_arrival_();
} catch (const std::exception& failure) {
  fail(error_from(failure));
  on_arrival_();
}

void RunStore::fill(Work& work, const Result<void>& read, std::span<std::byte> stored,
                    std::chrono::nanoseconds reading) {
  const Clock::time_point began = Clock::now();
  const LoadedRun::Filled filled = work.run->loaded.fill(work.piece, read, stored, storage_);
  for (const DamagedBlock& block : filled.damage) {
    if (is_shortage(block.error)) return fail(block.error);
    const std::uint64_t first = work.run->loaded.file().first_record(block.block);
    damage_.note(block.first_id, {work.run->run.shard, first, first + block.records, block.error});
  }
  const Clock::duration decoding = Clock::now() - began;
  {
    const std::lock_guard lock(mutex_);
    stats_.time_reading += reading;
    stats_.time_decoding += decoding;
  }
  finish(work, filled);
}

void RunStore::finish(Work& work, const LoadedRun::Filled& filled) {
  std::list<Group> freed;  // files close without the lock
  const std::lock_guard lock(mutex_);
  Fetched& run = *work.run;
  if (work.arrival != nullptr) buffers_.give_back(std::move(work.arrival->scratch));
  stats_.retried_reads += filled.retried_reads;
  ++stats_.reads;
  stats_.read_bytes += run.loaded.pieces()[work.piece].stored_bytes;
  if (!filled.damage.empty()) run.damaged = true;
  if (--run.left == 0 && !run.singles.empty()) find_singles(run);
  --work.group->working;
  if (work.group->given_up) free_filled(freed);
  changes_.fetch_add(1, std::memory_order_release);
}

void RunStore::find_singles(Fetched& run) {
  const ReadyRun ready = run.file == nullptr ? ReadyRun{Entry::kDamage, run.run.first_id, nullptr, 0, run.run.shard}
                                             : run.loaded.ready(run.run.shard, run.damaged);
  std::size_t bytes = 0;
  for (Fetched::Single& single : run.singles) {
    SizedEntry& entry = single.entry;
    entry = entry_in(ready, static_cast<std::uint32_t>(single.record));
    entry.id = ready.first_id + single.record;
    if (ready.extents == nullptr) {
      entry.where = ready.where + single.record * ready.stride;
      entry.bytes = options_.rules.record_bytes;
    }
    if ((ready.where & Entry::kDamage) != 0 && entry.in_memory() && damage_.is_damaged(entry.id)) {
      entry = {Entry::kDamage, entry.id, 0, SizedEntry::kInMemory};
    }
    bytes += entry.bytes;
  }
  if (bytes > 0) run.copies = buffers_.take(bytes);
  std::size_t at = 0;
  for (Fetched::Single& single : run.singles) {
    SizedEntry& entry = single.entry;
    if (!entry.in_memory() || entry.bytes == 0) continue;
    std::memcpy(run.copies.data() + at, address_of(entry.where), entry.bytes);
    entry.where = to_where(run.copies.data() + at);
    at += entry.bytes;
  }
  buffers_.give_back(run.loaded.take_room());
}

void RunStore::fail(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = error;
  ++changes_;
}

bool RunStore::is_damaged(std::uint64_t id) const noexcept {
  return damage_.is_damaged(id);
}

std::optional<Error> RunStore::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

RunStore::Stats RunStore::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.bytes = buffers_.used();
  stats.peak_bytes = buffers_.peak();
  return stats;
}

void RunStore::walk_to(std::uint64_t rows) {
  const std::lock_guard lock(mutex_);
  walked_ = rows;
  for (Group& group : leaving_) group.rows = std::min(group.rows, rows);
}

void RunStore::filled_to(std::uint64_t rows) {
  std::list<Group> freed;  // files close without the lock
  const std::lock_guard lock(mutex_);
  filled_ = std::max(filled_, rows);
  free_filled(freed);
}

void RunStore::free_filled(std::list<Group>& freed) {
  for (auto group = leaving_.begin(); group != leaving_.end();) {
    const auto next = std::next(group);
    if (group->rows <= filled_ && group->working == 0) {
      give_back(*group);
      freed.splice(freed.end(), leaving_, group);
      ++changes_;
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
