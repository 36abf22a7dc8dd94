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
/// Cost:      memory for the largest group, allocated at construction. The turns of a section are dealt by additions.
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
  /// The runs that give a record in each turn of the section, ascending, and what their next records follow from: beside
  /// each other, so that the compiler uses vectors, without a branch that cannot be foreseen.
  struct Dealers {
    std::size_t count = 0;
    std::vector<std::uint32_t> index;  // in the group
    std::vector<std::uint64_t> run;    // of the picks
    std::vector<std::uint32_t> at;     // the next record, in the run
    std::vector<std::uint32_t> step;
    std::vector<std::uint32_t> size;

    explicit Dealers(std::size_t most) : index(most), run(most), at(most), step(most), size(most) {}
    void append(std::uint32_t of_group, std::uint64_t number, const Stride& records, std::uint64_t given) noexcept;
    /// All runs of a group, of one record each.
    void append_single(std::uint64_t number, std::uint32_t runs) noexcept;
    /// Moves the last one to a slot, and those from there on one further.
    void move_last(std::size_t slot) noexcept;
    void erase(std::size_t slot) noexcept;
    /// The next record of some dealers from `slot` on.
    void give(std::size_t slot, std::size_t some, Pick* out) noexcept;
    /// The next records of the only dealer.
    void give_turns(std::size_t turns, Pick* out) noexcept;
  };

  void open(std::uint64_t group);
  /// Makes the dealers of a section in which `turn` lies.
  void enter_section(std::size_t section, std::uint64_t turn);
  void append_dealer(std::uint32_t index, std::uint64_t turn);
  /// The present turn is past the section: goes on with the next one, or closes the group.
  void end_section();

  const PassLayout& lane_;
  std::uint64_t first_run_;
  RunGroup group_;
  std::uint64_t next_group_ = 0;  // to be opened when the open one ends
  bool open_ = false;
  std::size_t section_ = 0;
  std::uint64_t turn_ = 0;
  std::size_t slot_ = 0;  // in `dealers_`
  Dealers dealers_;
};

}  // namespace dovetail::detail
