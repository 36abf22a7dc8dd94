// SPDX-License-Identifier: Apache-2.0
#include <dovetail/columns.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "format/example/example_encoder.h"
#include "tests/format/column_reference.h"
#include "tests/format/example_messages.h"
#include "tests/support/fails.h"
#include "tests/support/sanitizers.h"

namespace dovetail::format {
namespace {

using namespace test;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using MaybeRecords = std::vector<std::optional<std::string>>;

/// A slab that is exactly as large as it is said to be, full of something.
class SlabMemory {
 public:
  explicit SlabMemory(std::size_t bytes)
      : words_((bytes + 7) / 8, 0xA5A5A5A5A5A5A5A5), bytes_(std::as_writable_bytes(std::span(words_)).first(bytes)) {}
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::uint64_t> words_;
  std::span<std::byte> bytes_;
};

/// OwnedRecords in memory of their own, which ends where they do.
class OwnedRecords {
 public:
  explicit OwnedRecords(const MaybeRecords& records) {
    for (const auto& record : records) {
      const std::size_t size = record ? record->size() : 0;
      auto& memory = memory_.emplace_back(std::make_unique<std::byte[]>(size));
      if (size > 0) std::copy_n(as_bytes(*record).data(), size, memory.get());
      views_.push_back(record ? ByteView(memory.get(), size) : ByteView());
    }
  }
  std::span<const ByteView> views() const { return views_; }

 private:
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<ByteView> views_;
};

std::size_t longest(const MaybeRecords& records) {
  std::size_t most = 0;
  for (const auto& record : records) most = std::max(most, record ? record->size() : 0);
  return most;
}

/// Decodes with the decoder and slowly, and compares. Whether the batch was good.
void expect_same(ColumnDecoder& decoder, const MaybeRecords& batch, bool* good = nullptr) {
  const auto rows = static_cast<std::uint32_t>(batch.size());
  const OwnedRecords records(batch);
  const SlabMemory slab(decoder.most_bytes(rows, longest(batch)));
  const auto decoded = decoder.decode(records.views(), slab.bytes());
  const auto expected = reference_columns(decoder.schema(), batch);
  const auto what = [&] { return to_text(decoder.schema()) + ", " + ::testing::PrintToString(batch); };
  ASSERT_EQ(decoded.has_value(), expected.has_value())
      << what() << ": " << (decoded ? "" : decoded.error().to_string());
  if (good != nullptr) *good = decoded.has_value();
  ASSERT_GE(decoder.held_bytes(), decoder.least_held_bytes(rows)) << what();
  ASSERT_LE(decoder.held_bytes(), decoder.most_held_bytes(rows, longest(batch))) << what();
  if (!decoded) {
    using test::Fails;
    ASSERT_THAT(decoded, AnyOf(Fails(Errc::bad_message), Fails(Errc::invalid_option))) << what();
    ASSERT_THAT(decoded, Fails().saying("row ")) << what();
    return;
  }
  ASSERT_EQ(decoded_columns(decoder.schema(), **decoded, slab.bytes()), *expected) << what();
  ASSERT_LE((*decoded)->bytes, slab.bytes().size());
}

ColumnDecoder decoder_of(const char* schema) {
  return ColumnDecoder::make(parse_schema(schema).value()).value();
}

Error failure_of(ColumnDecoder& decoder, const std::string& record) {
  const OwnedRecords records({record});
  const SlabMemory slab(decoder.most_bytes(1, record.size()));
  const auto decoded = decoder.decode(records.views(), slab.bytes());
  return decoded ? Error() : decoded.error();
}

std::string error_of(ColumnDecoder& decoder, const std::string& record) {
  return failure_of(decoder, record).detail();
}

std::string ints(const std::vector<std::int64_t>& values) {
  std::string packed;
  for (const std::int64_t value : values) packed += wire_varint(static_cast<std::uint64_t>(value));
  return wire_field(3, wire_field(1, packed));
}
std::string bytes_list(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += wire_field(1, value);
  return wire_field(1, list);
}

TEST(ColumnsTest, AreWhatProtobufsClassesGive) {
  constexpr std::uint64_t kSeed = 90210;
  Draws draws(kSeed);
  const int rounds = dovetail::test::kSanitized ? 1500 : 6000;
  int good = 0;
  for (int round = 0; round < rounds; ++round) {
    ColumnDecoder decoder = ColumnDecoder::make(random_schema(draws)).value();
    for (int batch = 0; batch < 3; ++batch) {
      MaybeRecords records;
      for (std::uint64_t left = draws.below(12); left > 0; --left) {
        records.emplace_back(random_record(decoder.schema(), draws));
        if (draws.below(20) == 0) records.back().reset();
      }
      bool decoded = false;
      ASSERT_NO_FATAL_FAILURE(expect_same(decoder, records, &decoded)) << "seed " << kSeed << ", round " << round;
      good += decoded ? 1 : 0;
    }
  }
  EXPECT_GT(good, rounds / 2);
  EXPECT_LT(good, rounds * 3);
}

constexpr const char* kSample =
    "image:u8[4,4,1], label:i64, tokens:i32[*], weight:f32=1, name:bytes=\"none\", tags:bytes[*]=[]";

std::string sample_record() {
  ExampleEncoder encoder;
  const std::string image(16, '\x42');
  const std::vector<std::int64_t> tokens = {1, 300, 70'000, 5, 6, 7, 100};
  const std::vector<ByteView> tags = {as_bytes("x"), as_bytes(""), as_bytes("yz")};
  encoder.add_bytes("image", as_bytes(image));
  encoder.add_int("label", 7);
  encoder.add_ints("tokens", tokens);
  encoder.add_float("weight", 0.5f);
  encoder.add_bytes("name", as_bytes("a name"));
  encoder.add_bytes("tags", tags);
  encoder.add_int("unused", -1);
  std::vector<std::byte> record;
  encoder.encode(record).value();
  return std::string(as_chars(record));
}

TEST(ColumnsTest, EveryCutAndEveryFlippedBitIsJudgedAsProtobufDoes) {
  ColumnDecoder decoder = decoder_of(kSample);
  const std::string record = sample_record();
  ASSERT_NO_FATAL_FAILURE(expect_same(decoder, {record, record}));
  for (std::size_t size = 0; size < record.size(); ++size) {
    ASSERT_NO_FATAL_FAILURE(expect_same(decoder, {record, record.substr(0, size), record})) << "cut to " << size;
  }
  for (std::size_t bit = 0; bit < 8 * record.size(); ++bit) {
    std::string flipped = record;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_NO_FATAL_FAILURE(expect_same(decoder, {record, flipped, record})) << "bit " << bit;
  }
}

TEST(ColumnsTest, RandomDamageIsJudgedAsProtobufDoes) {
  constexpr std::uint64_t kSeed = 31337;
  Draws draws(kSeed);
  ColumnDecoder decoder = decoder_of(kSample);
  const std::string record = sample_record();
  const int rounds = dovetail::test::kSanitized ? 10'000 : 100'000;
  for (int round = 0; round < rounds; ++round) {
    ASSERT_NO_FATAL_FAILURE(expect_same(decoder, {record, mutated(record, draws)})) << "seed " << kSeed;
  }
}

TEST(ColumnsTest, LieInTheSlabAsPromised) {
  ColumnDecoder decoder = decoder_of(kSample);
  const std::string record = sample_record();
  const OwnedRecords records({record, std::nullopt, record});
  const SlabMemory slab(decoder.most_bytes(3, record.size()));
  const ColumnLayout layout = **decoder.decode(records.views(), slab.bytes());
  const ByteView bytes = slab.bytes();
  const auto view = [&](std::size_t i) { return view_column(decoder.schema(), layout, bytes, i); };
  for (const ColumnPlace& place : layout.columns) {
    EXPECT_EQ(place.values.at % 256, 0u);
    EXPECT_EQ(place.offsets.at % 256, 0u);
    EXPECT_EQ(place.text_offsets.at % 256, 0u);
  }
  EXPECT_EQ(layout.rows, 3u);
  EXPECT_EQ(view(0).as<std::uint8_t>().size(), 48u);
  EXPECT_EQ(view(0).as<std::uint8_t>()[47], 0x42);
  EXPECT_THAT(view(1).as<std::int64_t>(), ElementsAre(7, 0, 7));
  EXPECT_THAT(view(2).offsets, ElementsAre(0, 7, 7, 14));
  EXPECT_EQ(view(2).as<std::int32_t>()[9], 70'000);
  EXPECT_THAT(view(3).as<float>(), ElementsAre(0.5f, 0.0f, 0.5f));
  EXPECT_THAT(view(4).text_offsets, ElementsAre(0, 6, 6, 12));
  EXPECT_EQ(view(4).text(2), "a name");
  EXPECT_THAT(view(5).offsets, ElementsAre(0, 3, 3, 6));
  EXPECT_THAT(view(5).text_offsets, ElementsAre(0, 1, 1, 3, 4, 4, 6));
  EXPECT_EQ(view(5).text(5), "yz");
  EXPECT_EQ(decoder.fixed_bytes(3), view(2).values.data() - bytes.data());
}

TEST(ColumnsTest, EqualColumnsAreEqualBytes) {
  ColumnDecoder decoder = decoder_of(kSample);
  const OwnedRecords records({sample_record(), std::nullopt});
  const auto decode = [&](std::byte fill) {
    const SlabMemory slab(decoder.most_bytes(2, 1000));
    std::fill(slab.bytes().begin(), slab.bytes().end(), fill);
    const ColumnLayout& layout = **decoder.decode(records.views(), slab.bytes());
    return std::string(as_chars(slab.bytes().first(layout.bytes)));
  };
  EXPECT_EQ(decode(std::byte{0x5A}), decode(std::byte{0xA5})) << "whatever the slab had before";
}

TEST(ColumnsTest, NoNumberOfRowsMakesASizeWrap) {
  // So many rows would come to 4 MiB, counted modulo 2^64.
  std::string wide = "last:u8[2049]";
  for (int i = 0; i < 2048; ++i) wide += ", c" + std::to_string(i) + ":u8[2147483647]";
  ColumnDecoder decoder = decoder_of(wide.c_str());
  constexpr std::uint32_t kRows = 1 << 22;
  EXPECT_EQ(decoder.fixed_bytes(kRows), std::uint64_t{1} << 60);
  EXPECT_EQ(decoder.most_bytes(kRows, UINT32_MAX), std::uint64_t{1} << 60);
  const SlabMemory slab(8 << 20);
  EXPECT_THAT(decoder.begin(kRows, slab.bytes()), test::Fails(Errc::batch_too_large));
}

TEST(ColumnsTest, ABatchWithoutRowsHasOnlyTheFirstOffsets) {
  ColumnDecoder decoder = decoder_of(kSample);
  ASSERT_NO_FATAL_FAILURE(expect_same(decoder, {}));
}

TEST(ColumnsTest, ARecordWithoutBytesIsARecordWithoutFeatures) {
  ColumnDecoder fallbacks = decoder_of("a:i8=3, b:bytes=\"x\", c:f64[*]=[], d:u16[2]=9");
  ASSERT_NO_FATAL_FAILURE(expect_same(fallbacks, {std::string(), std::nullopt, std::string("\x0A\x00", 2)}));
  ColumnDecoder none = decoder_of("a:i8");
  EXPECT_EQ(
      error_of(none, ""),
      "row 0, column \"a\": the record has no such feature, nor any other; with a fallback, such as a:i8=-1, rows "
      "get that instead");
}

TEST(ColumnsTest, AMissingFeatureIsAnErrorWithThoseThereAreAndAFallbackThatMendsIt) {
  const std::string record = wire_record(wire_entry("label", ints({7})) + wire_entry("image", bytes_list({"x"})) +
                                         wire_entry(std::string(150, 'n'), "") + wire_entry("line\nbreak", ints({1})));
  const struct {
    const char* schema;
    const char* mended;
  } cases[] = {{"age:i64", "age:i64=-1"},           {"age:u8[2,3]", "age:u8[2,3]=0"},
               {"age:f16", "age:f16=nan"},          {"age:f64[2]", "age:f64[2]=nan"},
               {"age:bytes", "age:bytes=\"\""},     {"age:bytes[*]", "age:bytes[*]=[]"},
               {"age:u32[*,4]", "age:u32[*,4]=[]"}, {"\"my age\":i8", "\"my age\":i8=-1"}};
  for (const auto& [schema, mended] : cases) {
    ColumnDecoder decoder = decoder_of(schema);
    const Error error = failure_of(decoder, record);
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.to_string();
    EXPECT_THAT(error.detail(), HasSubstr("the record has no such feature, only \"image\" (bytes_list), \"label\" "
                                          "(int64_list), \"line\nbreak\" (int64_list), \"" +
                                          std::string(100, 'n') +
                                          "...\" (none); to compute this column, give the reader map= (in C++ "
                                          "ReaderOptions::transform); with a fallback, such as " +
                                          mended + ", rows get that instead"));
    EXPECT_THAT(error.to_string(), Not(HasSubstr("\n")));
    ColumnDecoder mends = decoder_of(mended);
    EXPECT_EQ(error_of(mends, record), "");
  }
  std::string many;
  for (int i = 110; i < 140; ++i) many += wire_entry("f" + std::to_string(i), ints({1}));
  ColumnDecoder decoder = decoder_of("a:i8");
  EXPECT_THAT(error_of(decoder, wire_record(many)), HasSubstr("\"f129\" (int64_list) and 10 more; "));
}

TEST(ColumnsTest, AMissingFeatureIsAnsweredWithANameThatIsNear) {
  const std::string record = wire_record(wire_entry("label", ints({7})) + wire_entry("image", bytes_list({"x"})));
  ColumnDecoder typo = decoder_of("labl:i64");
  EXPECT_EQ(error_of(typo, record),
            "row 0, column \"labl\": the record has no such feature; did you mean \"label\"? It has only \"image\" "
            "(bytes_list), \"label\" (int64_list)");
  ColumnDecoder seen_before = decoder_of("age:i64");
  EXPECT_EQ(error_of(seen_before, wire_record(wire_entry("age", ints({7})))), "");
  EXPECT_THAT(error_of(seen_before, record), HasSubstr("\"label\" (int64_list); with a fallback, such as age:i64=-1"));
  ColumnDecoder other_column = decoder_of("label:i64, label2:i64");
  EXPECT_THAT(error_of(other_column, record), HasSubstr("with a fallback, such as label2:i64=-1"));
}

TEST(ColumnsTest, OtherColumnsMendWhatDoesNotFitAndNothingMendsWhatIsNoExample) {
  ColumnDecoder decoder = decoder_of("a:u8[4]");
  const auto kind_of = [&](const std::string& record) { return failure_of(decoder, record).kind(); };
  EXPECT_EQ(kind_of(wire_record(wire_entry("a", ints({1, 2, 3})))), ErrorKind::usage);
  EXPECT_EQ(kind_of(wire_record(wire_entry("a", ints({1, 2, 3, 256})))), ErrorKind::usage);
  EXPECT_EQ(kind_of(wire_record(wire_entry("a", wire_field(2, "")))), ErrorKind::usage);
  const std::string whole = wire_record(wire_entry("a", ints({1, 2, 3, 4})));
  for (std::size_t size = 2; size < whole.size(); ++size) {
    EXPECT_THAT(failure_of(decoder, whole.substr(0, size)), test::Fails(Errc::bad_message)) << size;
  }
  const std::string mend =
      "; convert the JSON lines again with --records example, or `dovetail cat OLD | dovetail convert - --records "
      "example --to NEW`, or use a map";
  for (const auto& [record, what, remedy] :
       {std::tuple("{\"a\": [1, 2, 3, 4]}", "JSON", mend), std::tuple(" [1]\r\n", "JSON", mend),
        std::tuple("row 5: \xC3\xA4", "text", std::string())}) {
    const Error error = failure_of(decoder, record);
    EXPECT_TRUE(error.is(Errc::invalid_option));
    EXPECT_EQ(error.detail(),
              "row 0: the record is " + std::string(what) + ", but columns need a tf.train.Example" + remedy);
  }
  EXPECT_TRUE(failure_of(decoder, "\xFF\xD8\xFF\xE0 JFIF").is(Errc::bad_message));
}

TEST(ColumnsTest, AListWithoutValuesIsAsIfTheFeatureWereMissing) {
  ColumnDecoder fallbacks = decoder_of("a:i8=3, b:bytes=\"x\", c:f32[*]=[], d:f32=-1, e:i16[2]=9");
  const std::string empty = wire_entry("a", ints({})) + wire_entry("b", bytes_list({})) +
                            wire_entry("c", wire_field(2, "")) + wire_entry("d", wire_field(2, "")) +
                            wire_entry("e", bytes_list({}));
  ASSERT_NO_FATAL_FAILURE(expect_same(fallbacks, {wire_record(empty), std::nullopt}));
  EXPECT_EQ(error_of(fallbacks, wire_record(wire_entry("c", ints({})))).find("row 0, column \"c\": int64_list cannot"),
            0u)
      << "another kind of list is another feature than was meant";
  for (const std::string& feature : {wire_field(2, ""), std::string()}) {
    ColumnDecoder none = decoder_of("d:f32");
    EXPECT_EQ(
        error_of(none, wire_record(wire_entry("d", feature))),
        "row 0, column \"d\": the feature is empty, in the entry at byte 4 of the record; with a fallback, such as "
        "d:f32=nan, rows get that instead");
  }
}

TEST(ColumnsTest, ErrorsNameRowColumnAndByte) {
  ColumnDecoder decoder = decoder_of("a:u8[4], b:f32, c:bytes, d:i16[*,2]");
  const std::string rest = wire_entry("b", wire_field(2, "\x0D" + std::string(4, '\0'))) +
                           wire_entry("c", bytes_list({"x"})) + wire_entry("d", ints({}));
  const std::size_t at = rest.size() + 4;
  const auto expect = [&](const std::string& name, const std::string& feature, const std::string& why) {
    std::string others;
    if (name != "a") others = wire_entry("a", ints({1, 2, 3, 4}));
    const std::string record = wire_record(rest + others + wire_entry(name, feature));
    EXPECT_EQ(error_of(decoder, record), "row 0, column \"" + name + "\": " + why + ", in the entry at byte " +
                                             std::to_string(at + others.size()) + " of the record");
  };
  expect("a", ints({1, 2, 3}), "3 values, expected 4");
  expect("a", ints({1, 2, 3, 256}), "a number that does not fit u8");
  expect("a", ints({1, 2, 3, -1}), "a number that does not fit u8");
  expect("a", bytes_list({"12345"}), "5 values, expected 4");
  expect("a", bytes_list({"1234", "1234"}), "a bytes_list of 2 values, expected 1");
  expect("a", wire_field(2, wire_field(1, std::string(16, '\0'))), "float_list cannot fill u8; f32 takes it");
  expect("b", ints({16777217}), "a number that does not fit f32");
  expect("b", bytes_list({"123"}), "3 bytes, not a multiple of f32; for texts the dtype is bytes");
  expect("c", ints({1}), "int64_list cannot fill bytes; i64 takes it");
  expect("d", ints({1, 2, 3}), "3 values, expected a multiple of 2");
  EXPECT_THAT(error_of(decoder, wire_record(rest) + "\x0A"), HasSubstr("row 0: tf.train.Example: a length"));
}

TEST(ColumnsTest, WholeNumbersFillFloatingColumnsOfAFixedSizeWhereTheyAreExact) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kWide = std::int64_t{1} << 53;
  ColumnDecoder single = decoder_of("a:f32");
  ColumnDecoder pair = decoder_of("b:f64[2]");
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-7}, std::int64_t{16777216}, kWide, kLeast}) {
    ASSERT_NO_FATAL_FAILURE(expect_same(single, {wire_record(wire_entry("a", ints({value})))}));
    ASSERT_NO_FATAL_FAILURE(expect_same(pair, {wire_record(wire_entry("b", ints({value, 3})))}));
  }
  for (const std::int64_t value : {std::int64_t{16777217}, std::int64_t{-16777217}, kMost}) {
    EXPECT_THAT(error_of(single, wire_record(wire_entry("a", ints({value})))),
                HasSubstr("a number that does not fit f32"));
  }
  for (const std::int64_t value : {kWide + 1, -kWide - 1, kMost}) {
    EXPECT_THAT(error_of(pair, wire_record(wire_entry("b", ints({1, value})))),
                HasSubstr("a number that does not fit f64"));
  }
  for (const char* const schema : {"a:f16", "a:f32[*]", "a:f64[*]"}) {
    ColumnDecoder other = decoder_of(schema);
    EXPECT_THAT(error_of(other, wire_record(wire_entry("a", ints({1})))),
                HasSubstr("int64_list cannot fill " + std::string(schema, 2, 3) + "; i64 takes it"));
  }
}

