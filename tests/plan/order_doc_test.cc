// SPDX-License-Identifier: Apache-2.0
// The test vectors that docs/order.md prints are those of the library.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/plan.h>

#include "reader/plan/digest.h"
#include "reader/plan/draws.h"
#include "reader/plan/hash_words.h"
#include "reader/plan/mix_schedule.h"
#include "reader/plan/permutation.h"
#include "reader/plan/stride.h"

namespace dovetail::test {
namespace {

using Numbers = std::vector<std::uint64_t>;

std::string hex(std::uint64_t value, int digits) {
  std::ostringstream text;
  text.fill('0');
  text.width(digits);
  text << std::hex << value;
  return text.str();
}

detail::Permutation permutation(const Numbers& n) {
  return detail::Permutation::keyed(
      n.at(0), detail::Draws(n.at(1), static_cast<detail::Purpose>(n.at(2)), static_cast<std::uint32_t>(n.at(3)),
                             static_cast<std::uint32_t>(n.at(4))));
}

std::string philox_value(const Numbers& n) {
  const auto word = [&](std::size_t i) { return static_cast<std::uint32_t>(n.at(i)); };
  std::string text;
  for (const std::uint32_t out : detail::philox({word(0), word(1), word(2), word(3)}, {word(4), word(5)})) {
    text += (text.empty() ? "" : " ") + hex(out, 8);
  }
  return text;
}

std::string permutation_value(const Numbers& n) {
  const detail::Permutation order = permutation(n);
  std::string text;
  for (std::uint64_t position = 0; position < order.size(); ++position) {
    text += (text.empty() ? "" : " ") + std::to_string(order(position));
  }
  return text;
}

std::string table_value(const Numbers& n) {
  const detail::MixTable table(detail::MixTable::normalise(std::vector<std::uint32_t>(n.begin(), n.end())).value());
  std::string text;
  for (std::uint64_t row = 0; row < 24; ++row) text += (row == 0 ? "" : " ") + std::to_string(table.source_at(row));
  return text;
}

std::string value_of(const std::string& name, const Numbers& n) {
  if (name == "philox") return philox_value(n);
  if (name == "word") {
    return hex(detail::Draws(n.at(0), static_cast<detail::Purpose>(n.at(1)), static_cast<std::uint32_t>(n.at(2)),
                             static_cast<std::uint32_t>(n.at(3)))
                   .word(n.at(4)),
               16);
  }
  if (name == "permutation") return permutation_value(n);
  if (name == "position") return std::to_string(permutation(n)(n.at(5)));
  if (name == "digest") return record_digest(n.at(0)).to_hex();
  if (name == "digests") return detail::DigestSums(n.at(1)).over(n.at(0), n.at(1) - n.at(0)).to_hex();
  if (name == "hash") return detail::hash_words(n).to_hex();
  if (name == "seed")
    return std::to_string(detail::hash_words(Numbers{detail::kMixTag, n.at(0), n.at(1), n.at(2)}).low);
  if (name == "table") return table_value(n);
  if (name == "stride") return std::to_string(detail::stride_over(n.at(0), n.at(1)));
  return "an unknown kind of vector";
}

TEST(OrderDocTest, EveryVectorIsWhatTheLibraryGives) {
  std::ifstream page(DOVETAIL_ORDER_PAGE);
  ASSERT_TRUE(page) << DOVETAIL_ORDER_PAGE;
  std::string line;
  while (std::getline(page, line) && line != "```vectors") {
  }
  int vectors = 0;
  while (std::getline(page, line) && line != "```") {
    const std::size_t equals = line.find(" = ");
    ASSERT_NE(equals, line.npos) << line;
    std::istringstream call(line.substr(0, equals));
    std::string name;
    call >> name;
    Numbers numbers;
    for (std::string word; call >> word;) numbers.push_back(std::stoull(word, nullptr, name == "philox" ? 16 : 10));
    EXPECT_EQ(value_of(name, numbers), line.substr(equals + 3)) << line;
    ++vectors;
  }
  EXPECT_GT(vectors, 20);
}

}  // namespace
}  // namespace dovetail::test
