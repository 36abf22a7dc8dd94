// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/damage_log.h"

#include <iterator>
#include <utility>

#include <boost/system/errc.hpp>

#include "format/text/visible.h"
#include "reader/dataset/shard_verifier.h"

namespace dovetail::detail {

bool is_no_damage(const Error& error) {
  namespace errc = boost::system::errc;
  return error.code() == errc::too_many_files_open || error.code() == errc::too_many_files_open_in_system ||
         error.code() == errc::not_enough_memory || error.code() == errc::resource_unavailable_try_again ||
         error.code() == errc::operation_canceled;
}

void DamageLog::note(std::uint64_t first_id, Loss loss) {
  const std::lock_guard lock(mutex_);
  Losses& losses = loss.whole_shard ? shards_ : blocks_;
  if (losses.contains(first_id)) return;
  add_locked(loss);
  log_locked(loss.error.to_string() + "; records [" + std::to_string(loss.first_record) + ", " +
             std::to_string(loss.end_record) + ") are lost");
  losses.emplace(first_id, std::move(loss));
}

void DamageLog::note_unfit(std::uint64_t id, const Loss& loss) {
  const std::lock_guard lock(mutex_);
  if (unfit_.contains(id)) return;
  if (unfit_.size() == kNamedUnfit) {
    if (std::exchange(more_unfit_, true)) return;
    return log_locked("further rejected records are not logged; unfit_records in the statistics counts them");
  }
  unfit_.insert(id);
  add_locked(loss);
  log_locked(loss.error.to_string());
}

void DamageLog::add_locked(const Loss& loss) {
  LostRange range = as_damage(loss.error, dataset_.shard_path(loss.shard), loss.first_record, loss.end_record);
  range.reason = format::visible(range.reason);
  ranges_.push_back(std::move(range));
}

void DamageLog::log_locked(std::string line) {
  if (!log_) return;
  lines_.push_back(std::move(line));
  has_lines_ = true;
}

void DamageLog::report() {
  if (!has_lines_.load(std::memory_order_relaxed)) return;
  std::vector<std::string> lines;
  {
    const std::lock_guard lock(mutex_);
    lines.swap(lines_);
    has_lines_ = false;
  }
  for (const std::string& line : lines) log_(line);
}

std::vector<LostRange> DamageLog::ranges() const {
  const std::lock_guard lock(mutex_);
  return ranges_;
}

const Loss* DamageLog::find(const Losses& losses, std::uint64_t id) noexcept {
  const auto after = losses.upper_bound(id);
  if (after == losses.begin()) return nullptr;
  const auto& [first, loss] = *std::prev(after);
  return id - first < loss.end_record - loss.first_record ? &loss : nullptr;
}

bool DamageLog::is_damaged(std::uint64_t id) const noexcept {
  const std::lock_guard lock(mutex_);
  return find(blocks_, id) != nullptr;
}

Loss DamageLog::loss_of(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const Loss* const block = find(blocks_, id);
  return block != nullptr ? *block : *find(shards_, id);
}

}  // namespace dovetail::detail
