// SPDX-License-Identifier: Apache-2.0
#include "reader/fill/slot_fill.h"

#include <algorithm>
#include <atomic>
#include <string>

#include <boost/system/errc.hpp>

namespace dovetail::detail {

SlotFill::SlotFill(const FillRules& rules, const FillParts& parts)
    : rules_(rules), parts_(parts), rows_(rules, parts.ring) {}

void SlotFill::begin(std::shared_ptr<SlotLease> lease, std::uint32_t epoch, std::uint64_t step, std::uint32_t batches) {
  epoch_ = epoch;
  first_step_ = step;
  reads_.clear();
  waits_for_shard_ = false;
  has_damage_ = false;
  ready_ = 0;
  error_.reset();
  rows_.begin(std::move(lease), batches);
  if (rules_.columns == nullptr) return;
  columns_.emplace(rules_, epoch_);
  if (const Result<void> begun = columns_->begin_batch(rows_); !begun.has_value()) fail(begun.error());
}

StepName SlotFill::step() const noexcept {
  return {.rank = rules_.rank, .epoch = epoch_, .step = first_step_ + rows_.batch()};
}

template <class E>
std::size_t SlotFill::fill(std::span<const E> records, RowStatus status) {
  std::size_t done = 0;
  while (done < records.size() && begin_row()) {
    const std::size_t left = rules_.batch_rows - rows_.rows();
    if (!columns_) done += rows_.copy(records.subspan(done, std::min(records.size() - done, left)), status);
    if (rows_.rows() < rules_.batch_rows && done < records.size()) {
      if constexpr (std::is_same_v<E, SizedEntry>) {
        if (!fill_row(records[done], status)) return done;
      } else {
        const Entry& record = records[done];
        if (!fill_row({record.where, record.id, rules_.record_bytes, SizedEntry::kInMemory}, status)) return done;
      }
      ++done;
    }
    if (!end_row()) return done;
  }
  return done;
}

template std::size_t SlotFill::fill(std::span<const Entry> records, RowStatus status);
template std::size_t SlotFill::fill(std::span<const SizedEntry> records, RowStatus status);

bool SlotFill::fill_row(const SizedEntry& record, RowStatus status) {
  if (!record.in_memory()) return read_record(record, status);
  if ((record.where & Entry::kDamage) != 0 && (is_lost(record.where) || parts_.damage.is_damaged(record.id))) {
    return lose(record.id, status, parts_.damage.loss_of(record.id));
  }
  return add(record.id, status, {address_of(record.where), record.bytes});
}

bool SlotFill::add(std::uint64_t id, RowStatus status, ByteView record) {
  if (!columns_) return fail_unless(rows_.add(id, status, record), record.size());
  // The rest of a batch may take a transform minutes, and nobody would get it.
  if (rules_.transform != nullptr && rules_.stopping->load(std::memory_order_relaxed)) {
    return fail(Error(make_error_code(boost::system::errc::operation_canceled), "the reader stops"));
  }
  const std::uint32_t row = rows_.rows();
  return note_added(row, record, columns_->add(rows_, id, status, record));
}

bool SlotFill::note_added(std::uint32_t row, ByteView record, const Result<void>& added) {
  if (added.has_value()) [[likely]] {
    const Result<void> held = columns_->check_held(rows_, step());
    return held.has_value() || fail(held.error());
  }
  ++counts_.unfit_records;
  const std::uint64_t id = rows_.parts().ids[row];
  const Error why = unfit_at_step(id, record, added.error());
  const Dataset::Place place = parts_.dataset.locate(id);
  parts_.damage.note_unfit(id, {place.shard, place.record, place.record + 1, why});
  if (rules_.on_damage == OnDamage::fail) return fail(why);
  RowStatus& status = rows_.status()[row];
  status = damaged_empty(status);
  return true;
}

bool SlotFill::note_loss(std::uint64_t first_id, const Loss& loss) {
  if (is_no_damage(loss.error)) return fail(loss.error);
  parts_.damage.note(first_id, loss);
  if (rules_.on_damage == OnDamage::fail) return fail(needed_at_step(loss, step()));
  has_damage_ = true;
  return true;
}

bool SlotFill::lose(std::uint64_t id, RowStatus status, const Loss& loss) {
  if (!note_loss(id - parts_.dataset.locate(id).record + loss.first_record, loss)) return false;
  if (!columns_) return fail_unless(rows_.add(id, damaged_empty(status), {}), 0);
  columns_->add_empty(rows_, id, damaged_empty(status));
  return true;
}

std::size_t SlotFill::fill_empty(std::size_t rows) {
  std::size_t done = 0;
  while (done < rows && begin_row()) {
    if (columns_) {
      columns_->add_empty(rows_, kNoId, RowStatus::empty);
    } else if (!fail_unless(rows_.add(kNoId, RowStatus::empty, {}), 0)) {
      break;
    }
    ++done;
    if (!end_row()) break;
  }
  return done;
}

void SlotFill::let_go() {
  if (!columns_ || error_ || rows_.rows() == rules_.batch_rows) return;
  if (const Result<void> kept = columns_->keep(rows_, step()); !kept.has_value()) fail(kept.error());
}

bool SlotFill::begin_row() {
  if (error_.has_value()) return false;
  waits_for_shard_ = false;
  if (rows_.rows() < rules_.batch_rows) return true;
  if (ready_ <= rows_.batch()) return false;  // the batch waits for reads
  rows_.begin_batch(rows_.batch() + 1);
  if (!columns_) return true;
  const Result<void> begun = columns_->begin_batch(rows_);
  return begun.has_value() || fail(begun.error());
}

bool SlotFill::end_row() {
  if (rows_.rows() < rules_.batch_rows) return true;
  if (!reads_.empty()) return true;  // `resume` ends the batch
  const StepName at = step();
  Result<void> ended;
  if (columns_) {
    const auto note = [this](std::uint32_t row, ByteView record, const Result<void>& added) {
      return note_added(row, record, added);
    };
    if (!columns_->transform_batch(note)) return false;
    ended = columns_->end_batch(rows_, at);
  } else if (std::exchange(has_damage_, false)) {
    ended = rows_.mend(rules_.on_damage == OnDamage::substitute);
  }
  if (!ended.has_value()) return fail(ended.error());
  if (++ready_ == rows_.batches()) columns_.reset();
  return true;
}

bool SlotFill::fail(Error why) {
  if (!error_.has_value()) error_ = std::move(why);
  return false;
}

bool SlotFill::fail_unless(const Result<void>& done, std::uint64_t bytes) {
  if (done.has_value()) [[likely]]
    return true;
  if (!done.error().is(Errc::batch_too_large)) return fail(done.error());
  return fail(batch_too_large(step(), rows_.value_bytes() + bytes, rows_.parts().capacity));
}

Error SlotFill::unfit_at_step(std::uint64_t id, ByteView record, const Error& why) const {
  const Dataset::Place place = parts_.dataset.locate(id);
  // The block passed its checks, so the record is as it was written. Only other columns can help.
  const bool rejected = rules_.transform != nullptr;
  const char* const what = rejected                    ? ", was rejected by the transform"
                           : why.is(Errc::bad_message) ? ", is not a tf.train.Example, which columns need"
                                                       : ", does not fit the columns";
  const bool has_reason = why.is(Errc::rejected_record) || why.is(Errc::invalid_option) || !rejected;
  const std::string text = (has_reason ? why.detail() : why.to_string()) + key_clause(record) + "; record " +
                           std::to_string(place.record) + " of the shard (id " + std::to_string(id) +
                           "), needed by rank " + std::to_string(rules_.rank) + " at step " +
                           std::to_string(step().step) + " of epoch " + std::to_string(epoch_) + what;
  const Error error(rejected ? Errc::rejected_record : Errc::invalid_option, text);
  const std::shared_ptr<const ShardFile> file = parts_.shards.find(place.shard);
  if (file == nullptr) return error.in_file(parts_.dataset.shard_path(place.shard));
  return error.at(file->file().path(), file->blocks()[file->block_of(place.record)].offset);
}

}  // namespace dovetail::detail
