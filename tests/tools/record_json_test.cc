// SPDX-License-Identifier: Apache-2.0
#include "tools/records/record_json.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "format/example/example_encoder.h"

namespace dovetail::tools {
namespace {

using namespace std::string_literals;

std::string json_content(const std::string& record) {
  return content_json(as_bytes(record));
}

std::string encoded(format::ExampleEncoder& encoder) {
  std::vector<std::byte> record;
  EXPECT_TRUE(encoder.encode(record));
  return std::string(as_chars(record));
}

std::string float_text(float value) {
  format::ExampleEncoder encoder;
  encoder.add_floats("f", std::array{value});
  const std::string json = json_content(encoded(encoder));
  const std::string before = R"({"feature":{"f":[)";
  return json.substr(before.size(), json.size() - before.size() - 3);
}

TEST(RecordJsonTest, ExamplesAreReadable) {
  format::ExampleEncoder encoder;
  encoder.add_ints("label", std::array<std::int64_t, 3>{7, -1, std::numeric_limits<std::int64_t>::min()});
  encoder.add_floats("weight", std::array{0.1f, 2.0f});
  encoder.add_bytes("image", as_bytes("\xFF\xD8"));
  const std::array texts{as_bytes("a\"\n\x01"), as_bytes("na\xC3\xAFve")};
  encoder.add_bytes("text", texts);
  EXPECT_EQ(json_content(encoded(encoder)), R"({"feature":{"image":[{"base64":"/9g="}],)"
                                            R"("label":[7, -1, -9223372036854775808],)"
                                            "\"text\":[\"a\\\"\\n\\u0001\", \"na\xC3\xAFve\"],\"weight\":[0.1, 2.0]}}");
}

TEST(RecordJsonTest, LongListsCanBeCut) {
  format::ExampleEncoder encoder;
  encoder.add_ints("n", std::array<std::int64_t, 3>{1, 2, 3});
  const std::string record = encoded(encoder);
  format::ExampleFeatures features;
  ASSERT_TRUE(features.parse(as_bytes(record)));
  for (const auto& [most, expected] : {std::pair{2, "[1, 2, ...]"}, {3, "[1, 2, 3]"}, {0, "[...]"}}) {
    std::string json;
    append_values(json, features.all().front(), static_cast<std::uint64_t>(most));
    EXPECT_EQ(json, expected);
  }
}

TEST(RecordJsonTest, AFeatureWithoutAListIsNull) {
  // An entry with a name, and a feature of no bytes.
  EXPECT_EQ(json_content("\x0A\x07\x0A\x05\x0A\x01x\x12\0"s), R"({"feature":{"x":null}})");
}

TEST(RecordJsonTest, AnExampleWithoutFeaturesIsAnExample) {
  EXPECT_EQ(json_content("\x0A\0"s), R"({"feature":{}})");
}

TEST(RecordJsonTest, JsonStaysAsItIsInOneLine) {
  EXPECT_EQ(json_content("{\n  \"big\": 12345678901234567890123,\r\n  \"big\": 1e999\n}"),
            "{   \"big\": 12345678901234567890123,    \"big\": 1e999 }");
}

TEST(RecordJsonTest, OtherRecordsAreStringsOrBase64) {
  EXPECT_EQ(json_content(""), "\"\"");
  EXPECT_EQ(json_content("12"), "\"12\"");
  EXPECT_EQ(json_content("say \"hi\"\\\t"), R"("say \"hi\"\\\t")");
  EXPECT_EQ(json_content("\0\x7F"s), R"("\u0000\u007f")");
  EXPECT_EQ(json_content("\xFF"), R"({"base64":"/w=="})");
}

TEST(RecordJsonTest, FloatsComeBackTheSame) {
  EXPECT_EQ(float_text(1), "1.0");
  EXPECT_EQ(float_text(-0.0f), "-0.0");
  EXPECT_EQ(float_text(1e30f), "1e+30");
  EXPECT_EQ(float_text(std::numeric_limits<float>::quiet_NaN()), "\"NaN\"");
  EXPECT_EQ(float_text(std::numeric_limits<float>::infinity()), "\"Infinity\"");
  EXPECT_EQ(float_text(-std::numeric_limits<float>::infinity()), "\"-Infinity\"");
  std::mt19937 bits(20);  // the same numbers on every machine
  for (int i = 0; i < 20'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits()));
    if (!std::isfinite(value)) continue;
    const std::string text = float_text(value);
    float again = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), again);
    ASSERT_EQ(end, text.data() + text.size()) << text;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(again), std::bit_cast<std::uint32_t>(value)) << text;
  }
}

}  // namespace
}  // namespace dovetail::tools
