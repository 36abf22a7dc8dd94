// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/run_store.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "reader/dataset/stored_block.h"

namespace dovetail::detail {

namespace {

constexpr int kColdFor = 16;  // reads in a row without waiting that end the cold state
// Records of `OrderKind::global` that all lanes together read ahead. They may be small: far more
// would fit the memory, and the first batch would wait until all of them are requested.
constexpr std::uint64_t kMostScatteredAhead = 1024;

}  // namespace

struct RunStore::Pass {
  explicit Pass(PassOrder of) : order(std::move(of)) {}

  PassOrder order;
  std::uint64_t end_group = 0;     // groups from here on are not needed
  std::list<FetchedGroup> groups;  // open, wanted or read ahead; ascending
  bool open = false;               // whether the first group is open
  bool waits = false;              // a walk waits for the first group
};

FetchedGroup FetchedGroup::of(const PassOrder& order, std::uint64_t number) {
  FetchedGroup made;
  made.number = number;
  const std::uint64_t begin = order.group_begin(number);
  const std::uint64_t end = order.group_begin(number + 1);
  made.runs.reserve(static_cast<std::size_t>(end - begin));
  for (std::uint64_t run = begin; run < end; ++run) made.runs.emplace_back(order.run(run));
  made.unready = made.runs.size();
  return made;
}

void FetchedGroup::give_back(BufferPool& buffers) {
  for (LoadedRun& run : runs) buffers.give_back(run.take_room());
  buffers.give_back(std::exchange(spare, {}));
}

RunStore::RunStore(const Options& options, ShardTable& shards, Storage& storage, DamageLog& damage)
    : options_(options), shards_(shards), storage_(storage), damage_(damage), buffers_(options.budget) {}

RunStore::~RunStore() = default;

std::uint64_t RunStore::begin(const PassBegin& pass) {
  const std::lock_guard lock(mutex_);
  Pass begun(pass.order);
  begun.end_group = pass.order.groups_before(pass.end);
  passes_.emplace(next_pass_, std::move(begun));
  return next_pass_++;
}

void RunStore::end(std::uint64_t pass) noexcept {
  const std::lock_guard lock(mutex_);
  const auto ending = passes_.find(pass);
  give_up(ending->second.groups, ending->second.groups.end());  // also read-ahead that is not needed now
  passes_.erase(ending);
}

bool RunStore::open(std::uint64_t pass, std::uint64_t group, std::span<ReadyRun> runs) {
  const std::lock_guard lock(mutex_);
  Pass& of = passes_.at(pass);
  // A walk that begins in the middle leaves groups out of which its pool holds nothing.
  const auto needed = [&](const FetchedGroup& ahead) { return ahead.number >= group; };
  give_up(of.groups, std::find_if(of.groups.begin(), of.groups.end(), needed));
  if (of.groups.empty()) of.groups.push_back(FetchedGroup::of(of.order, group));
  FetchedGroup& wanted = of.groups.front();
  of.waits = !wanted.ready();
  if (of.waits) return false;
  // When the group ends, its pool may need spare room. The room used before is not free until all
  // rows walked so far are filled.
  free_filled();
  if (!buffers_.fits(options_.spare_bytes) && !leaving_.empty()) return false;
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i] = wanted.runs[i].result;
  of.open = true;
  return true;
}

void RunStore::close(std::uint64_t pass) noexcept {
  const std::lock_guard lock(mutex_);
  Pass& of = passes_.find(pass)->second;
  give_up(of.groups, std::next(of.groups.begin()));
  of.open = false;
}

// Must not allocate, because the caller cannot undo its work.
void RunStore::give_up(std::list<FetchedGroup>& groups, Group end) noexcept {
  for (auto group = groups.begin(); group != end; ++group) {
    group->given_up = true;
    group->rows = walked_;
  }
  leaving_.splice(leaving_.end(), groups, groups.begin(), end);
}

