// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/run_group.h"

namespace dovetail::detail {

/// A run of the group that is under way.
struct OpenRun {
  std::uint64_t run = 0;
  std::uint64_t given = 0;  ///< So many of its records have entered the pool, in the order in which it gives them.
};

/// Walks the inputs of a lane's pool: group after group, turn after turn, one record from every run that does not pause.
///
/// Ownership: borrows the layout.
/// Threads:   none.
/// Cost:      memory for the largest group, allocated at construction. Turns up to the next event, the end of a chunk or
///            of a section, are dealt by additions.
class InputCursor {
 public:
  /// At input 0; picks number runs from `first_run`.
  InputCursor(const PassLayout& lane, std::uint64_t first_run);

  /// Moves to `input`, at most the lane's records. Cost: opens the group that holds it.
  void seek(std::uint64_t input);
  /// Fills `out` with the next inputs. Needs as many left in the lane.
  void take(std::span<Pick> out);
  /// One input, below the lane's records. The cursor is of no use after it until the next `seek`.
  Pick at(std::uint64_t input);

  /// The runs of the open group that have records left, ascending.
  std::vector<OpenRun> open_runs() const;
  /// The first run of the first group that is not opened.
  std::uint64_t next_run() const noexcept;

 private:
  /// A run that gives a record in each turn of the section.
  struct Dealer {
    std::uint32_t index = 0;      // in the group
    std::uint64_t chunk_end = 0;  // the turn before which its chunk is used up
    std::uint64_t chunk = 0;      // its number
  };
  /// What the next record of each dealer follows from: beside each other, so that the compiler uses vectors, without a
  /// branch that cannot be foreseen.
  struct Hands {
    std::vector<std::uint64_t> run;    // of the picks
    std::vector<std::uint64_t> begin;  // of the chunk, in the run
    std::vector<std::uint32_t> at;     // the next record, in the chunk
    std::vector<std::uint32_t> step;
    std::vector<std::uint32_t> size;  // of the chunk

    void reserve(std::size_t runs);
    void clear() noexcept;
    void insert(std::size_t slot, std::uint64_t number);
    void erase(std::size_t slot);
    /// The next record of `count` dealers from `slot` on.
    void give(std::size_t slot, std::size_t count, Pick* out) noexcept;
  };

  void open(std::uint64_t group);
  /// Makes the dealers of a section in which `turn` lies.
  void enter_section(std::size_t section, std::uint64_t turn);
  /// Goes on with the section that begins with the present turn.
  void change_section(std::size_t section);
  void add_dealer(std::size_t slot, std::uint32_t index, std::uint64_t turn);
  void begin_chunk(std::size_t slot, const Chunk& chunk, std::uint64_t dealt) noexcept;
  /// Everything that is due before the present turn.
  void begin_turn();

  const PassLayout& lane_;
  std::uint64_t first_run_;
  RunGroup group_;
  std::uint64_t next_group_ = 0;  // to be opened when the open one ends
  bool open_ = false;
  std::size_t section_ = 0;
  std::uint64_t turn_ = 0;
  std::uint64_t event_ = 0;  // the turn before which something is due
  std::size_t slot_ = 0;     // in `dealers_`
  std::vector<Dealer> dealers_;
  Hands hands_;
};

}  // namespace dovetail::detail
