// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/columns.h>
#include <dovetail/error.h>
#include <dovetail/transform.h>

#include "reader/fill/column_decoders.h"
#include "reader/fill/fill_rules.h"
#include "reader/fill/slot_rows.h"
#include "reader/fill/step_errors.h"

namespace dovetail::detail {

/// Turns the records of a slot's batches into columns, row by row, by their features or with a
/// transform.
///
/// Threads: none. Cost: no allocation per record, except in the transform; some per batch.
class ColumnRows {
 public:
  ColumnRows(const FillRules& rules, std::uint32_t epoch)
      : rules_(rules), epoch_(epoch), decoder_(rules.columns->take()) {}
  ColumnRows(const ColumnRows&) = delete;
  ColumnRows& operator=(const ColumnRows&) = delete;
  ~ColumnRows() { rules_.columns->give_back(std::move(decoder_)); }

  Result<void> begin_batch(const SlotRows& rows);
  /// Adds a row. Errors: the record does not fit the columns or is rejected; its row is then as
  /// `add_empty` leaves it. With `Transform::fill_batch`, `transform_batch` writes the row later.
  Result<void> add(SlotRows& rows, std::uint64_t id, RowStatus status, ByteView record);
  void add_empty(SlotRows& rows, std::uint64_t id, RowStatus status);
  /// Copies what the decoder still needs of the records added so far, so that the caller may free
  /// them. Errors: `batch_too_large`.
  Result<void> keep(const SlotRows& rows, const StepName& step);
  /// Checks the memory limit of the decoder.
  Result<void> check_held(const SlotRows& rows, const StepName& step) const;
  /// Writes the rows that wait for the batch transform and calls `done` with the result of each
  /// row. Stops and returns false if `done` returns false. Needs: the batch has all its rows.
  bool transform_batch(const std::function<bool(std::uint32_t row, ByteView record, const Result<void>& added)>& done);
  /// Completes a batch that has all its rows. Errors: `batch_too_large`, those of `spill`.
  Result<void> end_batch(SlotRows& rows, const StepName& step);

 private:
  void substitute(const SlotRows& rows);
  Result<void> transform(std::uint32_t row, const std::function<Result<void>(RowWriter&)>& fill);

  const FillRules& rules_;
  const std::uint32_t epoch_;
  std::unique_ptr<ColumnDecoder> decoder_;
  // Records whose rows wait for `transform_batch`; the first `copies_.size()` of them lie in
  // `copies_`.
  std::vector<TransformInput> waiting_;
  std::vector<std::uint32_t> waiting_rows_;
  std::deque<std::vector<std::byte>> copies_;
};

}  // namespace dovetail::detail
