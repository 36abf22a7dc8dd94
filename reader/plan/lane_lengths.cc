// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/lane_lengths.h"

#include <algorithm>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {

LaneLengths LaneLengths::even(std::uint64_t total, std::uint32_t lanes) noexcept {
  LaneLengths made;
  made.cut_total_ = total;
  made.lanes_ = lanes;
  made.fewest_ = total / lanes;
  made.most_ = divide_up(total, lanes);
  return made;
}

LaneLengths LaneLengths::listed(const std::vector<std::uint64_t>& lengths, std::uint32_t lanes) {
  LaneLengths made;
  made.lanes_ = lanes;
  made.begins_.reserve(lengths.size() + 1);
  made.begins_.push_back(0);
  for (const std::uint64_t length : lengths) made.begins_.push_back(made.begins_.back() + length);
  made.fewest_ = lengths.size() < lanes ? 0 : *std::min_element(lengths.begin(), lengths.end());
  made.most_ = *std::max_element(lengths.begin(), lengths.end());
  return made;
}

std::uint64_t LaneLengths::begin(std::uint64_t lane) const noexcept {
  if (!begins_.empty()) return begins_[std::min(static_cast<std::size_t>(lane), begins_.size() - 1)];
  return multiply_divide(lane, cut_total_, lanes_) - lane * taken_;
}

std::uint32_t LaneLengths::lane_of(std::uint64_t position) const noexcept {
  std::uint64_t lane = 0;
  std::uint64_t end = lanes_;
  while (end - lane > 1) {
    const std::uint64_t middle = lane + (end - lane) / 2;
    (begin(middle) <= position ? lane : end) = middle;
  }
  return static_cast<std::uint32_t>(lane);
}

LaneLengths LaneLengths::after(std::uint64_t taken) const {
  if (taken >= most_) return even(0, lanes_);
  if (begins_.empty()) {  // the lengths differ by at most one, so `taken` is at most the shortest
    LaneLengths rest = even(cut_total_, lanes_);
    rest.taken_ = taken_ + taken;
    rest.fewest_ -= rest.taken_;
    rest.most_ -= rest.taken_;
    return rest;
  }
  std::vector<std::uint64_t> lengths;
  lengths.reserve(begins_.size() - 1);
  for (std::uint64_t lane = 0; lane + 1 < begins_.size(); ++lane) {
    const std::uint64_t now = length(lane);
    lengths.push_back(now - std::min(now, taken));
  }
  return listed(lengths, lanes_);
}

}  // namespace dovetail::detail
