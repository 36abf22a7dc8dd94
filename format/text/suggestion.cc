// SPDX-License-Identifier: Apache-2.0
#include "format/text/suggestion.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace dovetail::format {

namespace {

/// Returns the optimal string alignment distance: letters added, left out, replaced, or swapped
/// with the next.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> last;
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t k = 0; k < row.size(); ++k) row[k] = k;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, last[k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1)});
      const bool swapped = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
      if (swapped) row[k] = std::min(row[k], before[k - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string closest(std::string_view word, std::span<const std::string> known) {
  constexpr std::size_t kLongest = 64;  // longer than any subcommand, flag or word
  if (word.size() > kLongest) return {};
  const std::size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  std::size_t least = std::max<std::size_t>(1, letters / 3) + 1;
  std::string found;
  for (const std::string& candidate : known) {
    const std::size_t far = distance(word, candidate);
    if (far >= least) continue;
    least = far;
    found = candidate;
  }
  return found;
}

std::string suggestion(std::string_view word, std::span<const std::string> known) {
  const std::string found = closest(word, known);
  return found.empty() ? found : "; did you mean '" + found + "'?";
}

}  // namespace dovetail::format
