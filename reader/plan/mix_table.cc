// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/mix_table.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {

Result<std::vector<std::uint32_t>> MixTable::normalise(std::span<const std::uint32_t> weights) {
  const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  if (sum == 0) return Error(Errc::invalid_option, "the weights sum to 0: at least one must be above 0");
  std::vector<std::uint32_t> scaled;
  std::vector<std::uint64_t> remainders;
  std::uint64_t left = kPeriod;
  for (const std::uint32_t weight : weights) {
    scaled.push_back(static_cast<std::uint32_t>(std::uint64_t{weight} * kPeriod / sum));
    remainders.push_back(std::uint64_t{weight} * kPeriod % sum);
    left -= scaled.back();
  }
  std::vector<std::size_t> by_remainder(weights.size());
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::stable_sort(by_remainder.begin(), by_remainder.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; i < left; ++i) ++scaled[by_remainder[i]];
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0 || scaled[i] != 0) continue;
    return Error(Errc::invalid_option, "weight " + std::to_string(weights[i]) + " of source " + std::to_string(i) +
                                           " has no effect: it must be 0 or at least 1/65536 of the sum, " +
                                           std::to_string(sum));
  }
  return scaled;
}

MixTable::MixTable(std::vector<std::uint32_t> weights) : weights_(std::move(weights)), source_at_(kPeriod) {
  struct Job {  // the next job of a source
    std::uint32_t source = 0;
    std::uint64_t done = 0;
    std::uint64_t release = 0;
    std::uint64_t deadline = 0;
  };
  std::vector<Job> jobs;
  rows_begin_.push_back(0);
  for (std::uint32_t source = 0; source < weights_.size(); ++source) {
    rows_begin_.push_back(rows_begin_.back() + weights_[source]);
    if (weights_[source] != 0) jobs.push_back({source, 0, 0, divide_up(kPeriod, weights_[source])});
  }
  for (std::uint32_t row = 0; row < kPeriod; ++row) {
    Job* next = nullptr;
    for (Job& job : jobs) {
      if (job.release <= row && (next == nullptr || job.deadline < next->deadline)) next = &job;
    }
    // Some job is always released, because the shares add up to the number of rows.
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
    source_at_[row] = static_cast<std::uint16_t>(next->source);
    const std::uint64_t weight = weights_[next->source];
    ++next->done;
    next->release = next->done * kPeriod / weight;
    next->deadline = divide_up((next->done + 1) * kPeriod, weight);
  }
  std::vector<std::uint32_t> fill(rows_begin_.begin(), rows_begin_.end() - 1);
  rows_of_.resize(kPeriod);
  for (std::uint32_t row = 0; row < kPeriod; ++row) {
    rows_of_[fill[source_at_[row]]++] = static_cast<std::uint16_t>(row);
  }
}

std::uint64_t MixTable::count(std::uint32_t source, std::uint64_t rows) const noexcept {
  const auto begin = rows_of_.begin() + rows_begin_[source];
  const auto end = rows_of_.begin() + rows_begin_[source + 1];
  const auto below = std::lower_bound(begin, end, rows % kPeriod);
  return rows / kPeriod * weights_[source] + static_cast<std::uint64_t>(below - begin);
}

}  // namespace dovetail::detail