std::optional<RunStore::Work> RunStore::claim() {
  const std::lock_guard lock(mutex_);
  if (failure_) return std::nullopt;
  lacks_memory_ = false;
  for (auto& [number, pass] : passes_) {
    if (!pass.waits) continue;
    if (auto work = claim_of(pass.groups.front(), true)) return work;
  }
  for (auto& [number, pass] : passes_) {
    if (auto work = claim_ahead(pass)) return work;
  }
  return std::nullopt;
}

std::optional<RunStore::Work> RunStore::claim_ahead(Pass& pass) {
  if (pass.groups.empty()) return std::nullopt;
  const bool under_way = pass.open || pass.waits;
  for (auto group = std::next(pass.groups.begin(), under_way ? 1 : 0); group != pass.groups.end(); ++group) {
    if (!group->is_claimed()) return claim_of(*group, false);
  }
  if (!under_way || !may_append(pass)) return std::nullopt;
  pass.groups.push_back(FetchedGroup::of(pass.order, pass.groups.back().number + 1));
  return claim_of(pass.groups.back(), false);
}

// Reading further ahead pays only on slow storage, and must leave memory for what is needed next.
bool RunStore::may_append(const Pass& pass) const {
  if (pass.groups.back().number + 1 >= pass.end_group) return false;
  if (pass.groups.size() == 1) return true;
  if (!cold() || buffers_.used() > (options_.budget - options_.spare_bytes) / 2) return false;
  return !pass.order.is_scattered() ||
         pass.groups.size() * passes_.size() * options_.rules.scattered_group < kMostScatteredAhead;
}

bool RunStore::has_work() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return false;
  return std::any_of(passes_.begin(), passes_.end(), [this](const auto& numbered) {
    const Pass& pass = numbered.second;
    if (pass.groups.empty()) return false;
    if (pass.waits && !pass.groups.front().is_claimed()) return true;
    const bool under_way = pass.open || pass.waits;
    const auto claimed = [](const FetchedGroup& group) { return group.is_claimed(); };
    return !std::all_of(std::next(pass.groups.begin(), under_way ? 1 : 0), pass.groups.end(), claimed) ||
           (under_way && may_append(pass));
  });
}

std::optional<RunStore::Work> RunStore::claim_of(FetchedGroup& group, bool needed) {
  bool all_before = true;
  for (std::size_t i = group.next_run; i < group.runs.size(); ++i) {
    LoadedRun& run = group.runs[i];
    if (run.prepared || prepare(group, run, needed)) {
      if (run.file != nullptr && run.next_piece < run.pieces().size()) {
        ++group.working;
        return Work{.group = &group, .run = &run, .piece = run.next_piece++};
      }
      if (all_before) group.next_run = i + 1;
    } else {
      all_before = false;
    }
  }
  return std::nullopt;
}

bool RunStore::prepare(FetchedGroup& group, LoadedRun& run, bool needed) {
  const std::uint32_t shard = run.run.shard;
  if (const std::optional<Error> failure = shards_.failure(shard)) {
    if (is_no_damage(*failure)) return needed && fail_locked(*failure);
    damage_.note(run.run.first_id - run.run.first_record, {shard, 0, shards_.records(shard), *failure, true});
    finish(group, run);
    return run.prepared = true;
  }
  std::shared_ptr<const ShardFile> file = shards_.find(shard);
  if (file == nullptr) {
    shards_.want(shard);
    return false;
  }
  const std::size_t bytes = run.lay_out(*file, options_.rules);
  if (bytes >= RecordExtent::kPlaced) {
    const Error error(Errc::budget_too_small, "a run has " + std::to_string(bytes) + " bytes; the limit is 2 GiB");
    return fail_locked(error.in_file(file->file().path()));
  }
  // A smaller run ahead could take the memory, be dropped, and take it again, without end.
  if (bytes > 0 && !needed && lacks_memory_) return false;
  while (bytes > 0 && !run_fits(bytes)) {
    if (free_filled()) continue;
    if (!needed) return false;
    lacks_memory_ = true;
    if (!leaving_.empty()) return false;  // what is dropped now would be read once more
    if (drop_ahead()) continue;
    // Pieces being read or filled may free memory soon.
    const auto works = [](const auto& numbered) {
      const Pass& pass = numbered.second;
      const auto any = [](const FetchedGroup& of) { return of.working > 0; };
      return std::any_of(pass.groups.begin(), pass.groups.end(), any);
    };
    if (std::any_of(passes_.begin(), passes_.end(), works)) return false;
    return fail_locked(Error(Errc::budget_too_small, "the open runs do not fit " + std::to_string(options_.budget) +
                                                         " bytes; raise memory_bytes, or lower open_runs"));
  }
  run.begin(std::move(file), bytes > 0 ? buffers_.take(bytes) : AlignedBuffer());
  if (run.left == 0) finish(group, run);
  return run.prepared = true;
}

void RunStore::finish(FetchedGroup& group, LoadedRun& run) {
  run.finish();
  if (--group.unready > 0) return;
  // A group that is read ahead is no change for a blocked walk. If it were, the walk would try again
  // instead of letting rows be filled, whose memory it may need.
  const auto waits_for = [&](const auto& numbered) {
    return numbered.second.waits && &numbered.second.groups.front() == &group;
  };
  if (std::any_of(passes_.begin(), passes_.end(), waits_for)) changes_.fetch_add(1, std::memory_order_release);
}

bool RunStore::drop_ahead() {
  for (auto& [number, pass] : passes_) {
    if (pass.groups.size() < 2 || pass.groups.back().working > 0) continue;
    const auto ahead = std::prev(pass.groups.end());
    std::list<FetchedGroup> freed;
    freed.splice(freed.end(), pass.groups, ahead);
    freed.front().give_back(buffers_);
    return true;
  }
  return false;
}

std::optional<RunStore::Done> RunStore::run(Work& work, Clock::time_point now) {
  const auto bytes = static_cast<std::size_t>(work.of().stored_bytes);
  Done done{.shard = work.run->run.shard, .bytes = bytes, .began = now, .read = {}, .ended = {}};
  if (work.read != nullptr) {
    done.read = done.began;
    return fill(work, *work.read, work.into, done);
  }
  std::span<std::byte> stored = work.run->read_into(work.piece);
  if (stored.empty()) {
    // Per thread, so that it stays in the caches. Grows to the largest piece.
    thread_local std::vector<std::byte> scratch;
    if (scratch.size() < bytes) scratch.resize(bytes);
    stored = std::span(scratch).first(bytes);
  }
  const Result<bool> there = storage_.try_read(work.file(), work.of().file_offset, ReadInto{stored});
  Result<void> read = there ? Result<void>() : there.error();
  if (there && !*there) {
    cold_.store(kColdFor, std::memory_order_relaxed);
    if (make_wait(work)) return std::nullopt;
    read = storage_.read_again(work.file(), work.of().file_offset, ReadInto{stored});
  } else if (cold()) {
    --cold_;
  }
  done.read = Clock::now();
  return fill(work, read, stored, done);
}

bool RunStore::make_wait(Work& work) {
  work.into = work.run->read_into(work.piece);
  if (!work.into.empty()) return true;
  const auto bytes = static_cast<std::size_t>(work.of().stored_bytes);
  const std::lock_guard lock(mutex_);
  if (!run_fits(bytes)) return false;
  work.scratch = buffers_.take(bytes);
  work.into = {work.scratch.data(), bytes};
  return true;
}

std::optional<RunStore::Done> RunStore::fill(Work& work, const Result<void>& read, std::span<std::byte> stored,
                                             Done done) {
  const LoadedRun::Filled filled = work.run->fill(work.piece, read, stored, storage_);
  for (const DamagedBlock& block : filled.damage) {
    if (is_no_damage(block.error)) {
      const std::lock_guard lock(mutex_);
      fail_locked(block.error);
      return std::nullopt;
    }
    const std::uint64_t first = work.run->file->first_record(block.block);
    damage_.note(block.first_id, {work.run->run.shard, first, first + block.records, block.error});
  }
  done.ended = Clock::now();
  std::shared_ptr<const ShardFile> file;  // closed outside of the lock
  const std::lock_guard lock(mutex_);
  LoadedRun& run = *work.run;
  buffers_.give_back(std::move(work.scratch));
  tally_.retried_reads += filled.retried_reads;
  ++tally_.reads;
  tally_.read_bytes += done.bytes;
  tally_.time_reading += done.read - done.began;
  tally_.time_decoding += done.ended - done.read;
  if (!filled.damage.empty()) run.damaged = true;
  if (--run.left == 0) {
    file = run.file;
    finish(*work.group, run);
  }
  --work.group->working;
  if (work.group->given_up) free_filled();
  return done;
}

bool RunStore::fail_locked(const Error& error) {
  if (!failure_) failure_ = error;
  ++changes_;
  return false;
}

std::optional<Error> RunStore::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool RunStore::is_damaged(std::uint64_t id) const noexcept {
  return damage_.is_damaged(id);
}

void RunStore::add_to(ReaderStats& stats) const {
  const std::lock_guard lock(mutex_);
  stats.reads += tally_.reads;
  stats.read_bytes += tally_.read_bytes;
  stats.retried_reads += tally_.retried_reads;
  stats.time_reading += tally_.time_reading;
  stats.time_decoding += tally_.time_decoding;
  stats.read_ahead_bytes = buffers_.used();
  stats.read_ahead_peak = buffers_.peak();
}

void RunStore::walk_to(std::uint64_t rows) {
  const std::lock_guard lock(mutex_);
  walked_ = rows;
  for (FetchedGroup& group : leaving_) group.rows = std::min(group.rows, rows);
  // While a walk fills its pool it may close groups without giving a row. Such groups are free at
  // once.
  free_filled();
}

void RunStore::filled_to(std::uint64_t rows) {
  const std::lock_guard lock(mutex_);
  filled_ = std::max(filled_, rows);
  free_filled();
}

bool RunStore::free_filled() {
  const auto is_filled = [this](const FetchedGroup& group) { return group.rows <= filled_ && group.working == 0; };
  const std::size_t before = leaving_.size();
  for (FetchedGroup& group : leaving_) {
    if (!is_filled(group)) continue;
    group.give_back(buffers_);
  }
  std::erase_if(leaving_, is_filled);
  if (leaving_.size() == before) return false;
  ++changes_;
  return true;
}

bool RunStore::run_fits(std::size_t bytes) const noexcept {
  return buffers_.fits(BufferPool::rounded(bytes) + options_.spare_bytes);
}

std::span<std::byte> RunStore::take_spare(std::size_t least, std::size_t wanted) {
  const std::lock_guard lock(mutex_);
  const auto fits = [this](std::size_t bytes) { return buffers_.fits(BufferPool::rounded(bytes)); };
  if (!fits(wanted)) free_filled();
  while (!fits(least) && drop_ahead()) {
  }
  if (!fits(least)) {
    throw Exception(Error(Errc::budget_too_small, "the records in a pool need " + std::to_string(least) + " bytes, " +
                                                      std::to_string(options_.budget - buffers_.used()) +
                                                      " are left; raise memory_bytes, or lower pool"));
  }
  FetchedGroup& made = spares_.emplace_back();
  made.spare = buffers_.take(fits(wanted) ? wanted : least);
  return {made.spare.data(), made.spare.size()};
}

void RunStore::give_back(std::span<std::byte> spare) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(spares_.begin(), spares_.end(),
                                  [&](const FetchedGroup& group) { return group.spare.data() == spare.data(); });
  spares_.splice(spares_.begin(), spares_, found);
  give_up(spares_, std::next(found));
}

}  // namespace dovetail::detail
