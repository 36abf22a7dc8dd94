// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/loss_report.h"

#include <exception>
#include <string>

#include "reader/fill/fill_rules.h"

namespace dovetail::detail {

void LossReport::note_damage() {
  if (!damage_.has_new()) return;
  std::vector<LostRange> noted;
  {
    // One lock for both steps: entries that another thread took are then already in `ranges_`.
    const std::lock_guard lock(mutex_);
    noted = damage_.take_new();
    ranges_.insert(ranges_.end(), noted.begin(), noted.end());
  }
  warn(noted);
}

void LossReport::note_unfit(const std::vector<Loss>& unfit) {
  std::vector<LostRange> noted;
  {
    const std::lock_guard lock(mutex_);
    for (const Loss& record : unfit) {
      if (unfit_.size() == kNamedUnfit) break;
      if (!unfit_.emplace(record.shard, record.first_record).second) continue;
      noted.push_back({.file = record.error.path(),
                       .offset = record.error.offset().value_or(0),
                       .first_record = record.first_record,
                       .end_record = record.end_record,
                       .reason = record.error.to_string()});
    }
    ranges_.insert(ranges_.end(), noted.begin(), noted.end());
  }
  warn(noted);
}

std::vector<LostRange> LossReport::ranges() const {
  const std::lock_guard lock(mutex_);
  return ranges_;
}

void LossReport::warn(const std::vector<LostRange>& noted) {
  if (!options_.log || options_.on_damage == OnDamage::fail) return;
  for (const LostRange& range : noted) {
    try {
      options_.log("records [" + std::to_string(range.first_record) + ", " + std::to_string(range.end_record) +
                   ") of " + range.file + " are lost: " + range.reason);
    } catch (const std::exception&) {  // out of memory: do not stop for a warning
    }
  }
}

}  // namespace dovetail::detail
