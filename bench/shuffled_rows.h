// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bench/batch_gaps.h"
#include "bench/contestants.h"
#include "bench/job.h"
#include "bench/processes.h"
#include "bench/random.h"

namespace dovetail::bench {

/// What peers have after their reader: a shuffle buffer whose slots are taken at random and filled
/// again, and a ring of batches into which the rows are copied. Nothing is allocated once the
/// buffer has been filled.
///
/// Threads: none.
class ShuffledRows {
 public:
  ShuffledRows(const Job& job, const Start& start) : slots_(kPool), gaps_(start) {
    // Resized, so that the pages are there before the measurement begins, as they are in a reader
    // that is open.
    for (auto& batch : ring_) batch.resize(std::size_t{kBatch} * job.max_record_bytes);
    for (std::string& slot : slots_) slot.resize(job.max_record_bytes);
  }

  /// Delivers one epoch. `next(std::string&)` replaces the string with the next record, or returns
  /// false at the end.
  template <class Next>
  void epoch(const Next& next, Outcome& outcome) {
    std::size_t filled = 0;
    while (filled < slots_.size() && next(slots_[filled])) ++filled;
    while (filled > 0) {
      std::string& slot = slots_[random_.below(static_cast<std::uint32_t>(filled))];
      put(slot, outcome);
      if (filled == slots_.size() && next(slot)) continue;
      std::swap(slot, slots_[--filled]);
    }
    if (rows_ > 0) hand_over(outcome);
  }
  void finish(Outcome& outcome) const noexcept { gaps_.finish(outcome); }

 private:
  void put(const std::string& record, Outcome& outcome) {
    std::memcpy(ring_[present_].data() + offsets_[rows_], record.data(), record.size());
    offsets_[rows_ + 1] = offsets_[rows_] + static_cast<std::int64_t>(record.size());
    if (++rows_ == kBatch) hand_over(outcome);
  }

  void hand_over(Outcome& outcome) {
    Delivered& delivered = outcome.delivered;
    delivered.take(ring_[present_].data(), std::span(offsets_).first(rows_ + 1));
    delivered.rows += rows_;
    gaps_.taken(outcome);
    rows_ = 0;
    present_ = (present_ + 1) % ring_.size();
  }

  std::vector<std::string> slots_;
  std::array<std::vector<std::byte>, 4> ring_;
  std::array<std::int64_t, kBatch + 1> offsets_{};
  std::size_t present_ = 0;
  std::size_t rows_ = 0;
  Random random_{1};
  BatchGaps gaps_;
};

/// Takes one record from each source in turn; one that has ended drops out.
/// `Source::next(std::string&)` as above.
template <class Source>
class InTurn {
 public:
  explicit InTurn(std::vector<Source>& sources) {
    for (Source& source : sources) open_.push_back(&source);
  }

  bool next(std::string& record) {
    while (!open_.empty()) {
      if (at_ >= open_.size()) at_ = 0;
      if (open_[at_]->next(record)) {
        ++at_;
        return true;
      }
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at_));
    }
    return false;
  }

 private:
  std::vector<Source*> open_;
  std::size_t at_ = 0;
};

/// Reads the files as often as the job says and delivers their records, shuffled. `File(path)`
/// opens one; it has `rewind()` and `next(std::string&)`.
template <class File>
Outcome run_shuffled(const Job& job, const std::vector<std::string>& paths) {
  Outcome outcome;
  Start start;
  ShuffledRows rows(job, start);
  start.wait();
  std::vector<File> files(paths.begin(), paths.end());
  for (std::uint32_t epoch = 0; epoch < job.epochs; ++epoch) {
    for (File& file : files) file.rewind();
    InTurn in_turn(files);
    rows.epoch([&](std::string& record) { return in_turn.next(record); }, outcome);
  }
  rows.finish(outcome);
  outcome.seconds = start.seconds();
  outcome.cpu_seconds = start.cpu_seconds();
  return outcome;
}

}  // namespace dovetail::bench
