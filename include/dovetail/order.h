// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dovetail/export.h>

namespace dovetail {

/// The id of a row without a record.
inline constexpr std::uint64_t kNoId = ~std::uint64_t{0};

/// Status of a row. Values are stable: files and other languages use them.
enum class RowStatus : std::uint8_t {
  empty = 0,  ///< No record is planned here.
  /// The first delivery of its record in this epoch; in a mix, in this pass over its source.
  first = 1,
  /// Delivered before in this epoch; the lane wrapped around.
  repeated = 2,
  // For these, the planned record is damaged, or does not fit the columns. A substituted row has
  // the bytes, or values, of a good neighbour. Otherwise the row has no bytes, or zeros in columns.
  substituted = 3,             ///< In place of a first delivery.
  damaged_empty = 4,           ///< In place of a first delivery.
  repeated_substituted = 5,    ///< In place of a repetition.
  repeated_damaged_empty = 6,  ///< In place of a repetition.
};

/// Number of statuses; all values are below it.
inline constexpr std::size_t kRowStatuses = 7;

/// Whether the row was planned as a repetition, even if it is damaged.
constexpr bool is_repetition(RowStatus status) noexcept {
  return status == RowStatus::repeated || status >= RowStatus::repeated_substituted;
}

/// Whether a record is planned for the row, but the row does not have its bytes.
constexpr bool is_damaged(RowStatus status) noexcept {
  return status >= RowStatus::substituted;
}

/// Whether the row counts in the digest of its epoch: a record is planned here for the first time.
constexpr bool is_counted(RowStatus status) noexcept {
  return status != RowStatus::empty && !is_repetition(status);
}

/// A place between two steps: the steps before it were handed to the trainer.
struct DOVETAIL_EXPORT Position {
  std::uint32_t epoch = 0;
  std::uint64_t step = 0;  ///< Steps of the epoch before this place.

  friend auto operator<=>(const Position&, const Position&) = default;
};

/// Consecutive records of one shard that are read together.
struct DOVETAIL_EXPORT Run {
  std::uint32_t shard = 0;         ///< Position of the shard in the dataset.
  std::uint64_t first_record = 0;  ///< In the shard, from 0.
  std::uint64_t count = 0;         ///< Records, at least 1.
  std::uint64_t first_id = 0;      ///< Dataset id of the first record.
};

/// A planned row: its record, and its status.
struct DOVETAIL_EXPORT PlannedRecord {
  std::uint64_t id = kNoId;
  RowStatus status = RowStatus::empty;  ///< `empty`, `first` or `repeated`.

  friend bool operator==(const PlannedRecord&, const PlannedRecord&) = default;
};

/// One output of a lane, as a place in a run. A cursor numbers the runs that it opens; the numbers
/// are meaningless for another cursor.
struct DOVETAIL_EXPORT Pick {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t run = kNone;  ///< `kNone` if no record is planned.
  std::uint64_t record = 0;   ///< In the run, from 0.

  bool planned() const noexcept { return run != kNone; }
  friend bool operator==(const Pick&, const Pick&) = default;
};

class LaneCursor;

namespace detail {
struct LaneLayout;
}

/// The order of one lane in one epoch: a pure function from output number to record. After a change
/// of world it covers what the lane gives of the rest of the epoch.
///
/// Ownership: a value; copies share the layout.
/// Threads:   const calls may run concurrently.
class DOVETAIL_EXPORT LaneOrder {
 public:
  /// Records of the lane. Later outputs are empty, or repeat the lane from its beginning if the
  /// plan wraps.
  std::uint64_t records() const noexcept;
  /// One output, computed without the ones before it. Cost: that of a cursor.
  PlannedRecord at(std::uint64_t output) const;
  /// Starts a cursor at any output. Cost: about K ln K draws for a pool of K, for any output.
  LaneCursor cursor(std::uint64_t output = 0) const;

 private:
  friend class EpochPlan;
  friend struct detail::LaneLayout;
  explicit LaneOrder(std::shared_ptr<const detail::LaneLayout> layout);
  std::shared_ptr<const detail::LaneLayout> layout_;
};

/// Iterates over a lane, output by output.
///
/// Ownership: keeps the lane's layout alive.
/// Threads:   none; one thread at a time.
/// Cost:      memory for the pools and the open runs: O(K + C) per source, independent of the
///            records.
class DOVETAIL_EXPORT LaneCursor {
 public:
  LaneCursor(LaneCursor&&) noexcept;
  LaneCursor& operator=(LaneCursor&&) noexcept;
  ~LaneCursor();

  /// Number of the next output.
  std::uint64_t position() const noexcept;
  /// Fills `out` with the next picks. Cost: no allocation, except where a pass begins.
  void next(std::span<Pick> out);
  /// The record of a pick from the last `next`. Cost: one keyed permutation and one binary search
  /// over the shards.
  PlannedRecord record(const Pick& pick) const;
  /// The run of a planned pick from the last `next`.
  Run run_of(const Pick& pick) const;

 private:
  friend class LaneOrder;
  struct DOVETAIL_HIDDEN State;
  explicit LaneCursor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail
