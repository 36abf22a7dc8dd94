// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "reader/delivery/read_window.h"
#include "reader/delivery/run_window.h"
#include "reader/delivery/step.h"
#include "reader/fetch/buffer_pool.h"
#include "reader/memory/slot_ring.h"

namespace dovetail::detail {

/// What is no longer needed, collected under a lock and destroyed without it: files close, slots come free.
struct Discarded {
  std::vector<std::shared_ptr<SlotLease>> leases;
  std::vector<std::unique_ptr<Load>> loads;
  std::vector<std::unique_ptr<RunEntry>> runs;
};

/// The planned steps between plan and trainer, and which piece of work on them comes next.
///
/// All dependencies are numbers in the order of the plan: a unit may be gathered once all loads before a number are
/// ready, loads begin in order, and memory is free once all units before a place are gathered. A step that is laid out
/// needs no gathering, unless it has late or lost rows: it is done with its last load. The plan has made sure
/// that the loads of the first unit fit the budget then, so it always gets on: there is no deadlock.
///
/// Threads: none; guarded by the reader's lock. Cost of a call: constant, but for what it moves on, and where a block is
/// damaged.
class Pipeline {
 public:
  Pipeline(std::uint64_t budget, const ReadWindow& window) : buffers_(budget), window_(window) {}

  /// Takes steps in the order of the plan, and leaves `steps` empty; where memory runs out it leaves what it has not taken.
  void append(std::vector<std::unique_ptr<Step>>& steps, Discarded& discarded);
  /// Loads before this number may begin.
  void seal(std::uint64_t before) noexcept { sealed_ = before; }

  /// The next load to begin, with its buffers; null where there is none, or the window or the budget has no room.
  /// `ahead` says whether more may be begun than the next unit needs.
  Load* claim_load(bool ahead);
  /// The next step to gather a unit of, with its slot; null where its bytes are not there, or no slot is free.
  Step* claim_gather(SlotRing& ring);

  void loaded(Load& load, Discarded& discarded);
  /// Its unit is gathered, or has failed.
  void gathered(Step& step, Discarded& discarded);
  /// The step at the head of the line, if it is there; it may have batches to hand over.
  Step* first() { return steps_.empty() ? nullptr : steps_.front().get(); }
  /// Takes it. Needs: it is done, or at its end.
  std::unique_ptr<Step> take_first();

  bool empty() const noexcept { return steps_.empty(); }
  const Step& front() const { return *steps_.front(); }
  std::size_t steps() const noexcept { return steps_.size(); }
  /// What lies between the plan and gathering.
  std::uint64_t rows_ahead() const noexcept { return planned_rows_ - gathered_rows_; }
  std::uint64_t bytes_ahead() const noexcept { return planned_bytes_ - gathered_bytes_; }
  /// Whether a load could begin now: `claim_load`, without taking it.
  bool can_load(bool ahead) const;
  bool can_gather(const SlotRing& ring) const;
  /// Whether the first unit waits for a load that is not sealed.
  bool waits_for_seal() const;
  /// Notes the rows that are laid out but get no bytes from the load, because a block is damaged. Needs: it is not ready.
  void note_lost(const Load& load, const std::byte* first_slot);
  /// Of loads that have begun, what no unit has used so far.
  std::uint64_t loads_ahead() const noexcept { return begun_bytes_ - used_bytes_; }
  /// Whether the first unit waits for bytes that are being read.
  bool waits_for_storage() const;
  /// Whether the first unit has all but a slot.
  bool waits_for_slot() const;
  const BufferPool& buffers() const noexcept { return buffers_; }

 private:
  struct LostRecord {
    const std::byte* destination = nullptr;
    const Extent* extent = nullptr;
    std::uint32_t block = 0;
    Error damage;
  };

  const Unit* first_unit() const;
  /// Ends the steps at the head of the line that need nothing more, and what they alone needed.
  void settle(Discarded& discarded);
  /// Whether a step is done; ends one that is laid out and needs nothing more.
  bool is_complete(Step& step);
  /// Gives lost records to the steps that they belong to, as far as these are there.
  void hand_out_lost();
  void count_gathered(const Unit& unit);
  void retire(Discarded& discarded);
  void drop(std::vector<std::unique_ptr<Load>>& loads, Discarded& discarded);

  BufferPool buffers_;
  const ReadWindow& window_;
  std::deque<std::unique_ptr<Step>> steps_;
  std::deque<Load*> loads_;         // from number `ready_before_` on
  std::uint64_t ready_before_ = 0;  // all loads with lower numbers are ready
  std::uint64_t next_load_ = 0;     // the first that has not begun
  std::uint64_t sealed_ = 0;        // all loads with lower numbers may begin
  std::size_t first_open_ = 0;      // steps before it are done or being gathered
  std::vector<LostRecord> lost_;    // that have no step yet
  std::uint64_t begun_bytes_ = 0;   // of loads, whose units
  std::uint64_t used_bytes_ = 0;    // are gathered
  std::uint64_t planned_rows_ = 0;
  std::uint64_t gathered_rows_ = 0;
  std::uint64_t planned_bytes_ = 0;
  std::uint64_t gathered_bytes_ = 0;
};

}  // namespace dovetail::detail
