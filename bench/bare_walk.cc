// SPDX-License-Identifier: Apache-2.0
// The yardstick of delivery: what one thread can do that gives the same rows, in the same order,
// with the same checks, and does nothing else. It has no requests, no budget, no other storage than
// warm files, and ends at the first damage. When the runs of a group are opened, all of them are
// read, checked and decoded; what is left in the pool of the last group is copied out before.
// Between two such events a record is an entry, which is dealt, passes the pool and becomes a row;
// images are read straight into their rows.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <dovetail/dataset.h>

#include "bench/bare_entries.h"
#include "bench/bare_shards.h"
#include "bench/batch_gaps.h"
#include "bench/contestants.h"
#include "bench/processes.h"
#include "format/layout.h"
#include "format/snappy_decoder.h"
#include "reader/plan/epoch_layout.h"
#include "reader/plan/plan_builder.h"
#include "reader/plan/pool.h"
#include "reader/plan/run_group.h"

namespace dovetail::bench {

namespace {

using detail::PassLayout;
using detail::RunGroup;

/// Walks and fills one lane for one epoch after the other. `E` is what a record is on its way.
template <class E>
class BareWalk {
  static constexpr bool kSized = std::is_same_v<E, SizedEntry>;

 public:
  BareWalk(const Job& job, BareShards& shards, std::uint32_t record_bytes, bool images, const Start& start,
           Outcome& outcome)
      : job_(job), shards_(shards), record_bytes_(record_bytes), images_(images), outcome_(outcome), gaps_(start) {
    for (Batch& batch : batches_) batch.values.resize(std::size_t{kBatch} * job.max_record_bytes);
    if constexpr (!kSized) {
      for (Batch& batch : batches_) {
        for (std::size_t i = 0; i <= kBatch; ++i) batch.offsets[i] = static_cast<std::int64_t>(i * record_bytes);
      }
    }
  }

  void epoch(const PassLayout& lane) {
    prepare(lane);
    const std::uint64_t records = lane.records();
    const std::uint32_t pool = lane.pool();
    pool_.assign(pool, E{});
    std::uint64_t entered = 0;
    while (entered < pool) {
      const auto more = next_inputs(pool - entered);
      for (const E& entry : more) prefetch(entry);
      std::copy(more.begin(), more.end(), pool_.begin() + static_cast<std::ptrdiff_t>(entered));
      entered += more.size();
    }
    const std::uint64_t refilled = records - pool;
    for (std::uint64_t output = 0; output < refilled;) {
      const std::span<const std::uint32_t> slots = slots_->from(output);
      const std::size_t most = std::min<std::uint64_t>({slots.size(), refilled - output, kBatch - walked_->count});
      const auto inputs = next_inputs(most);
      E* const out = walked_->entries.data() + walked_->count;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        E& slot = pool_[slots[i]];
        out[i] = slot;
        slot = inputs[i];
        prefetch(slot);
      }
      output += inputs.size();
      walked(inputs.size());
    }
    for (std::uint64_t i = 0; i < pool; ++i) {
      walked_->entries[walked_->count] = pool_[lane.drain()(i)];
      walked(1);
    }
    flush();
    if (walked_->count > 0) deliver(*walked_);
  }
  void finish() { gaps_.finish(outcome_); }

 private:
  struct Batch {
    std::size_t count = 0;   ///< Walked,
    std::size_t filled = 0;  ///< and copied.
    std::array<E, kBatch> entries{};
    std::array<std::uint64_t, kBatch> ids{};
    std::array<std::int64_t, kBatch + 1> offsets{};
    std::vector<std::byte> values;
  };
  /// The memory of an open run.
  struct Room {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    std::vector<Extent> extents;  ///< Of its records, where they differ in size.
  };

  void prepare(const PassLayout& lane) {
    lane_ = &lane;
    group_.emplace(lane);
    slots_.emplace(lane);
    next_group_ = 0;
    turns_left_ = 0;
    const auto most = static_cast<std::size_t>(lane.largest_group());
    if (rooms_.size() < most) rooms_.resize(most);
    image_extents_.resize(most);
    bases_of_.emplace(most);
    next_.emplace(most);
    inputs_.resize(std::max<std::size_t>(most, kInputs));
    rest_ = {};
  }

