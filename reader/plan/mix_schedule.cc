// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/mix_schedule.h"

#include <algorithm>
#include <string>
#include <utility>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 55;
constexpr std::size_t kMaxEntries = 256;  // each entry has a table of 256 KiB

Error bad_entry(std::size_t entry, const std::string& why) {
  return Error(Errc::invalid_option, "entry " + std::to_string(entry) + " of the mix: " + why);
}

}  // namespace

Result<std::shared_ptr<const MixEntries>> make_entries(const Mix& mix, std::size_t sources) {
  if (sources > MixTable::kMaxSources) {
    return Error(Errc::invalid_option, std::to_string(sources) + " sources are too many to mix: at most " +
                                           std::to_string(MixTable::kMaxSources) + " are allowed");
  }
  if (mix.stop > MixStop::steps) return Error(Errc::invalid_option, "mix.stop must be first, all or steps");
  if ((mix.stop == MixStop::steps) != (mix.steps != 0)) {
    return Error(Errc::invalid_option, mix.steps == 0 ? "a mix that stops after a number of steps needs at least 1"
                                                      : "mix.steps needs mix.stop = steps");
  }
  if (mix.steps >= kMaxRows)
    return Error(Errc::invalid_option, "the mix stops after too many steps: fewer than 2^55 are allowed");
  if (mix.schedule.size() > kMaxEntries) {
    return Error(Errc::invalid_option, "the mix has " + std::to_string(mix.schedule.size()) + " entries: at most " +
                                           std::to_string(kMaxEntries) + " are allowed");
  }
  auto entries = std::make_shared<MixEntries>();
  for (const MixWeights& given : mix.schedule) {
    const std::size_t number = entries->size();
    const bool ascends = number == 0 ? given.from_step == 0 : given.from_step > entries->back().from_step;
    if (given.from_step >= kMaxRows) return bad_entry(number, "from_step is out of range: fewer than 2^55");
    if (!ascends) {
      return bad_entry(number, "from_step = " + std::to_string(given.from_step) +
                                   " is out of order: steps ascend, and the first is 0");
    }
    if (given.weights.size() != sources) {
      return bad_entry(number, std::to_string(given.weights.size()) + " weights for " + std::to_string(sources) +
                                   " sources: give one each");
    }
    Result<std::vector<std::uint32_t>> weights = MixTable::normalise(given.weights);
    if (!weights) return bad_entry(number, weights.error().detail());
    entries->push_back({given.from_step, MixTable(std::move(*weights))});
  }
  return std::shared_ptr<const MixEntries>(std::move(entries));
}

MixSchedule::MixSchedule(std::shared_ptr<const MixEntries> entries, std::uint64_t rows_per_lane)
    : entries_(std::move(entries)), rows_per_lane_(rows_per_lane) {
  for (const MixEntry& entry : *entries_) {
    // No lane has more than kMaxRows rows, so a later change of weights has no effect.
    const std::uint64_t row = product_overflows(entry.from_step, rows_per_lane)
                                  ? kMaxRows
                                  : std::min(kMaxRows, entry.from_step * rows_per_lane);
    std::vector<std::uint64_t> counts(entry.table.weights().size());
    if (!first_row_.empty()) {
      for (std::uint32_t source = 0; source < counts.size(); ++source) counts[source] = count(source, row);
    }
    first_row_.push_back(row);
    counts_before_.push_back(std::move(counts));
  }
}

std::size_t MixSchedule::entry_of(std::uint64_t row) const noexcept {
  const auto after = std::upper_bound(first_row_.begin(), first_row_.end(), row);
  return static_cast<std::size_t>(after - first_row_.begin()) - 1;
}

std::uint64_t MixSchedule::count(std::uint32_t source, std::uint64_t rows) const noexcept {
  const std::size_t entry = entry_of(rows);
  return counts_before_[entry][source] + (*entries_)[entry].table.count(source, rows - first_row_[entry]);
}

void MixSchedule::sources(std::uint64_t row, std::span<std::uint32_t> out) const noexcept {
  while (!out.empty()) {
    const std::size_t entry = entry_of(row);
    const std::uint64_t end = entry + 1 == first_row_.size() ? ~std::uint64_t{0} : first_row_[entry + 1];
    const MixTable& table = (*entries_)[entry].table;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), end - row));
    for (std::size_t i = 0; i < count; ++i) out[i] = table.source_at(row - first_row_[entry] + i);
    row += count;
    out = out.subspan(count);
  }
}

bool MixSchedule::used(std::uint32_t source) const noexcept {
  return std::any_of(entries_->begin(), entries_->end(),
                     [&](const MixEntry& entry) { return entry.table.weight(source) != 0; });
}

bool MixSchedule::none_passed(std::uint64_t rows, std::span<const std::uint64_t> lengths) const noexcept {
  for (std::uint32_t source = 0; source < lengths.size(); ++source) {
    if (count(source, rows) > lengths[source]) return false;
  }
  return true;
}

bool MixSchedule::all_passed(std::uint64_t rows, std::span<const std::uint64_t> lengths) const noexcept {
  for (std::uint32_t source = 0; source < lengths.size(); ++source) {
    if (used(source) && count(source, rows) < lengths[source]) return false;
  }
  return true;
}

Result<std::uint64_t> MixSchedule::rows(const Mix& mix, std::span<const std::uint64_t> lengths) const {
  if (mix.stop == MixStop::steps) {
    if (product_overflows(mix.steps, rows_per_lane_) || mix.steps * rows_per_lane_ >= kMaxRows) {
      return Error(Errc::invalid_option, "a mix of " + std::to_string(mix.steps) + " steps of " +
                                             std::to_string(rows_per_lane_) + " rows per lane is out of range");
    }
    return mix.steps * rows_per_lane_;
  }
  // `first` holds up to some row and `all` from some row on, so bisection finds that row.
  const bool first = mix.stop == MixStop::first;
  const auto reached = [&](std::uint64_t rows) {
    return first ? !none_passed(rows, lengths) : all_passed(rows, lengths);
  };
  std::uint64_t before = 0;  // not reached
  std::uint64_t after = 1;
  if (reached(0)) return std::uint64_t{0};
  while (!reached(after)) {
    if (after >= kMaxRows) {
      return Error(Errc::invalid_option,
                   first
                       ? "the epoch of the mix has 2^55 rows or more in a lane"
                       : "the stop \"all\" of the mix is never reached: with the last weights, a source does not end");
    }
    before = after;
    after *= 2;
  }
  while (after - before > 1) {
    const std::uint64_t middle = before + (after - before) / 2;
    (reached(middle) ? after : before) = middle;
  }
  return first ? before : after;
}

}  // namespace dovetail::detail
