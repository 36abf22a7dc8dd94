// SPDX-License-Identifier: Apache-2.0
#include "bench/random.h"

#include <cmath>
#include <numeric>

namespace dovetail::bench {

AliasTable::AliasTable(const std::vector<double>& weights) : columns_(weights.size()) {
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  std::vector<double> share(weights);
  std::vector<std::uint32_t> small;
  std::vector<std::uint32_t> large;
  for (std::uint32_t i = 0; i < weights.size(); ++i) {
    share[i] /= mean;
    columns_[i].other = i;
    (share[i] < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t poor = small.back();
    const std::uint32_t rich = large.back();
    small.pop_back();
    columns_[poor] = {static_cast<std::uint32_t>(share[poor] * 0x1.0p32), rich};
    share[rich] -= 1 - share[poor];
    if (share[rich] < 1) {
      large.pop_back();
      small.push_back(rich);
    }
  }
}

AliasTable AliasTable::zipf(std::uint32_t n, double exponent) {
  std::vector<double> weights(n);
  for (std::uint32_t i = 0; i < n; ++i) weights[i] = std::pow(i + 1.0, -exponent);
  return AliasTable(weights);
}

}  // namespace dovetail::bench
