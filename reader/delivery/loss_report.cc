// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/loss_report.h"

#include <exception>
#include <string>
#include <utility>

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
  for (const LostRange& range : noted) {
    warn([&range] {
      return range.reason + "; records [" + std::to_string(range.first_record) + ", " +
             std::to_string(range.end_record) + ") are lost";
    });
  }
}

void LossReport::note_unfit(const std::vector<Loss>& unfit) {
  std::vector<LostRange> noted;
  bool first_unnamed = false;
  {
    const std::lock_guard lock(mutex_);
    for (const Loss& record : unfit) {
      const std::pair name(record.shard, record.first_record);
      if (unfit_.contains(name)) continue;
      if (unfit_.size() == kNamedUnfit) {
        first_unnamed = !std::exchange(more_unfit_, true);
        break;
      }
      unfit_.insert(name);
      noted.push_back({.file = record.error.path(),
                       .offset = record.error.offset().value_or(0),
                       .first_record = record.first_record,
                       .end_record = record.end_record,
                       .reason = record.error.to_string()});
    }
    ranges_.insert(ranges_.end(), noted.begin(), noted.end());
  }
  for (const LostRange& range : noted) {
    warn([&range] { return range.reason; });
  }
  if (first_unnamed) {
    warn([] {
      return std::string("further rejected records are not logged; unfit_records in the statistics counts them");
    });
  }
}

std::vector<LostRange> LossReport::ranges() const {
  const std::lock_guard lock(mutex_);
  return ranges_;
}

template <class Text>
void LossReport::warn(const Text& text) const {
  if (!options_.log || options_.on_damage == OnDamage::fail) return;
  try {
    options_.log(text());
  } catch (const std::exception&) {  // out of memory: do not stop for a warning
  }
}

}  // namespace dovetail::detail
