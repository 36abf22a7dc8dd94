// SPDX-License-Identifier: Apache-2.0
#include "score.h"

#include <array>
#include <cmath>

namespace evaluation {

float log_likelihood(dovetail::ByteView record) {
  std::array<float, 256> seen;
  seen.fill(1);
  float all = 256;
  float sum = 0;
  for (const std::byte byte : record) {
    float& same = seen[std::to_integer<std::size_t>(byte)];
    sum += std::log(same / all);
    same += 1;
    all += 1;
  }
  return sum;
}

float mean(const std::vector<float>& scores) {
  float sum = 0;
  for (const float score : scores) sum += score;
  return sum / static_cast<float>(scores.size());
}

}  // namespace evaluation
