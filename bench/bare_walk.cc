// SPDX-License-Identifier: Apache-2.0
// The yardstick of delivery: what one thread can do that gives the same rows, in the same order, with the same checks,
// and does nothing else. It has no requests, no budget, no other storage than warm files, and ends at the first damage.
// When the runs of a group are opened, all of them are read, checked and decoded; what is left in the pool of the last
// group is copied out before. Between two such events a record is an entry, which is dealt, passes the pool and becomes
// a row; images are read straight into their rows.
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

#include "bench/batch_gaps.h"
#include "bench/contestants.h"
#include "bench/files.h"
#include "bench/processes.h"
#include "format/block_decoder.h"
#include "format/layout.h"
#include "format/snappy_decoder.h"
#include "reader/plan/epoch_layout.h"
#include "reader/plan/plan_builder.h"
#include "reader/plan/pool.h"
#include "reader/plan/run_group.h"

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DOVETAIL_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DOVETAIL_VECTORS
#endif

namespace dovetail::bench {

namespace {

using detail::PassLayout;
using detail::RunGroup;
using format::IndexEntry;

/// A record on its way: all of them have one size, or each brings its own.
struct Entry {
  std::uint64_t where = 0;  ///< Its address; of an image, the number of its block.
  std::uint64_t id = 0;
};
struct SizedEntry {
  std::uint64_t where = 0;
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
};

const std::byte* address_of(std::uint64_t where) {
  return reinterpret_cast<const std::byte*>(where);  // NOLINT(performance-no-int-to-ptr)
}

/// A file and where its blocks lie.
struct Shard {
  ReadFile file;
  std::uint64_t file_id = 0;
  std::vector<IndexEntry> index;
  std::vector<std::uint64_t> first_record;  ///< Of each block.
  std::uint64_t first_block = 0;            ///< Number of its first block in the dataset.

  explicit Shard(const std::string& path) : file(path) {}

  std::size_t block_of(std::uint64_t record) const {
    const auto after = std::upper_bound(first_record.begin(), first_record.end(), record);
    return static_cast<std::size_t>(after - first_record.begin()) - 1;
  }
};

class Shards {
 public:
  explicit Shards(const Dataset& dataset, const std::string& folder) {
    std::uint64_t blocks = 0;
    for (const std::string& path : shards_in(folder)) {
      Shard& shard = shards_.emplace_back(path);
      shard.file_id = dataset.shards()[shards_.size() - 1].file_id;
      shard.index = read_index(shard.file);
      shard.first_block = blocks;
      blocks += shard.index.size();
      std::uint64_t records = 0;
      for (const IndexEntry& entry : shard.index) {
        shard.first_record.push_back(records);
        records += entry.records;
        max_block_ = std::max<std::size_t>(
            max_block_, format::kBlockHeaderBytes + entry.table_bytes + std::max(entry.stored_bytes, entry.raw_bytes));
      }
    }
    stored_ = std::make_unique<std::byte[]>(max_block_);
  }

  const Shard& operator[](std::size_t number) const { return shards_[number]; }
  std::size_t max_block_bytes() const { return max_block_; }

  /// The shard that has a block, and the block's number in it.
  std::pair<const Shard*, std::size_t> find(std::uint64_t block) const {
    const auto after = std::upper_bound(shards_.begin(), shards_.end(), block,
                                        [](std::uint64_t at, const Shard& shard) { return at < shard.first_block; });
    const Shard& shard = *(after - 1);
    return {&shard, static_cast<std::size_t>(block - shard.first_block)};
  }

  /// Reads, checks and decodes a block to `out`, where a header fits before it where it is stored as it is; where its
  /// records lie then. Throws what is damaged.
  format::BlockRecords load(const Shard& shard, std::size_t number, std::span<std::byte> out) {
    const IndexEntry& entry = shard.index[number];
    const bool decoded = entry.codec != Codec::none;
    std::byte* const to = decoded ? stored_.get() : out.data();
    const std::size_t bytes = format::kBlockHeaderBytes + entry.table_bytes + entry.stored_bytes;
    shard.file.read(entry.offset, {to, bytes});
    const auto header = format::decode_block_header(std::span<const std::byte, format::kBlockHeaderBytes>(to, 64));
    header.value();
    format::check_block_header(*header, entry, shard.file_id, static_cast<std::uint32_t>(number + 1),
                               shard.first_record[number])
        .value();
    return format::decode_block(*header, {to + format::kBlockHeaderBytes, bytes - format::kBlockHeaderBytes},
                                decoded ? out : std::span<std::byte>())
        .value();
  }

 private:
  std::vector<Shard> shards_;
  std::size_t max_block_ = 0;
  std::unique_ptr<std::byte[]> stored_;  // a compressed block before it is decoded
};

/// The runs that give a record in each turn, and where their next records are: fields side by side, for vectors.
struct Dealers {
  std::size_t count = 0;
  std::vector<std::uint32_t> index;  ///< In the group.
  std::vector<std::uint64_t> base;   ///< Where record 0 of the run is,
  std::vector<std::uint64_t> id;     ///< and its id.
  std::vector<std::uint32_t> at;     ///< The next record.
  std::vector<std::uint32_t> step;
  std::vector<std::uint32_t> size;

  explicit Dealers(std::size_t most) : index(most), base(most), id(most), at(most), step(most), size(most) {}

  template <class Function>
  void for_all(const Function& function) {
    function(index);
    function(base);
    function(id);
    function(at);
    function(step);
    function(size);
  }
  std::size_t slot_of(std::uint32_t run) const {
    return static_cast<std::size_t>(
        std::lower_bound(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(count), run) - index.begin());
  }
  void erase(std::size_t slot) {
    for_all([&](auto& values) {
      std::copy(values.begin() + static_cast<std::ptrdiff_t>(slot) + 1,
                values.begin() + static_cast<std::ptrdiff_t>(count),
                values.begin() + static_cast<std::ptrdiff_t>(slot));
    });
    --count;
  }
  /// Makes room at a slot.
  void open(std::size_t slot) {
    for_all([&](auto& values) {
      std::copy_backward(values.begin() + static_cast<std::ptrdiff_t>(slot),
                         values.begin() + static_cast<std::ptrdiff_t>(count),
                         values.begin() + static_cast<std::ptrdiff_t>(count) + 1);
    });
    ++count;
  }
};

/// One turn where all records have `bytes` bytes.
DOVETAIL_VECTORS
void deal_turn(std::size_t count, const std::uint64_t* __restrict base, const std::uint64_t* __restrict id,
               std::uint32_t* __restrict at, const std::uint32_t* __restrict step, const std::uint32_t* __restrict size,
               std::uint32_t bytes, Entry* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = {base[i] + std::uint64_t{at[i]} * bytes, id[i] + at[i]};
    const std::uint32_t moved = at[i] + step[i];
    at[i] = std::min(moved, moved - size[i]);  // what is not to be taken off wraps and is the larger one
  }
}

/// Where a record of a run lies, from the beginning of the run's memory.
struct Extent {
  std::uint32_t begin = 0;
  std::uint32_t bytes = 0;
};

/// Walks and fills one lane for one epoch after the other. `E` is what a record is on its way.
template <class E>
class BareWalk {
  static constexpr bool kSized = std::is_same_v<E, SizedEntry>;

 public:
  BareWalk(const Job& job, Shards& shards, std::uint32_t record_bytes, bool images, const Start& start,
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
    dealers_.emplace(most);
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
    const std::size_t runs = dealers_->count;
    if (runs == 0) {
      turns_left_ = 0;
      return;
    }
    const std::uint64_t turns = std::min<std::uint64_t>(turns_left_, std::max<std::size_t>(kInputs / runs, 1));
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
      E* const out = inputs_.data() + turn * runs;
      if constexpr (!kSized) {
        deal_turn(runs, dealers_->base.data(), dealers_->id.data(), dealers_->at.data(), dealers_->step.data(),
                  dealers_->size.data(), record_bytes_, out);
      } else {
        for (std::size_t i = 0; i < runs; ++i) {
          const std::uint32_t at = dealers_->at[i];
          const Extent extent = extents_[dealers_->index[i]][at];
          out[i] = {dealers_->base[i] + extent.begin, dealers_->id[i] + at, extent.bytes};
          const std::uint32_t moved = at + dealers_->step[i];
          dealers_->at[i] = std::min(moved, moved - dealers_->size[i]);
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
        const std::size_t slot = dealers_->slot_of(event.run);
        if (event.ends_pause) {
          dealers_->open(slot);
          put(slot, event.run, turn);
        } else {
          dealers_->erase(slot);
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
    dealers_->count = 0;
    for (std::uint32_t index = 0; index < group_->runs(); ++index) {
      runs_.push_back(lane_->run(group_->first_run() + index));
      if (images_) {
        open_image(runs_.back());
      } else {
        load(runs_.back(), rooms_[index]);
      }
      if (!group_->gives(index, 0)) continue;
      put(dealers_->count++, index, 0);
    }
  }

  void put(std::size_t slot, std::uint32_t index, std::uint64_t turn) {
    const detail::Stride deal = group_->deal(index);
    dealers_->index[slot] = index;
    dealers_->base[slot] = bases_[index];
    dealers_->id[slot] = runs_[index].first_id;
    dealers_->at[slot] = static_cast<std::uint32_t>(deal.at(group_->given_before(index, turn)));
    dealers_->step[slot] = static_cast<std::uint32_t>(deal.step);
    dealers_->size[slot] = static_cast<std::uint32_t>(deal.size);
  }

  void open_image(const Run& run) {
    const Shard& shard = shards_[run.shard];
    const std::size_t block = shard.block_of(run.first_record);
    if (shard.index[block].records != 1) throw std::runtime_error("a block of images has several records");
    bases_.push_back(shard.first_block + block);
    image_extents_[bases_.size() - 1] = {0, shard.index[block].raw_bytes};
    extents_.push_back(&image_extents_[bases_.size() - 1]);
  }

  /// Reads all blocks of a run, one behind the other.
  void load(const Run& run, Room& room) {
    const Shard& shard = shards_[run.shard];
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
          shards_.load(shard, block, {to, room.size - static_cast<std::size_t>(to - room.bytes.get())});
      auto* begin = const_cast<std::byte*>(records.begin_of(0));
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
        read_image(*shard, block, {batch.values.data() + at, entry.bytes});
        batch.ids[batch.filled] = entry.id;
        batch.offsets[batch.filled + 1] = at + static_cast<std::int64_t>(entry.bytes);
      }
    }
  }
  void read_image(const Shard& shard, std::size_t block, std::span<std::byte> row) const;

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

  const Job& job_;
  Shards& shards_;
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
  std::optional<Dealers> dealers_;
  std::vector<E> inputs_;
  std::span<const E> rest_;
  std::vector<E> pool_;
  std::array<std::vector<std::byte>, 2> kept_;
  std::size_t kept_now_ = 0;
  std::array<Batch, 2> batches_;
  Batch* walked_ = &batches_[0];
  Batch* before_ = &batches_[1];
};

template <class E>
void BareWalk<E>::read_image(const Shard& shard, std::size_t block, std::span<std::byte> row) const {
  const IndexEntry& entry = shard.index[block];
  std::array<std::byte, format::kBlockHeaderBytes> bytes;
  shard.file.read_two(entry.offset, bytes, row);
  const auto header = format::decode_block_header(bytes);
  header.value();
  format::check_block_header(*header, entry, shard.file_id, static_cast<std::uint32_t>(block + 1),
                             shard.first_record[block])
      .value();
  format::decode_block(*header, row, {}).value();
}

}  // namespace

Outcome run_bare_walk(const Job& job) {
  Outcome outcome;
  Start start;
  start.wait();
  const Dataset dataset = Dataset::open(job.data).value();
  Shards shards(dataset, job.data);
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
