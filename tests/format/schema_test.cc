// SPDX-License-Identifier: Apache-2.0
#include <dovetail/schema.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/columns.h>

#include "format/example/half.h"
#include "format/example/schema_fallback.h"
#include "format/example/schema_names.h"
#include "tests/support/fails.h"
#include "tests/support/sample_records.h"

namespace dovetail::test {
namespace {

TEST(SchemaTest, ReadsEveryForm) {
  const auto schema = parse_schema(
      "image:u8[28,28,1], label:i64, tokens:i32[*] , weight : f32 = 1,\"odd name, \\\"x\\\" \\x41\":bytes=\"no\\\\ne\","
      "boxes:f32[*,4]=[],names:bytes[*], image/class.label-1_A:i8=-3");
  ASSERT_TRUE(schema) << schema.error().to_string();
  const Schema expected{{
      {.name = "image", .dtype = Dtype::u8, .shape = {28, 28, 1}},
      {.name = "label", .dtype = Dtype::i64},
      {.name = "tokens", .dtype = Dtype::i32, .ragged = true},
      {.name = "weight", .dtype = Dtype::f32, .fallback = "1"},
      {.name = "odd name, \"x\" A", .dtype = Dtype::bytes, .fallback = "no\\ne"},
      {.name = "boxes", .dtype = Dtype::f32, .shape = {4}, .ragged = true, .fallback = ""},
      {.name = "names", .dtype = Dtype::bytes, .ragged = true},
      {.name = "image/class.label-1_A", .dtype = Dtype::i8, .fallback = "-3"},
  }};
  EXPECT_EQ(*schema, expected);
  EXPECT_EQ(to_text(*schema),
            "image:u8[28,28,1], label:i64, tokens:i32[*], weight:f32=1, \"odd name, \\\"x\\\" A\":bytes=\"no\\\\ne\", "
            "boxes:f32[*,4]=[], names:bytes[*], image/class.label-1_A:i8=-3");
  EXPECT_EQ(parse_schema(to_text(*schema)).value(), *schema);
  EXPECT_EQ(schema->find("label"), 1u);
  EXPECT_EQ(schema->find("Label"), std::nullopt);
  EXPECT_EQ(schema->columns[0].values(), 784u);
}

TEST(SchemaTest, EveryDtypeHasANameAndASize) {
  const std::pair<const char*, std::size_t> kDtypes[] = {{"u8", 1},  {"i8", 1},  {"u16", 2}, {"i16", 2},
                                                         {"u32", 4}, {"i32", 4}, {"u64", 8}, {"i64", 8},
                                                         {"f16", 2}, {"f32", 4}, {"f64", 8}, {"bytes", 1}};
  for (const auto& [name, bytes] : kDtypes) {
    const Schema schema = parse_schema(std::string("x:") + name).value();
    EXPECT_EQ(to_text(schema.columns[0].dtype), name);
    EXPECT_EQ(dtype_bytes(schema.columns[0].dtype), bytes);
  }
}

TEST(SchemaTest, TextsKeepCharactersThatCanBeSeenAndEscapeOthers) {
  const std::pair<const char*, const char*> kTexts[] = {
      {"gr\xC3\xB6\xC3\x9F", "gr\xC3\xB6\xC3\x9F"},
      {"\xE6\x96\x87 \xF0\x9F\x90\xA6", "\xE6\x96\x87 \xF0\x9F\x90\xA6"},
      {"a\"\\b", "a\\\"\\\\b"},
      {"a\n\x7F\xC2\x9B", "a\\x0a\\x7f\\xc2\\x9b"},
      {"\xE2\x80\xAE", "\\xe2\\x80\\xae"}};  // reverses what follows
  for (const auto& [given, quoted] : kTexts) {
    const Schema schema{{{.name = given, .dtype = Dtype::bytes, .fallback = given}}};
    EXPECT_EQ(to_text(schema), '"' + std::string(quoted) + "\":bytes=\"" + quoted + '"');
    EXPECT_EQ(parse_schema(to_text(schema)).value(), schema);
  }
}

TEST(SchemaTest, TextsOfAnyBytesComeBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const Schema schema{{{.name = "\xC3\xA4\t\"\\", .dtype = Dtype::bytes, .fallback = bytes},
                       {.name = "", .dtype = Dtype::bytes, .fallback = ""}}};
  ASSERT_TRUE(validate(schema));
  EXPECT_EQ(parse_schema(to_text(schema)).value(), schema);
}

struct Refused {
  const char* text;
  const char* reason;
};

TEST(SchemaTest, SaysWhatIsWrongAndWhere) {
  const Refused kRefused[] = {
      {"", "the name of a column"},
      {",", "the name of a column"},
      {"a:i8,", "at character 6"},
      {"a", "expected ':' and a dtype at character 2, found the end"},
      {"gr\xC3\xB6\xC3\x9F:i8",
       "':' and a dtype, or quotes around the name at character 3, found \"\xC3\xB6\xC3\x9F:i8\""},
      {"\xC3\xB6\xE6\x96\x87\xE6\x96\x87\xE6\x96\x87\xE6\x96\x87:i8",
       "found \"\xC3\xB6\xE6\x96\x87\xE6\x96\x87\xE6\x96\x87\""},
      {"my age:i8", "':' and a dtype, or quotes around the name at character 4, found \"age:i8\""},
      {"a:", "expected a dtype"},
      {"a:int", "expected a dtype, u8 to f64 or bytes at character 3, found \"int\""},
      {"a:int64", "expected a dtype, u8 to f64 or bytes (int64 is i64) at character 3, found \"int64\""},
      {"a:uint8[2]", "(uint8 is u8)"},
      {"a:float32", "(float32 is f32)"},
      {"a:bool[2]", "(bool is u8)"},
      {"a:str", "(str is bytes)"},
      {"a:i8 b:i8", "expected a comma or the end at character 6"},
      {"a:i8[", "a dimension"},
      {"a:i8[]", "a dimension"},
      {"a:i8[0]", "a dimension"},
      {"a:i8[-1]", "a dimension"},
      {"a:i8[4294967296]", "a dimension"},
      {"a:i8[3,*]", "* as the first dimension only"},
      {"a:i8[*,*]", "* as the first dimension only"},
      {"a:i8[3", "a comma or ']'"},
      {"a:i8[65536,65536]", "bytes per row"},
      {"a:i64[268435456]", "bytes per row"},
      {"a:i8[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "more than 16 dimensions"},
      {"a:bytes[3]", "bytes must be one text per row"},
      {"a:bytes[*,3]", "bytes must be one text per row"},
      {"a:i8, b:i8, a:u8", "column \"a\": occurs twice"},
      {"\"a:i8", "closing quotation mark"},
      {"\"a\\n\":i8", "\\x and two digits"},
      {"\"a\\x4\":i8", "\\x and two digits"},
      {"\"a\\xgg\":i8", "\\x and two digits"},
      {"\"\\xFF\":i8", "not UTF-8"},
      {"a:i8=", "the fallback \"\" is not a valid i8"},
      {"a:i8=128", "the fallback \"128\" is not a valid i8"},
      {"a:u8=-1", "is not a valid u8"},
      {"a:i8=1.5", "is not a valid i8"},
      {"a:u64=18446744073709551616", "is not a valid u64"},
      {"a:f32=x", "is not a valid f32"},
      {"a:f32=1e39", "is not a valid f32"},
      {"a:f16=65520", "is not a valid f16"},
      {"a:bytes=abc", "a text in quotation marks"},
      {"a:i8[*]=1", "[], the only fallback"},
  };
  for (const auto& [text, reason] : kRefused) {
    const auto schema = parse_schema(text);
    ASSERT_FALSE(schema) << text;
    EXPECT_THAT(schema, Fails(Errc::invalid_option).saying(reason)) << text;
  }
}

TEST(SchemaTest, HoldsItsLimits) {
  const auto many = [](std::size_t columns) {
    std::string text;
    for (std::size_t i = 0; i < columns; ++i) text += (i > 0 ? ",c" : "c") + std::to_string(i) + ":i8";
    return text;
  };
  EXPECT_TRUE(parse_schema(many(kMaxColumns)));
  EXPECT_FALSE(parse_schema(many(kMaxColumns + 1)));
  EXPECT_TRUE(parse_schema(std::string(kMaxColumnNameBytes, 'x') + ":i8"));
  EXPECT_FALSE(parse_schema(std::string(kMaxColumnNameBytes + 1, 'x') + ":i8"));
  EXPECT_TRUE(parse_schema("a:bytes=\"" + std::string(kMaxFallbackBytes, 'x') + "\""));
  EXPECT_FALSE(parse_schema("a:bytes=\"" + std::string(kMaxFallbackBytes + 1, 'x') + "\""));
  EXPECT_FALSE(parse_schema("a:i8" + std::string(kMaxSchemaTextBytes, ' ')));
  EXPECT_TRUE(parse_schema("a:u8[2147483647]"));
  EXPECT_FALSE(parse_schema("a:u8[2147483648]"));
  EXPECT_FALSE(validate(Schema{}));
}

TEST(SchemaTest, NumbersOfFallbacksHaveOneForm) {
  EXPECT_EQ(
      to_text(
          parse_schema("a:f32=1.50, b:f64=1e3, c:i8=-0, d:f32=nan, e:f16=-inf, f:u64=18446744073709551615").value()),
      "a:f32=1.5, b:f64=1000, c:i8=0, d:f32=nan, e:f16=-inf, f:u64=18446744073709551615");
}

TEST(SchemaTest, AnyTextIsReadOrRefused) {
  constexpr std::uint64_t kSeed = 77;
  constexpr std::string_view kSigns = "ab:i8u64f[]*,=\"\\x10-. ";
  Draws draws(kSeed);
  int read = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text = i % 2 == 0 ? "a:i8[3,4]=1, \"b\":bytes=\"x\", c:f32[*]=[]" : "";
    for (std::uint64_t left = draws.below(i % 2 == 0 ? 4 : 12); left > 0; --left) {
      text.insert(draws.below(text.size() + 1), 1, kSigns[draws.below(kSigns.size())]);
    }
    const auto schema = parse_schema(text);
    if (!schema) continue;
    ++read;
    ASSERT_TRUE(validate(*schema)) << text;
    ASSERT_EQ(parse_schema(to_text(*schema)).value(), *schema) << text << ", seed " << kSeed;
  }
  EXPECT_GT(read, 1000);
}

// The definition, slowly: the nearest of all halves, of two equally near ones the even one.
double value_of_half(std::uint32_t half) {
  const int exponent = static_cast<int>(half >> 10 & 31);
  const double significand = half & 0x3FF;
  return exponent == 0 ? std::ldexp(significand, -24) : std::ldexp(1024 + significand, exponent - 25);
}

TEST(HalfTest, IsTheNearestOne) {
  using format::to_half;
  for (std::uint32_t half = 0; half < 0x7C00; ++half) {
    const double here = value_of_half(half);
    const double next = half + 1 == 0x7C00 ? 65536 : value_of_half(half + 1);
    const auto middle = static_cast<float>((here + next) / 2);  // exact: floats have bits to spare
    ASSERT_EQ(to_half(static_cast<float>(here)), half);
    ASSERT_EQ(to_half(-static_cast<float>(here)), half | 0x8000);
    ASSERT_EQ(to_half(std::nextafterf(middle, 0)), half);
    ASSERT_EQ(to_half(std::nextafterf(middle, 1e9f)), half + 1);
    ASSERT_EQ(to_half(middle), half + (half & 1));
  }
  EXPECT_EQ(to_half(std::numeric_limits<float>::infinity()), 0x7C00);
  EXPECT_EQ(to_half(std::numeric_limits<float>::max()), 0x7C00);
  EXPECT_EQ(to_half(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(to_half(std::numeric_limits<float>::quiet_NaN()) & 0x7E00, 0x7E00);
}

TEST(SchemaTest, FallbacksLieInMemoryAsTheirDtype) {
  const auto value = [](const char* text) {
    return std::bit_cast<std::uint64_t>(format::fallback_value(parse_schema(text).value().columns[0]));
  };
  EXPECT_EQ(value("a:i8=-1"), 0xFFu);
  EXPECT_EQ(value("a:u16=258"), 258u);
  EXPECT_EQ(value("a:i64=-1"), ~0ull);
  EXPECT_EQ(value("a:f16=1"), 0x3C00u);
  EXPECT_EQ(value("a:f32=1"), 0x3F800000u);
  EXPECT_EQ(value("a:f64=1"), std::bit_cast<std::uint64_t>(1.0));
}

TEST(SchemaTest, ValuesAreGivenAsTheirOwnTypeOnly) {
  const Column label{.name = "label", .dtype = Dtype::i64};
  const std::vector<std::byte> values(64);
  ColumnView view;
  view.column = &label;
  view.values = values;
  EXPECT_EQ(view.as<std::int64_t>().size(), 8u);
  EXPECT_EQ(view.as<std::uint64_t>().size(), 8u);
  try {
    (void)view.as<int>();
    FAIL() << "twice as many labels, every second one 0";
  } catch (const Exception& refused) {
    EXPECT_EQ(refused.error().code(), Errc::invalid_option);
    EXPECT_EQ(refused.error().detail(), "column \"label\": its values are i64, not integers of 4 bytes");
  }
  EXPECT_THROW((void)view.as<double>(), Exception);
  const auto fits = [](Dtype dtype, std::size_t bytes, bool is_float) {
    try {
      check_type({.name = "x", .dtype = dtype}, bytes, is_float);
      return true;
    } catch (const Exception&) {
      return false;
    }
  };
  EXPECT_TRUE(fits(Dtype::f32, 4, true));
  EXPECT_FALSE(fits(Dtype::f32, 4, false));
  EXPECT_FALSE(fits(Dtype::f64, 4, true));
  EXPECT_TRUE(fits(Dtype::f16, 2, false));
  EXPECT_TRUE(fits(Dtype::f16, 2, true));
  EXPECT_TRUE(fits(Dtype::bytes, 1, false));
}

TEST(SchemaTest, NamesPickColumns) {
  const Schema schema = parse_schema("x:i64=-1, \"a b\":bytes, y:f32[2]").value();
  EXPECT_EQ(to_text(schema.pick({"a b", "x"}).value()), "\"a b\":bytes, x:i64=-1");
  EXPECT_THAT(schema.pick({"x", "z"}),
              Fails(Errc::invalid_option).saying("no column \"z\"; it has: x:i64=-1, \"a b\""));
}

TEST(SchemaTest, NamesAloneAreAListOfNames) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(format::column_names("image"), Names({"image"}));
  EXPECT_EQ(format::column_names(" b , a b,c\""), Names({"b", "a b", "c\""}));
  EXPECT_EQ(format::column_names("\"a, b\", \"f:g\" ,\"q\\\"\", \" \""), Names({"a, b", "f:g", "q\"", " "}));
  EXPECT_EQ(format::column_names("a,"), Names({"a", ""}));
  const std::string schemas[] = {"a:i64", "a, b:i64", "\"a\":i64", "a:bytes=\"x\"", "f:g", "\"a", "\"a\" b"};
  for (const std::string& text : schemas) EXPECT_EQ(format::column_names(text), std::nullopt) << text;
}

}  // namespace
}  // namespace dovetail::test
