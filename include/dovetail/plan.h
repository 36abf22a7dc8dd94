// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/identity.h>
#include <dovetail/order.h>

namespace dovetail {

/// Order of the records of an epoch.
enum class OrderKind : std::uint8_t {
  shuffle = 0,     ///< Training: permuted shards and runs, interleaved open runs, a shuffle pool.
  sequential = 1,  ///< Evaluation: dataset order, one contiguous range per lane.
  global = 2,      ///< One keyed permutation of all records. Best mixing, a random read per record.
};

/// How records are assigned to lanes.
enum class Assign : std::uint8_t {
  even = 0,   ///< The concatenated shards, cut into lanes that differ by at most one record.
  files = 1,  ///< Whole shards in turn. Lanes differ as the shards differ.
  /// The runs of all shards, permuted, concatenated and cut as with `even`: every lane sees every
  /// shard. Opens more files, and reads one run at a time. Needs `OrderKind::shuffle`, and one
  /// `run_records` for all shards; in a mix, for all shards of each source.
  runs = 2,
};

/// How records are handled that do not fill a last step.
enum class Tail : std::uint8_t {
  drop = 0,  ///< They are left out; others in each epoch.
  pad = 1,   ///< Every record exactly once; missing rows are empty and marked.
  wrap = 2,  ///< Every record at least once. A lane that ends begins again; such rows are marked.
};

/// When an epoch of a mix ends.
enum class MixStop : std::uint8_t {
  first = 0,  ///< Before any source would begin again.
  all = 1,    ///< When every source was delivered whole; shorter ones have begun again meanwhile.
  steps = 2,  ///< After a given number of steps.
};

/// Weights of the sources, from a step of the epoch on.
struct DOVETAIL_EXPORT MixWeights {
  std::uint64_t from_step = 0;
  /// One per source, any scale, rounded to 1/65536 of the sum.
  std::vector<std::uint32_t> weights;

  friend bool operator==(const MixWeights&, const MixWeights&) = default;
};

/// How the sources of a joined dataset are mixed: selects the source of each row of a lane.
///
/// At every row of a lane each source is within one row of its share, counted since the last change
/// of weights. A source that ends begins its next pass, newly shuffled.
struct DOVETAIL_EXPORT Mix {
  /// Ascending, the first from step 0. Empty (default): no mix, the sources are one dataset.
  std::vector<MixWeights> schedule;
  MixStop stop = MixStop::first;
  std::uint64_t steps = 0;  ///< With `MixStop::steps`.

  bool enabled() const noexcept { return !schedule.empty(); }
  friend bool operator==(const Mix&, const Mix&) = default;
};

/// Decides which rank reads which record at which step. Must be the same on all ranks.
struct DOVETAIL_EXPORT PlanOptions {
  std::uint32_t world = 1;      ///< Ranks, at least 1.
  std::uint32_t batch = 1;      ///< Rows per rank and step, at least 1.
  std::uint32_t replicate = 1;  ///< Consecutive ranks with equal rows; divides `world`.
  /// Ordered streams. 0 means one per reader. A multiple of the readers; divides their rows.
  std::uint32_t lanes = 0;
  OrderKind order = OrderKind::shuffle;
  Assign assign = Assign::even;
  Tail tail = Tail::drop;
  /// Runs of a lane that are interleaved, 1 to 65536: at least this many if it has them, and fewer
  /// than twice as many. More mix better; see docs/mixing.md.
  std::uint32_t open_runs = 96;
  std::uint32_t pool = 256;  ///< Records in a lane's shuffle pool, 1 to 2^24.
  std::uint64_t seed = 0;    ///< The same on all ranks.
  /// Every lane keeps the same parts of the shards in every epoch, so that local caches stay warm.
  /// Only their order inside the lane changes. Needs `OrderKind::shuffle`.
  bool sticky = false;
  Mix mix = {};  ///< How joined datasets are mixed.

  friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

/// The facts about a shard that a plan needs.
struct DOVETAIL_EXPORT ShardShape {
  std::uint64_t records = 0;
  std::uint64_t run_records = 1;  ///< At least 1.
  std::uint64_t raw_bytes = 0;    ///< For estimates only.
};

/// The facts about a dataset that a plan needs. Integers only; a `Dataset` makes it.
struct DOVETAIL_EXPORT DatasetShape {
  std::vector<ShardShape> shards;
  Hash128 fingerprint;  ///< Identifies the content.
  /// Number of shards of each joined dataset, in their order; empty for a single dataset.
  std::vector<std::uint32_t> source_shards;
};

struct State;

namespace detail {
struct EpochLayout;
struct PlanFacts;
}  // namespace detail

/// The share of one rank in an epoch.
struct DOVETAIL_EXPORT RankShare {
  std::uint64_t records = 0;  ///< Rows that are the first delivery of a record.
  /// Shards with records in the lanes of its rows. Not counted with `OrderKind::global`, which
  /// would need a look at every record.
  std::optional<std::uint32_t> shards;
  std::uint64_t bytes_estimate = 0;  ///< Estimated from the mean record size of each shard.
};

/// The plan of one epoch: the number of steps, and the rows of each rank.
///
/// If the world changed in mid-epoch, the epoch has *phases*. Lanes, shares and rows here are those
/// of the present phase, the last one. Counts are those of the whole epoch.
///
/// Ownership: a value; copies share the layout and keep it alive.
/// Threads:   const calls may run concurrently.
class DOVETAIL_EXPORT EpochPlan {
 public:
  std::uint32_t epoch() const noexcept;
  /// Steps of the epoch, the same on every rank.
  std::uint64_t steps() const noexcept;
  /// First step of the present phase: 0, unless the world changed.
  std::uint64_t first_step() const noexcept;
  /// Records of the epoch: those of the dataset; in a mix, the rows that its stop rule gives.
  std::uint64_t records() const noexcept;
  /// Rows of all readers in the epoch. Replicas count once.
  std::uint64_t rows() const noexcept;
  /// Rows with status `first`.
  std::uint64_t delivered() const noexcept;
  /// Records left out by `Tail::drop`. `records - dropped + padded == rows`.
  std::uint64_t dropped() const noexcept;
  /// Rows without a record of their own: empty under `Tail::pad`, repeated under `Tail::wrap`.
  std::uint64_t padded() const noexcept;