TEST(ColumnsTest, AnErrorLeavesOtherBatchesAlone) {
  ColumnDecoder decoder = decoder_of(kSample);
  const std::string record = sample_record();
  ASSERT_NO_FATAL_FAILURE(expect_same(decoder, {record, "\xFF", record}));
  ASSERT_NO_FATAL_FAILURE(expect_same(decoder, {record, record}));
}

TEST(ColumnsTest, ASlabThatIsTooSmallIsRefusedWithItsSize) {
  ColumnDecoder decoder = decoder_of(kSample);
  const std::string record = sample_record();
  const OwnedRecords records({record, record});
  const SlabMemory large(decoder.most_bytes(2, record.size()));
  const std::size_t needed = (*decoder.decode(records.views(), large.bytes()))->bytes;
  for (std::size_t size = 0; size <= needed; size += 8) {
    const SlabMemory slab(size);
    const auto decoded = decoder.decode(records.views(), slab.bytes());
    ASSERT_EQ(decoded.has_value(), size == needed) << size;
    if (!decoded) {
      ASSERT_THAT(decoded, test::Fails(Errc::batch_too_large));
    }
  }
}

TEST(ColumnsTest, RowsMayComeInAnyOrderAndRecordsMayGo) {
  ColumnDecoder decoder = decoder_of(kSample);
  Draws draws(8);
  std::vector<std::string> records;
  for (int i = 0; i < 20; ++i) {
    std::string record;
    do record = random_record(decoder.schema(), draws);
    while (!reference_columns(decoder.schema(), {record}));
    records.push_back(record);
  }
  const SlabMemory slab(decoder.fixed_bytes(20));
  ASSERT_TRUE(decoder.begin(20, slab.bytes()));
  MaybeRecords expected(20);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const std::uint32_t row = (i * 7 + 3) % 20;
    std::string gone = records[i];
    if (i == 5) {
      decoder.add_empty(row);
      continue;
    }
    ASSERT_TRUE(decoder.add(row, as_bytes(gone)));
    expected[row] = records[i];
    decoder.keep();
    std::fill(gone.begin(), gone.end(), '\xEE');
  }
  decoder.copy_row(4, 9);
  expected[9] = expected[4];
  // Elsewhere, with room for the rest.
  const SlabMemory larger(decoder.bytes());
  std::copy(slab.bytes().begin(), slab.bytes().end(), larger.bytes().begin());
  const auto finished = decoder.finish(larger.bytes());
  ASSERT_TRUE(finished);
  EXPECT_EQ((*finished)->bytes, larger.bytes().size());
  EXPECT_EQ(decoded_columns(decoder.schema(), **finished, larger.bytes()),
            reference_columns(decoder.schema(), expected));
}

