// SPDX-License-Identifier: Apache-2.0
#include "format/example/example_encoder.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "example.pb.h"
#include "tests/format/example_messages.h"
#include "tests/support/fails.h"

namespace dovetail::format {
namespace {

using test::Draws;
using test::noise;

std::string serialised(const tfexample::Example& example) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    EXPECT_TRUE(example.SerializeToCodedStream(&coded));
  }
  return bytes;
}

std::string encoded(ExampleEncoder& encoder) {
  std::vector<std::byte> bytes;
  EXPECT_TRUE(encoder.encode(bytes));
  return std::string(as_chars(bytes));
}

/// The same feature in both.
void add_random(const std::string& name, ExampleEncoder& encoder, tfexample::Example& example, Draws& draws,
                std::vector<std::string>& kept) {
  tfexample::Feature& feature = (*example.mutable_features()->mutable_feature())[name];
  const std::uint64_t count = draws.below(4) == 0 ? draws.below(400) : draws.below(3);
  switch (draws.below(3)) {
    case 0: {
      std::vector<ByteView> values;
      feature.mutable_bytes_list();
      for (std::uint64_t i = 0; i < count; ++i) {
        kept.push_back(noise(draws.below(300), draws.next()));
        feature.mutable_bytes_list()->add_value(kept.back());
        values.push_back(as_bytes(kept.back()));
      }
      encoder.add_bytes(name, values);
      break;
    }
    case 1: {
      std::vector<float> values(count);
      for (float& value : values) value = static_cast<float>(draws.below(1000)) / 7.0f;
      feature.mutable_float_list()->mutable_value()->Add(values.begin(), values.end());
      encoder.add_floats(name, values);
      break;
    }
    default: {
      std::vector<std::int64_t> values(count);
      for (std::int64_t& value : values) value = static_cast<std::int64_t>(draws.next() >> draws.below(64));
      feature.mutable_int64_list()->mutable_value()->Add(values.begin(), values.end());
      encoder.add_ints(name, values);
    }
  }
}

TEST(ExampleEncoderTest, WritesWhatProtobufWritesDeterministically) {
  constexpr std::uint64_t kSeed = 4711;
  Draws draws(kSeed);
  ExampleEncoder encoder;
  for (int round = 0; round < 2000; ++round) {
    tfexample::Example example;
    example.mutable_features();
    std::vector<std::string> names;
    for (std::uint64_t left = draws.below(8); left > 0; --left) {
      names.push_back("feature/" + std::string(draws.below(200), 'x') + std::to_string(draws.below(1000)));
    }
    if (draws.below(3) == 0) names.emplace_back("");
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (draws.below(2) == 0) std::reverse(names.begin(), names.end());
    std::vector<std::string> kept;
    kept.reserve(8 * 400);
    for (const std::string& name : names) add_random(name, encoder, example, draws, kept);
    ASSERT_EQ(encoded(encoder), serialised(example)) << "seed " << kSeed << ", round " << round;
  }
}

TEST(ExampleEncoderTest, WritesTheNumbersOfEveryLength) {
  std::vector<std::int64_t> values = {0, -1, std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::max()};
  for (int bit = 0; bit < 63; ++bit) {
    values.push_back(std::int64_t{1} << bit);
    values.push_back((std::int64_t{1} << bit) - 1);
  }
  ExampleEncoder encoder;
  encoder.add_ints("x", values);
  tfexample::Example example;
  auto& list = *(*example.mutable_features()->mutable_feature())["x"].mutable_int64_list();
  list.mutable_value()->Add(values.begin(), values.end());
  EXPECT_EQ(encoded(encoder), serialised(example));
}

TEST(ExampleEncoderTest, WithoutFeaturesARecordIsEmptyFeatures) {
  ExampleEncoder encoder;
  EXPECT_EQ(encoded(encoder), std::string("\x0A\x00", 2));
}

TEST(ExampleEncoderTest, RefusesANameThatIsThereTwiceOrIsNotUtf8AndForgetsIt) {
  ExampleEncoder encoder;
  std::vector<std::byte> bytes;
  encoder.add_int("a", 1);
  encoder.add_float("b", 1);
  encoder.add_int("a", 1);
  auto result = encoder.encode(bytes);
  ASSERT_THAT(result, test::Fails(Errc::invalid_option).saying("\"a\""));
  encoder.add_int("\xFF", 1);
  result = encoder.encode(bytes);
  EXPECT_THAT(result, test::Fails(Errc::invalid_option));
  EXPECT_EQ(encoded(encoder), std::string("\x0A\x00", 2));
}

TEST(ExampleEncoderTest, RefusesARecordAboveTwoGibibytes) {
  // The same bytes again and again: they are borrowed, and nothing is written before the size is
  // known.
  const std::string part(1 << 20, 'x');
  ExampleEncoder encoder;
  encoder.add_bytes("x", std::vector<ByteView>(2048, as_bytes(part)));
  std::vector<std::byte> bytes;
  EXPECT_THAT(encoder.encode(bytes), test::Fails(Errc::record_too_large));
  EXPECT_TRUE(bytes.empty());
}

}  // namespace
}  // namespace dovetail::format