  std::uint32_t lanes() const noexcept;
  /// One lane of the present phase. Needs: `lane < lanes()`. Cost: proportional to the shards of
  /// the lane, and one sort of them.
  LaneOrder lane(std::uint32_t lane) const;
  /// Lanes of a rank: [first, first + count). The rank's rows are lane-major.
  std::uint32_t first_lane(std::uint32_t rank) const noexcept;
  std::uint32_t lanes_per_rank() const noexcept;
  /// Outputs per lane and step.
  std::uint64_t rows_per_lane() const noexcept;
  /// The output with which `step` begins, in every lane. Needs: `step >= first_step()`.
  std::uint64_t first_output(std::uint64_t step) const noexcept;

  /// The share of a rank in the present phase.
  RankShare share(std::uint32_t rank) const;

  /// Sum of the digests of all readers: the sum modulo 2^128 of `record_digest(id)` over the first
  /// deliveries.
  /// Cost: about N / 65536 hashes. For rows left out by `Tail::drop` or the last pass over a
  ///       source, also their runs and about K ln K draws per lane; with `OrderKind::global` a hash
  ///       per such row.
  Hash128 digest() const;

 private:
  friend class Plan;
  explicit EpochPlan(std::shared_ptr<const detail::EpochLayout> layout);
  std::shared_ptr<const detail::EpochLayout> layout_;
};

/// Decides equal counts for all ranks: a pure function of dataset shape and options, the same on
/// every rank and machine.
///
/// Ownership: a value; copies share the dataset shape.
/// Threads:   const calls may run concurrently.
/// Source:    docs/order.md specifies every number.
class DOVETAIL_EXPORT Plan {
 public:
  /// Checks the options against the dataset.
  /// Errors: `invalid_option` naming the field and what is allowed; `empty_input` for a dataset
  ///         without records; `no_steps` naming the largest batch or world that works.
  static Result<Plan> make(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options);

  /// Continues where a state was taken. World, batch, replicas and lanes may differ from those of
  /// the state. If they fit its lanes, the global batches stay the same. Otherwise the rest of the
  /// epoch is cut anew, with every remaining record exactly once, and later epochs are planned with
  /// the new lanes.
  /// Errors: those of `make`; `state_mismatch` naming each difference of dataset or order;
  ///         `too_many_changes`.
  static Result<Plan> resume(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options,
                             const State& state);

  const PlanOptions& options() const noexcept;
  const DatasetShape& dataset() const noexcept;
  /// Records of the dataset.
  std::uint64_t records() const noexcept;
  /// Ranks with different rows: world / replicate.
  std::uint32_t readers() const noexcept;
  /// Lanes in use; `options().lanes`, or those of the state, or one per reader.
  std::uint32_t lanes() const noexcept;
  /// Where this plan begins: (0, 0), or where the state was taken.
  Position start() const noexcept;
  /// Whether resuming cut the rest of the first epoch anew.
  bool changes_world() const noexcept;

  /// Lays out an epoch. Cost: proportional to the shards; with `Assign::runs` also a permutation
  /// per shard, and a sort.
  /// Errors: those of a dataset or mix that `make` could not foresee, such as epochs with more rows
  ///         than allowed.
  Result<EpochPlan> epoch(std::uint32_t epoch) const;
  /// Steps of an epoch. Cost: constant. Exceptions cost as `epoch()`: `Assign::files` with
  /// `OrderKind::shuffle` that is not sticky, and an epoch that changed its world.
  Result<std::uint64_t> steps(std::uint32_t epoch) const;
  /// Steps of epochs [0, epochs), as if all were planned anew.
  Result<std::uint64_t> total_steps(std::uint32_t epochs) const;
  /// The state after `position.step` steps of `position.epoch`.
  /// Errors: `invalid_option` for a step that the epoch does not have, or that an earlier phase
  ///         took.
  Result<State> state(Position position) const;

  /// Identifies all inputs: dataset, options, version of the order, changes of world. Equal plans
  /// have equal ids in every epoch.
  Hash128 plan_id() const noexcept;
  /// Identifies what fixes the order of the lanes: dataset, seed, order, assign, lanes, open runs,
  /// pool, stickiness and mix. World, batch, tail and replicas do not count.
  Hash128 order_id() const noexcept;
  /// Eight bytes that are equal on all ranks if and only if they made the same plan and begin at
  /// the same place. The chance of an error is 2^-64. For an optional all-reduce at the start.
  std::uint64_t plan_checksum() const noexcept { return plan_checksum(start()); }
  std::uint64_t plan_checksum(Position begin) const noexcept;

 private:
  explicit Plan(std::shared_ptr<const detail::PlanFacts> facts);
  std::shared_ptr<const detail::PlanFacts> facts_;
};

/// Hash of a record id for digests. See docs/order.md.
DOVETAIL_EXPORT Hash128 record_digest(std::uint64_t id) noexcept;

}  // namespace dovetail
