// SPDX-License-Identifier: Apache-2.0
#include "format/text/words.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "format/words/convert_words.h"
#include "format/words/plan_words.h"
#include "format/words/reader_words.h"

namespace dovetail::format {
namespace {

/// A value has one word, and a word one value.
template <class Value, std::size_t kCount>
void expect_one_to_one(const Words<Value, kCount>& words) {
  std::set<std::string> seen;
  for (const auto& [word, value] : words) {
    EXPECT_TRUE(seen.insert(std::string(word)).second) << word;
    EXPECT_EQ(word_of(words, value), word);
    EXPECT_EQ(value_of(words, word), value) << word;
  }
  EXPECT_EQ(value_of(words, "Shuffle"), std::nullopt) << "words have no capitals";
  EXPECT_EQ(value_of(words, ""), std::nullopt);
  EXPECT_EQ(word_of(words, static_cast<Value>(250)), "unknown");
}

TEST(WordsTest, AreOneToOne) {
  expect_one_to_one(kSourceFormatWords);
  expect_one_to_one(kCompressionWords);
  expect_one_to_one(kRecordFormWords);
  expect_one_to_one(kColumnTypeWords);
  expect_one_to_one(kOnErrorWords);
  expect_one_to_one(kCodecWords);
  expect_one_to_one(kTfrecordCompressionWords);
  expect_one_to_one(kOrderWords);
  expect_one_to_one(kAssignWords);
  expect_one_to_one(kTailWords);
  expect_one_to_one(kMixStopWords);
  expect_one_to_one(kOnDamageWords);
  expect_one_to_one(kOnHungReadWords);
  expect_one_to_one(kOversizeWords);
  expect_one_to_one(kRegistrationWords);
  expect_one_to_one(kHugePagesWords);
  expect_one_to_one(kStorageWords);
}

}  // namespace
}  // namespace dovetail::format