TEST(ColumnsTest, CopiesOfADecoderAreIndependent) {
  ColumnDecoder one = decoder_of(kSample);
  const std::string record = sample_record();
  ASSERT_NO_FATAL_FAILURE(expect_same(one, {record}));
  ColumnDecoder two(one);
  ASSERT_NO_FATAL_FAILURE(expect_same(two, {record, record}));
  one = decoder_of("label:i8");
  ASSERT_NO_FATAL_FAILURE(expect_same(one, {record}));
  ASSERT_NO_FATAL_FAILURE(expect_same(two, {record}));
}

TEST(ColumnsTest, LongAndOddNamesAreFound) {
  for (const std::size_t size : {0u, 1u, 5u, 6u, 7u, 13u, 53u, 54u, 55u, 61u, 62u, 63u, 127u, 128u, 1024u}) {
    const std::string name(size, 'n');
    const Schema schema{
        {{.name = name, .dtype = Dtype::i32}, {.name = name + "x", .dtype = Dtype::i32, .fallback = "4"}}};
    if (!validate(schema)) continue;
    ColumnDecoder decoder = ColumnDecoder::make(schema).value();
    const std::string record = wire_record(wire_entry(name, ints({5})));
    const std::string both = wire_record(wire_entry(name + "x", ints({6})) + wire_entry(name, ints({5})));
    ASSERT_NO_FATAL_FAILURE(expect_same(decoder, {record, record, both, both, record}));
  }
}