  void prefetch(const E& entry) const {
    if (images_) return;
    const std::byte* const data = address_of(entry.where);
    const std::size_t bytes = std::min<std::size_t>(bytes_of(entry), kPrefetch);
    for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(data + at);
  }
  std::size_t bytes_of(const E& entry) const {
    if constexpr (kSized) {
      return entry.bytes;
    } else {
      return record_bytes_;
    }
  }

  /// The next inputs of the pool, at least one and at most so many.
  std::span<const E> next_inputs(std::uint64_t most) {
    while (rest_.empty()) deal();
    const auto some = rest_.first(static_cast<std::size_t>(std::min<std::uint64_t>(most, rest_.size())));
    rest_ = rest_.subspan(some.size());
    return some;
  }

  void deal() {
    if (turns_left_ == 0) next_section();
    const std::size_t runs = next_->size();
    if (runs == 0) {
      turns_left_ = 0;
      return;
    }
    const std::uint64_t turns = std::min<std::uint64_t>(turns_left_, std::max<std::size_t>(kInputs / runs, 1));
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
      E* const out = inputs_.data() + turn * runs;
      if constexpr (!kSized) {
        deal_turn(runs, bases_of_->data<1>(), bases_of_->data<2>(), next_->data<0>(), next_->data<1>(),
                  next_->data<2>(), record_bytes_, out);
      } else {
        for (std::size_t i = 0; i < runs; ++i) {
          std::uint32_t& at = next_->data<0>()[i];
          const Extent extent = extents_[bases_of_->data<0>()[i]][at];
          out[i] = {bases_of_->data<1>()[i] + extent.begin, bases_of_->data<2>()[i] + at, extent.bytes};
          const std::uint32_t moved = at + next_->data<1>()[i];
          at = std::min(moved, moved - next_->data<2>()[i]);
        }
      }
    }
    turns_left_ -= turns;
    rest_ = std::span(inputs_).first(static_cast<std::size_t>(turns * runs));
  }

  void next_section() {
    if (section_ < sections_) {
      const std::uint64_t turn = group_->section(section_).first_turn;
      for (const RunGroup::Event& event : group_->events(section_)) {
        const std::uint32_t* const begin = bases_of_->data<0>();
        const auto slot =
            static_cast<std::size_t>(std::lower_bound(begin, begin + bases_of_->size(), event.run) - begin);
        if (event.ends_pause) {
          insert(slot, event.run, turn);
        } else {
          bases_of_->erase(slot);
          next_->erase(slot);
        }
      }
      turns_left_ = group_->section_end(section_) - turn;
      ++section_;
      return;
    }
    flush();
    if (!images_) keep_pool();
    open_group();
  }

  void open_group() {
    group_->open(next_group_++);
    sections_ = group_->sections();
    section_ = 1;
    turns_left_ = group_->section_end(0);
    runs_.clear();
    bases_.clear();
    extents_.clear();
    bases_of_->clear();
    next_->clear();
    for (std::uint32_t index = 0; index < group_->runs(); ++index) {
      runs_.push_back(lane_->run(group_->first_run() + index));
      if (images_) {
        open_image(runs_.back());
      } else {
        load(runs_.back(), rooms_[index]);
      }
      if (group_->gives(index, 0)) insert(next_->size(), index, 0);
    }
  }

  void insert(std::size_t slot, std::uint32_t index, std::uint64_t turn) {
    const detail::Stride deal = group_->deal(index);
    bases_of_->insert(slot, index, bases_[index], runs_[index].first_id);
    next_->insert(slot, static_cast<std::uint32_t>(deal.at(group_->given_before(index, turn))),
                  static_cast<std::uint32_t>(deal.step), static_cast<std::uint32_t>(deal.size));
  }

