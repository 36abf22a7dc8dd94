// SPDX-License-Identifier: Apache-2.0
#include "reader/fill/column_rows.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <type_traits>

#include "format/try.h"
#include "reader/fill/slab_parts.h"

namespace dovetail::detail {

namespace {

std::span<std::byte> values_of(const SlotRows& rows) noexcept {
  return {rows.parts().values, rows.parts().capacity};
}

/// Calls the user's code. An exception becomes an error, except `std::bad_alloc`.
template <class Call>
std::invoke_result_t<Call> caught(const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    return Error(Errc::rejected_record, thrown.what());
  } catch (...) {
    return Error(Errc::rejected_record, "an exception that is not a std::exception");
  }
}

}  // namespace

Result<void> ColumnRows::begin_batch(const SlotRows& rows) {
  waiting_.clear();
  waiting_rows_.clear();
  copies_.clear();
  return decoder_->begin(rules_.batch_rows, values_of(rows));
}

Result<void> ColumnRows::add(SlotRows& rows, std::uint64_t id, RowStatus status, ByteView record) {
  const std::uint32_t row = rows.rows();
  rows.add_without_bytes(id, status);
  if (rules_.transform == nullptr) return decoder_->add(row, record);
  const TransformInput input{.record = record, .id = id, .seed = rules_.seed, .epoch = epoch_};
  if (!rules_.transform->fill_batch) {
    return transform(row, [&](RowWriter& writer) { return rules_.transform->fill(input, writer); });
  }
  waiting_.push_back(input);
  waiting_rows_.push_back(row);
  return {};
}

Result<void> ColumnRows::transform(std::uint32_t row, const std::function<Result<void>(RowWriter&)>& fill) {
  return decoder_->add(row, [&](RowWriter& writer) { return caught([&] { return fill(writer); }); });
}

bool ColumnRows::transform_batch(
    const std::function<bool(std::uint32_t row, ByteView record, const Result<void>& added)>& done) {
  if (waiting_.empty()) return true;
  const std::span<const TransformInput> records = waiting_;
  const Result<Transform::FillRow> filled = caught([&] { return rules_.transform->fill_batch(records); });
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::uint32_t row = waiting_rows_[i];
    Result<void> added;
    if (filled.has_value()) {
      added = transform(row, [&](RowWriter& writer) { return (*filled)(i, writer); });
    } else {
      decoder_->add_empty(row);
      added = Error(filled.error().code(),
                    filled.error().detail() + ", for all " + std::to_string(records.size()) + " records of the batch");
    }
    if (!done(row, records[i].record, added)) return false;
  }
  return true;
}

void ColumnRows::add_empty(SlotRows& rows, std::uint64_t id, RowStatus status) {
  decoder_->add_empty(rows.rows());
  rows.add_without_bytes(id, status);
}

Result<void> ColumnRows::keep(const SlotRows& rows, const StepName& step) {
  decoder_->keep();
  while (copies_.size() < waiting_.size()) {
    ByteView& record = waiting_[copies_.size()].record;
    record = copies_.emplace_back(record.begin(), record.end());
  }
  return check_held(rows, step);
}

Result<void> ColumnRows::check_held(const SlotRows& rows, const StepName& step) const {
  if (rows.may_grow() || decoder_->held_bytes() <= rules_.columns->held_limit()) [[likely]]
    return {};
  return batch_too_large(step, decoder_->fixed_bytes(rules_.batch_rows) + decoder_->held_bytes(),
                         rows.parts().capacity);
}

void ColumnRows::substitute(const SlotRows& rows) {
  const std::span<RowStatus> status = rows.status();
  const std::vector<std::uint32_t> source = substitution_sources(status, rules_.rows_per_lane);
  const auto fill_all = [&](bool copies) {
    for (std::uint32_t row = 0; row < status.size(); ++row) {
      if (source[row] == row) continue;
      if (copies) {
        decoder_->copy_row(source[row], row);
      } else {
        decoder_->add_empty(row);
      }
      status[row] = copies ? substituted(status[row]) : damaged_empty(status[row]);
    }
    return rows.may_grow() || decoder_->bytes() <= rows.parts().capacity;
  };
  // Leave the rows empty rather than fail a step whose own records fit.
  if (!fill_all(true)) fill_all(false);
}

Result<void> ColumnRows::end_batch(SlotRows& rows, const StepName& step) {
  const bool substitutes = rules_.on_damage == OnDamage::substitute;
  if (substitutes && std::any_of(rows.status().begin(), rows.status().end(), is_damaged)) substitute(rows);
  if (const std::uint64_t bytes = decoder_->bytes(); bytes > rows.parts().capacity) {
    if (!rows.may_grow()) return batch_too_large(step, bytes, rows.parts().capacity);
    if (Result<void> room = rows.reserve(bytes, decoder_->fixed_bytes(rules_.batch_rows)); !room.has_value()) {
      return room;
    }
  }
  DOVETAIL_ASSIGN(const ColumnLayout* const layout, decoder_->finish(values_of(rows)));
  std::vector<BatchColumns>& columns = rows.lease()->columns();
  // Resizes only for the first batch: later, the trainer may hold views of earlier batches.
  columns.resize(rows.batches());
  columns[rows.batch()] = {.schema = rules_.columns->schema(), .layout = *layout};
  return {};
}

}  // namespace dovetail::detail
