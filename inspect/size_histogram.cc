// SPDX-License-Identifier: Apache-2.0
#include "inspect/size_histogram.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace dovetail::inspect {

namespace {

/// The smallest size whose bit width is `width`.
std::uint64_t smallest(std::size_t width) {
  return width == 0 ? 0 : std::uint64_t{1} << (width - 1);
}

}  // namespace

void SizeHistogram::add(std::uint64_t bytes, std::uint64_t records) {
  counts_[static_cast<std::size_t>(std::bit_width(bytes))] += records;
  records_ += records;
}

std::vector<SizeHistogram::Bucket> SizeHistogram::buckets() const {
  std::size_t end = counts_.size();
  while (end > 0 && counts_[end - 1] == 0) --end;
  std::size_t first = 0;
  while (first < end && counts_[first] == 0) ++first;
  std::vector<Bucket> found;
  for (std::size_t width = first; width < end; ++width) {
    const bool widest = width + 1 == counts_.size();
    const std::uint64_t last =
        width == 0 ? 0 : (widest ? std::numeric_limits<std::uint64_t>::max() : smallest(width + 1) - 1);
    found.push_back({smallest(width), last, counts_[width]});
  }
  return found;
}

std::uint64_t SizeHistogram::most() const noexcept {
  return *std::max_element(counts_.begin(), counts_.end());
}

}  // namespace dovetail::inspect