TEST(ColumnsTest, RecordsOfManyFeaturesAreReadAllTheSame) {
  ColumnDecoder decoder = decoder_of("a:i32, b:i64=4");
  for (const int count : {1000, 8191, 8192, 8193, 20'000}) {
    std::string others;
    std::string again;
    for (int i = 0; i < count; ++i) {
      others += wire_entry("x" + std::to_string(i), ints({i}));
      again += wire_entry("a", ints({i}));
    }
    const std::string last = wire_entry("a", ints({5}));
    ASSERT_NO_FATAL_FAILURE(
        expect_same(decoder, {wire_record(others + last), wire_record(again + others), wire_record(last)}));
  }
}

TEST(ColumnsTest, AnEntryWithTwoNamesHasTheLastOne) {
  ColumnDecoder decoder = decoder_of("a:i8=1, b:i8=2");
  for (const std::string first : {"a", "b", "c"}) {
    for (const std::string last : {"a", "b", "c"}) {
      const std::string usual = wire_record(wire_entry(first, ints({5})));
      const std::string odd =
          wire_record(wire_field(1, wire_field(1, first) + wire_field(2, ints({6})) + wire_field(1, last)));
      const std::string early =
          wire_record(wire_field(1, wire_field(1, first) + wire_field(1, last) + wire_field(2, ints({7}))));
      ASSERT_NO_FATAL_FAILURE(expect_same(decoder, {usual, odd, usual, early, usual}));
    }
  }
}

TEST(ColumnsTest, MostBytesIsEnoughForTheWorstRecords) {
  // A varint of a byte becomes 8, a text without characters an offset.
  ColumnDecoder numbers = decoder_of("a:i64[*], b:u64[*]=[]");
  ASSERT_NO_FATAL_FAILURE(
      expect_same(numbers, {wire_record(wire_entry("a", wire_field(3, wire_field(1, std::string(10'000, '\1')))))}));
  ColumnDecoder texts = decoder_of("a:bytes[*]");
  ASSERT_NO_FATAL_FAILURE(
      expect_same(texts, {wire_record(wire_entry("a", bytes_list(std::vector<std::string>(10'000))))}));
  ColumnDecoder fallback = decoder_of("a:bytes=\"some text that is longer than the record\"");
  ASSERT_NO_FATAL_FAILURE(expect_same(fallback, {std::string(), std::string(), std::string()}));
}

}  // namespace
}  // namespace dovetail::format