  void open_image(const Run& run) {
    const BareShard& shard = shards_[run.shard];
    const std::size_t block = shard.block_of(run.first_record);
    if (shard.index[block].records != 1) throw std::runtime_error("a block of images has several records");
    bases_.push_back(shard.first_block + block);
    image_extents_[bases_.size() - 1] = {0, shard.index[block].raw_bytes};
    extents_.push_back(&image_extents_[bases_.size() - 1]);
  }

  /// Reads all blocks of a run, one behind the other.
  void load(const Run& run, Room& room) {
    const BareShard& shard = shards_[run.shard];
    const std::size_t first = shard.block_of(run.first_record);
    std::size_t end = first;
    std::size_t bytes = format::kDecodeSlack;
    while (end < shard.index.size() && shard.first_record[end] < run.first_record + run.count) {
      bytes += format::kBlockHeaderBytes + shard.index[end].table_bytes + shard.index[end].raw_bytes;
      ++end;
    }
    if (room.size < bytes) {
      room.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes);
      room.size = bytes;
    }
    const std::uint64_t before = run.first_record - shard.first_record[first];  // the lane does not have these
    room.extents.clear();
    std::byte* base = nullptr;
    std::byte* to = room.bytes.get();
    for (std::size_t block = first; block < end; ++block) {
      const format::BlockRecords records =
          shards_.load_block(shard, block, {to, room.size - static_cast<std::size_t>(to - room.bytes.get())});
      auto* begin = const_cast<std::byte*>(records[0].data());
      if (base == nullptr) {
        base = begin;
      } else if (!kSized && begin != to) {
        begin =
            static_cast<std::byte*>(std::memmove(to, begin, shard.index[block].raw_bytes));  // to the records before
      }
      for (std::uint32_t i = 0; kSized && i < records.size(); ++i) {
        room.extents.push_back(
            {static_cast<std::uint32_t>(records[i].data() - base), static_cast<std::uint32_t>(records[i].size())});
      }
      to = begin + shard.index[block].raw_bytes;
    }
    bases_.push_back(reinterpret_cast<std::uint64_t>(base) + (kSized ? 0 : before * record_bytes_));
    extents_.push_back(room.extents.data() + (kSized ? before : 0));
  }

  /// Copies what the pool has of the group that ends, whose memory is used again.
  void keep_pool() {
    std::size_t bytes = 0;
    for (const E& entry : pool_) bytes += entry.where == 0 ? 0 : bytes_of(entry);
    std::vector<std::byte>& room = kept_[kept_now_ ^= 1];
    if (room.size() < bytes) room.resize(bytes);
    std::byte* to = room.data();
    for (E& entry : pool_) {
      if (entry.where == 0) continue;
      std::memcpy(to, address_of(entry.where), bytes_of(entry));
      entry.where = reinterpret_cast<std::uint64_t>(to);
      to += bytes_of(entry);
    }
  }

  void walked(std::size_t more) {
    walked_->count += more;
    if (walked_->count < kBatch) return;
    // One batch behind: what is prefetched has time to come.
    std::swap(walked_, before_);
    if (walked_->count > 0) deliver(*walked_);
  }

  void flush() {
    if (before_->count > 0) deliver(*before_);
    fill(*walked_);
  }

  void fill(Batch& batch) {
    if (images_) return fill_images(batch);
    std::byte* const values = batch.values.data();
    for (; batch.filled < batch.count; ++batch.filled) {
      const E& entry = batch.entries[batch.filled];
      batch.ids[batch.filled] = entry.id;
      // The prefetched lines have left the nearest cache since.
      if (batch.filled + kAhead < batch.count) prefetch(batch.entries[batch.filled + kAhead]);
      if constexpr (kSized) {
        const std::int64_t at = batch.offsets[batch.filled];
        std::memcpy(values + at, address_of(entry.where), entry.bytes);
        batch.offsets[batch.filled + 1] = at + static_cast<std::int64_t>(entry.bytes);
      } else if (record_bytes_ == 64) {
        std::memcpy(values + batch.filled * 64, address_of(entry.where), 64);
      } else {
        std::memcpy(values + batch.filled * record_bytes_, address_of(entry.where), record_bytes_);
      }
    }
  }

  void fill_images(Batch& batch) {
    if constexpr (kSized) {
      for (; batch.filled < batch.count; ++batch.filled) {
        const E& entry = batch.entries[batch.filled];
        const auto [shard, block] = shards_.find(entry.where);
        const std::int64_t at = batch.offsets[batch.filled];
        BareShards::read_image(*shard, block, {batch.values.data() + at, entry.bytes});
        batch.ids[batch.filled] = entry.id;
        batch.offsets[batch.filled + 1] = at + static_cast<std::int64_t>(entry.bytes);
      }
    }
  }

  void deliver(Batch& batch) {
    fill(batch);
    Delivered& delivered = outcome_.delivered;
    delivered.take(batch.values.data(), std::span(batch.offsets).first(batch.count + 1));
    delivered.take_ids(std::span(batch.ids).first(batch.count));
    delivered.rows += batch.count;
    gaps_.taken(outcome_);
    batch.count = batch.filled = 0;
  }

  static constexpr std::size_t kInputs = 512;
  static constexpr std::size_t kPrefetch = 256;
  static constexpr std::size_t kAhead = 4;  // records

  const Job& job_;
  BareShards& shards_;
  std::uint32_t record_bytes_;
  bool images_;
  Outcome& outcome_;
  BatchGaps gaps_;

  const PassLayout* lane_ = nullptr;
  std::optional<RunGroup> group_;
  std::optional<detail::SlotDraws> slots_;
  std::uint64_t next_group_ = 0;
  std::size_t section_ = 0;
  std::size_t sections_ = 0;
  std::uint64_t turns_left_ = 0;
  std::vector<Room> rooms_;
  std::vector<Run> runs_;             // of the group
  std::vector<std::uint64_t> bases_;  // where their record 0 is
  std::vector<const Extent*> extents_;
  std::vector<Extent> image_extents_;
  std::optional<Bases> bases_of_;
  std::optional<Turns> next_;
  std::vector<E> inputs_;
  std::span<const E> rest_;
  std::vector<E> pool_;
  std::array<std::vector<std::byte>, 2> kept_;
  std::size_t kept_now_ = 0;
  std::array<Batch, 2> batches_;
  Batch* walked_ = &batches_[0];
  Batch* before_ = &batches_[1];
};

}  // namespace

