// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <dovetail/order.h>

#include "reader/plan/draws.h"
#include "reader/plan/stride.h"

namespace dovetail::detail {

/// A chunk, and the order of its records.
struct Chunk {
  std::uint64_t number = 0;  ///< In the run, in the order of records.
  std::uint64_t begin = 0;   ///< First record, in the run.
  Stride records;            ///< From `begin` on.
};

/// Records of a chunk, those that it gives as numbers [from, to).
struct ChunkPart {
  Chunk chunk;
  std::uint64_t from = 0;
  std::uint64_t to = 0;

  bool whole() const noexcept { return to - from == chunk.records.size; }
  /// The record given as number `dealt`, in the run.
  std::uint64_t record(std::uint64_t dealt) const noexcept { return chunk.begin + chunk.records.at(dealt); }
};

/// The order in which a run gives its records: chunk after chunk, each by a stride. docs/order.md, "Chunks and strides".
///
/// Ownership: borrows the draws.
/// Threads:   const calls may run concurrently.
/// Cost:      a draw for each chunk that is asked for.
class RunDeal {
 public:
  /// A chunk, and how many of its records come before a place in the run's order.
  struct Place {
    Chunk chunk;
    std::uint64_t dealt = 0;
  };

  /// `chunks` is the order of the chunks; `first_id` is the first record's, counted in the source.
  RunDeal(const Run& run, const Draws& draws, std::uint64_t first_id, Stride chunks) noexcept;
  /// In the order of the file.
  explicit RunDeal(const Run& run) noexcept;

  std::uint64_t chunks() const noexcept { return chunks_.size; }
  /// The record given as number `dealt`, below the run's count.
  std::uint64_t record(std::uint64_t dealt) const noexcept;
  /// The chunk that has it.
  Place place_of(std::uint64_t dealt) const noexcept;
  /// The chunk that is given after chunk `number` of the run; meaningless after the last one.
  Chunk after(std::uint64_t number) const noexcept;
  /// Calls `visit` with the records given as numbers [from, to), a `ChunkPart` after the other.
  template <typename Visit>
  void for_each_part(std::uint64_t from, std::uint64_t to, Visit visit) const {
    if (from >= to) return;
    for (Place place = place_of(from);; place = {after(place.chunk.number), 0}) {
      const std::uint64_t count = std::min(place.chunk.records.size - place.dealt, to - from);
      visit(ChunkPart{place.chunk, place.dealt, place.dealt + count});
      from += count;
      if (from == to) return;
    }
  }
  /// How many of the records [first, last) are given as numbers [from, to).
  /// Cost: an inversion for each chunk that they touch, and a step for each record of a chunk that is given in part.
  std::uint64_t count_within(std::uint64_t first, std::uint64_t last, std::uint64_t from,
                             std::uint64_t to) const noexcept;

 private:
  /// How many records come before the chunk that is given as number `place`.
  std::uint64_t dealt_before(std::uint64_t place) const noexcept;
  std::uint64_t chunk_of(std::uint64_t record) const noexcept;
  std::uint64_t begin_of(std::uint64_t number) const noexcept;
  std::uint64_t end_of(std::uint64_t number) const noexcept;
  Chunk chunk(std::uint64_t number) const noexcept;

  std::uint64_t count_;
  std::uint64_t chunk_records_;
  std::uint64_t first_chunk_;
  std::uint64_t first_id_ = 0;
  const Draws* draws_ = nullptr;  // null in the order of the file
  Stride chunks_;
};

/// How many chunks a run has.
std::uint64_t count_chunks(const Run& run) noexcept;

}  // namespace dovetail::detail
