// SPDX-License-Identifier: Apache-2.0
// A walk over records in memory gives the rows of the plan, whatever is not ready when, and reads
// no memory that is gone.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "reader/walk/live_runs.h"
#include "tests/plan/random_case.h"
#include "tests/plan/random_source.h"
#include "tests/support/cases.h"

namespace dovetail::test {
namespace {

using detail::Entry;
using detail::PassBegin;
using detail::ReadyRun;
using detail::RecordExtent;
using detail::SizedEntry;

constexpr std::uint32_t kRecordBytes = 24;

/// Of a record: whether it is damaged, lies in a file, or how long it is, follows from its id.
struct Kind {
  bool same_size = true;
  bool damage = false;

  std::uint32_t bytes(std::uint64_t id) const {
    return same_size ? kRecordBytes : static_cast<std::uint32_t>(8 + id % 17 * 8);
  }
  bool is_placed(std::uint64_t id) const { return !same_size && id % 13 == 5; }
  bool is_damaged(std::uint64_t id) const { return damage && !is_placed(id) && id % 11 == 3; }
};

/// Runs whose records hold their ids. A run is ready some time after it is first asked for, and
/// memory that was given up is overwritten as soon as the rows walked before are filled.
class ScriptedMemory final : public detail::RunMemory {
 public:
  ScriptedMemory(RandomSource& random, Kind kind) : random_(random), kind_(kind) {}
  ~ScriptedMemory() override {
    EXPECT_TRUE(passes_.empty()) << "a pass has not ended";
    EXPECT_EQ(opened_, closed_);
    EXPECT_TRUE(spares_.empty()) << "spare room was not given back";
  }

  std::uint64_t scattered_group() const noexcept override { return scattered_group_; }
  std::uint64_t begin(const PassBegin& pass) override {
    passes_.emplace(next_, pass.order);
    return next_++;
  }
  void end(std::uint64_t pass) noexcept override {
    EXPECT_EQ(passes_.erase(pass), 1u);
    EXPECT_FALSE(open_.contains(pass));
  }

  bool open(std::uint64_t pass, std::uint64_t group, std::span<ReadyRun> runs) override {
    EXPECT_FALSE(open_.contains(pass)) << "two groups are open";
    if (random_.chance(30)) return false;
    ++opened_;
    std::uint64_t first = passes_.at(pass).group_begin(group);
    for (ReadyRun& ready : runs) ready = load(passes_.at(pass).run(first++), open_[pass]);
    open_[pass];
    return true;
  }
  void close(std::uint64_t pass) noexcept override {
    ++closed_;
    give_up(open_[pass]);
    open_.erase(pass);
  }

  bool is_damaged(std::uint64_t id) const noexcept override { return kind_.is_damaged(id); }

  std::span<std::byte> take_spare(std::size_t least, std::size_t wanted) override {
    const std::size_t bytes = random_.chance(50) ? least : wanted;
    spares_.push_back(std::make_unique<Room>(bytes));
    return {spares_.back()->data(), bytes};
  }
  void give_back(std::span<std::byte> spare) noexcept override {
    const auto found =
        std::find_if(spares_.begin(), spares_.end(), [&](const auto& room) { return room->data() == spare.data(); });
    ASSERT_NE(found, spares_.end());
    given_up_.push_back(std::move(*found));
    spares_.erase(found);
  }

  /// All rows that were walked are filled. What was given up is overwritten and not freed, so that
  /// who reads it is found.
  void filled() {
    for (auto& room : given_up_) {
      std::fill(room->begin(), room->end(), std::byte{0xEE});
      overwritten_.push_back(std::move(room));
    }
    given_up_.clear();
  }
  /// What a row holds of an entry.
  std::uint64_t id_in(const Entry& entry) const { return id_at(entry.where, entry.id); }
  std::uint64_t id_in(const SizedEntry& entry) const {
    if (kind_.is_damaged(entry.id)) return entry.id;
    EXPECT_EQ(entry.bytes, kind_.bytes(entry.id));
    EXPECT_EQ(entry.in_memory(), !kind_.is_placed(entry.id));
    return entry.in_memory() ? id_at(entry.where, entry.id) : entry.where;
  }

 private:
  using Room = std::vector<std::byte>;
  using Rooms = std::vector<std::unique_ptr<Room>>;

  std::uint64_t id_at(std::uint64_t where, std::uint64_t id) const {
    if (kind_.is_damaged(id)) {
      EXPECT_NE(where & Entry::kDamage, 0u);
      return id;
    }
    std::uint64_t found = 0;
    std::memcpy(&found, detail::address_of(where), sizeof(found));
    return found;
  }

  void give_up(Rooms& rooms) {
    for (auto& room : rooms) given_up_.push_back(std::move(room));
    rooms.clear();
  }

  ReadyRun load(const Run& run, Rooms& rooms) {
    std::vector<RecordExtent> extents;
    std::size_t bytes = 0;
    bool damaged = false;
    for (std::uint64_t id = run.first_id; id < run.first_id + run.count; ++id) {
      const bool placed = kind_.is_placed(id);
      const auto at = placed ? static_cast<std::uint32_t>(id - run.first_id) + RecordExtent::kPlaced
                             : static_cast<std::uint32_t>(bytes);
      extents.push_back({at, kind_.bytes(id)});
      if (!placed) bytes += kind_.bytes(id);
      damaged = damaged || kind_.is_damaged(id);
    }
    Room& room = *rooms.emplace_back(std::make_unique<Room>(bytes));
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const std::uint64_t id = run.first_id + i;
      if (!kind_.is_placed(id)) std::memcpy(room.data() + extents[i].begin, &id, sizeof(id));
    }
    ReadyRun ready{detail::to_where(room.data()), run.first_id, nullptr, run.first_id, run.shard, kRecordBytes};
    if (damaged) ready.where |= Entry::kDamage;
    if (!kind_.same_size) {
      // The extents live as long as the run's memory does.
      Room& table = *rooms.emplace_back(std::make_unique<Room>(extents.size() * sizeof(RecordExtent)));
      std::memcpy(table.data(), extents.data(), table.size());
      ready.extents = reinterpret_cast<const RecordExtent*>(table.data());
    }
    return ready;
  }

  RandomSource& random_;
  const Kind kind_;
  const std::uint64_t scattered_group_ = 1 + random_.below(40);
  std::map<std::uint64_t, detail::PassOrder> passes_;
  std::map<std::uint64_t, Rooms> open_;
  std::uint64_t next_ = 0;
  std::uint64_t opened_ = 0;
  std::uint64_t closed_ = 0;
  Rooms spares_;
  Rooms given_up_;
  Rooms overwritten_;
};

/// Walks a lane from an output in portions, each filled at once or after some more, and compares it
/// with the plan.
template <class E>
void expect_rows(const LaneOrder& lane, std::uint64_t begin, std::uint64_t end, Kind kind, RandomSource& random) {
  ScriptedMemory memory(random, kind);
  detail::LivePasses<E> passes(memory, kRecordBytes);
  detail::LaneWalk<detail::LivePasses<E>> walk(detail::LaneLayout::of(lane), begin, passes);
  LaneCursor plan = lane.cursor(begin);
  std::vector<E> rows;
  std::vector<Pick> picks(1);
  std::vector<RowStatus> status;
  while (begin < end) {
    rows.clear();
    status.clear();
    do {
      std::vector<E> some(1 + random.below(std::min<std::uint64_t>(end - begin, 700)));
      const auto part = walk.next(some);
      ASSERT_LE(part.rows, some.size());
      begin += part.rows;
      ASSERT_EQ(walk.position(), begin);
      rows.insert(rows.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(part.rows));
      status.insert(status.end(), part.rows, part.status);
    } while (begin < end && random.chance(60));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      plan.next(picks);
      const PlannedRecord wanted = plan.record(picks.front());
      ASSERT_EQ(status[i], wanted.status);
      if (wanted.status == RowStatus::empty) continue;
      ASSERT_EQ(rows[i].id, wanted.id);
      ASSERT_EQ(memory.id_in(rows[i]), wanted.id);
    }
    memory.filled();
  }
}

TEST(LiveRunsTest, GivesTheRowsOfThePlanFromAnyPlace) {
  RandomSource random(31);
  std::uint64_t walked = 0;
  const std::uint64_t count = Cases{.sanitized = 300, .some = 2000, .all = 40'000}.count();
  for (std::uint64_t i = 0; i < count; ++i) {
    RandomCase drawn = random_case(random);
    SCOPED_TRACE(drawn.describe());
    auto plan = Plan::make(drawn.dataset, drawn.options);
    if (!plan) continue;
    auto epoch = plan->epoch(drawn.epoch);
    if (!epoch) continue;
    if (random.chance(40) && epoch->steps() > 1) {  // lanes of a world that changed are made of parts of others
      PlanOptions changed = drawn.options;
      change_world(changed, random);
      const auto state = plan->state({drawn.epoch, 1 + random.below(epoch->steps() - 1)});
      if (!state) continue;
      auto resumed = Plan::resume(drawn.dataset, changed, *state);
      if (!resumed) continue;
      auto rest = resumed->epoch(drawn.epoch);
      if (!rest) continue;
      plan = std::move(resumed);
      epoch = std::move(rest);
    }
    const std::uint32_t number = static_cast<std::uint32_t>(random.below(epoch->lanes()));
    const LaneOrder lane = epoch->lane(number);
    const std::uint64_t rows_per_lane = std::uint64_t{plan->readers()} * plan->options().batch / epoch->lanes();
    // A little beyond the end as well, where rows are empty.
    const std::uint64_t outputs = (epoch->steps() - epoch->first_step()) * rows_per_lane + random.below(5);
    if (outputs == 0) continue;
    const std::uint64_t begin = random.chance(50) ? 0 : random.below(outputs);
    const Kind kind{.same_size = random.chance(50), .damage = random.chance(40)};
    if (kind.same_size) {
      expect_rows<Entry>(lane, begin, outputs, kind, random);
    } else {
      expect_rows<SizedEntry>(lane, begin, outputs, kind, random);
    }
    if (HasFatalFailure()) return;
    ++walked;
  }
  EXPECT_GT(walked, count / 3);
}

}  // namespace
}  // namespace dovetail::test