Outcome run_bare_walk(const Job& job) {
  Outcome outcome;
  Start start;
  start.wait();
  const Dataset dataset = Dataset::open(job.data).value();
  BareShards shards(dataset, job.data);
  PlanOptions options;
  options.world = job.world;
  options.batch = kBatch;
  options.pool = kPool;
  options.tail = Tail::pad;
  const auto facts = std::make_shared<const detail::PlanFacts>(detail::make_facts(dataset.shape(), options).value());
  std::uint32_t least = ~std::uint32_t{0};
  std::uint32_t most = 0;
  for (const ShardInfo& shard : dataset.shards()) {
    least = std::min<std::uint32_t>(least, shard.min_record_bytes);
    most = std::max<std::uint32_t>(most, shard.max_record_bytes);
  }
  const auto walk = [&](auto& bare) {
    for (std::uint32_t epoch = 0; epoch < job.epochs; ++epoch) {
      const auto layout = detail::make_layout(facts, epoch).value();
      const detail::PassKey key{
          .seed = options.seed, .epoch = epoch, .lane = job.rank, .open_runs = options.open_runs, .pool = options.pool};
      const PassLayout lane(detail::PassOrders(*layout).runs(job.rank, 0, 0), key);
      bare.epoch(lane);
    }
    bare.finish();
  };
  if (least == most) {
    BareWalk<Entry> bare(job, shards, most, false, start, outcome);
    walk(bare);
  } else {
    BareWalk<SizedEntry> bare(job, shards, 0, job.workload == "w2", start, outcome);
    walk(bare);
  }
  outcome.seconds = start.seconds();
  outcome.cpu_seconds = start.cpu_seconds();
  return outcome;
}

}  // namespace dovetail::bench
