// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace dovetail {

/// The id of a row that holds no record.
inline constexpr std::uint64_t kNoId = ~std::uint64_t{0};

/// What a row holds. Values are stable: files and other languages carry them.
enum class RowStatus : std::uint8_t {
  empty = 0,          ///< No record is planned here.
  first = 1,          ///< The first delivery of its record in this epoch.
  repeated = 2,       ///< Delivered before in this epoch; the lane wrapped around.
  substituted = 3,    ///< The planned record is damaged; the bytes are those of a good neighbour.
  damaged_empty = 4,  ///< The planned record is damaged; the row has no bytes.
};

/// Consecutive records of one shard that are read together.
struct Run {
  std::uint32_t shard = 0;         ///< Position of the shard in the dataset.
  std::uint64_t first_record = 0;  ///< In the shard, from 0.
  std::uint64_t count = 0;         ///< Records, at least 1.
  std::uint64_t first_id = 0;      ///< Dataset id of the first record.
};

/// One output of a lane, as a place in a run.
///
/// `run` counts the runs of the lane in the order in which they are opened; a lane that wraps counts on, so that
/// `run / runs()` is the pass.
struct Pick {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t run = kNone;  ///< `kNone` where no record is planned.
  std::uint64_t record = 0;   ///< In the run, from 0.

  bool planned() const noexcept { return run != kNone; }
  friend bool operator==(const Pick&, const Pick&) = default;
};

class LaneCursor;

/// The order of one lane in one epoch: a pure function from output number to record.
///
/// Ownership: a value; copies share the layout.
/// Threads:   const calls may run concurrently.
class LaneOrder {
 public:
  /// Records of the lane.
  std::uint64_t records() const noexcept;
  /// Runs of the lane, clipped at its ends.
  std::uint64_t runs() const noexcept;
  /// The run opened as number `position`; positions from `runs()` on are further passes. Needs `runs() > 0`.
  /// Cost: one keyed permutation and one binary search over the shards of the lane.
  Run run(std::uint64_t position) const;
  /// The pick of one output, computed without the ones before it. Outputs from `records()` on are empty, or repeat the
  /// lane from its beginning if the plan wraps. Cost: about K ln K draws for a pool of K.
  Pick at(std::uint64_t output) const;
  /// The id of a pick, `kNoId` where none is planned.
  std::uint64_t id(const Pick& pick) const;
  /// `empty`, `first` or `repeated`: what a pick is when its bytes are good.
  RowStatus status(const Pick& pick) const noexcept;
  /// Begins at any output. Cost: as `at()`, whatever the output.
  LaneCursor cursor(std::uint64_t output = 0) const;

 private:
  friend class EpochPlan;
  friend class LaneCursor;
  struct Layout;
  explicit LaneOrder(std::shared_ptr<const Layout> layout);
  std::shared_ptr<const Layout> layout_;
};

/// Walks a lane output by output.
///
/// Ownership: keeps the lane's layout alive.
/// Threads:   none; one thread at a time.
/// Cost:      memory for the pool and the open runs: O(K + C), never for records.
class LaneCursor {
 public:
  /// A run that was opened before the cursor's position and is not used up.
  struct OpenRun {
    std::uint64_t run = 0;
    std::uint64_t next_record = 0;  ///< Records of the run from here on have not entered the pool.
  };

  LaneCursor(LaneCursor&&) noexcept;
  LaneCursor& operator=(LaneCursor&&) noexcept;
  ~LaneCursor();

  /// The next output's number.
  std::uint64_t position() const noexcept;
  /// Fills `out` with the next picks. Cost: no allocation.
  void next(std::span<Pick> out);

  /// What is in flight at this position: exactly the picks of `pooled()`, the rest of `open_runs()`, and the runs from
  /// `next_run()` on are still to come in this pass. A reader that starts here needs nothing else.
  std::vector<Pick> pooled() const;
  std::vector<OpenRun> open_runs() const;
  std::uint64_t next_run() const noexcept;

 private:
  friend class LaneOrder;
  struct State;
  explicit LaneCursor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail
