// SPDX-License-Identifier: Apache-2.0
// What a conversion checks against the schema that it is given.
#include <string>
#include <vector>

#include "tests/convert/conversions.h"
#include "tests/convert/mds_files.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

class GivenSchemaTest : public ConversionTest {
 protected:
  ConvertOptions with_schema(const std::string& source, const std::string& schema) const {
    ConvertOptions wanted = options({source}, 1);
    wanted.source.records = RecordForm::example;
    wanted.writer.shard.schema = parse_schema(schema).value();
    wanted.writer.shard.overwrite = true;
    return wanted;
  }
};

TEST_F(GivenSchemaTest, StringsOfJsonAreNoNumbers) {
  struct {
    const char* line;
    const char* schema;
    const char* why;
  } const kCases[] = {
      {R"({"label": "1"})", "label:u8", R"(line 2: "label" is "1", a string; the schema wants u8)"},
      {R"({"date": "20240100"})", "date:i64", R"(line 2: "date" is "20240100", a string; the schema wants i64)"},
      {R"({"at": {"x": "abcd"}})", "at.x:f32=nan", R"(line 2: "at.x" is "abcd", a string; the schema wants f32)"},
      {R"({"x": ["a", "b"]})", "x:u8[*]", R"(line 2: "x" is "a", a string; the schema wants u8)"},
      {R"({"x": [[1, 2], [3, 4]]})", "x:u8[13]",
       R"(line 2: "x" is "[[1,2],[3,4]]", a list of lists or of several kinds, or a string; the schema wants u8)"},
      {R"({"x": 18446744073709551615})", "x:u8[20]",
       R"(line 2: "x" is "18446744073709551615", a number beyond int64, or a string; the schema wants u8)"},
  };
  for (const auto& [line, schema, why] : kCases) {
    ConvertOptions wanted = with_schema(put("a.jsonl", std::string("{}\n") + line + "\n{}\n"), schema);
    EXPECT_THAT(convert(out_, wanted), Fails(Errc::malformed_input).in(wanted.sources.front()).at(3u).saying(why));
    wanted.source.on_error = OnError::skip;
    const auto skipped = convert(out_, wanted);
    ASSERT_TRUE(skipped) << skipped.error().to_string();
    EXPECT_EQ(skipped->records, 2u);
    EXPECT_EQ(skipped->skipped, 1u);
  }
}

TEST_F(GivenSchemaTest, NumbersAndTextsOfJsonFillTheirColumns) {
  const std::string lines = R"({"label": 1, "weight": 0.5, "text": "1", "more": "12345678"})";
  ASSERT_TRUE(convert(out_, with_schema(put("a.jsonl", lines), "text:bytes, label:u8, weight:f64")));
  EXPECT_EQ(example_text(read_dataset(out_).records[0]), "label=[1] more=<12345678> text=<1> weight=(0.5)");
}

TEST_F(GivenSchemaTest, TextsOfCsvAreNoNumbers) {
  const std::string csv = put("a.csv", "label,y\n1,1\n?,1\n");
  ConvertOptions wanted = with_schema(csv, "label:u8, y:u8");
  wanted.source.records = RecordForm::automatic;
  EXPECT_THAT(convert(out_, wanted), Fails(Errc::invalid_option)
                                         .in(csv)
                                         .saying("column \"label\" holds texts, because of \"?\" in line 3 of " + csv +
                                                 ", but the schema wants u8"));
  wanted.source.csv.nulls = {"?"};
  EXPECT_TRUE(convert(out_, wanted));
}

TEST_F(GivenSchemaTest, ColumnsOfCsvWithoutValuesTakeAnyNumbers) {
  ConvertOptions wanted = with_schema(put("a.csv", "a,b\n1,\n2,NA\n"), "a:i64, b:f32=nan");
  wanted.source.records = RecordForm::automatic;
  ASSERT_TRUE(convert(out_, wanted));
  EXPECT_EQ(example_text(read_dataset(out_).records[0]), "a=[1] b=[]");
}

TEST_F(GivenSchemaTest, TextsOfMdsAreNoNumbers) {
  const std::string columns =
      R"("column_names":["n","raw"],"column_encodings":["str_int","bytes"],"column_sizes":[null,null])";
  const std::string shard = mds_shard({le(8, 4) + le(8, 4) + "1234567812345678"}, columns);
  put("mds/shard.00000.mds", shard);
  put("mds/index.json", mds_index(mds_entry("shard.00000.mds", shard.size(), 1, "\"zip_data\":null", columns)));
  ConvertOptions wanted = with_schema(folder_ / "mds", "n:i64");
  wanted.source.records = RecordForm::automatic;
  EXPECT_THAT(convert(out_, wanted),
              Fails(Errc::invalid_option).saying("holds values of type str_int, but the schema"));
  wanted.writer.shard.schema = parse_schema("raw:i64").value();
  EXPECT_TRUE(convert(out_, wanted)) << "bytes are values as they are";
}

TEST_F(GivenSchemaTest, ArraysOfMdsHaveTheirOwnType) {
  const std::string columns = R"("column_names":["t"],"column_encodings":["ndarray:int16"],"column_sizes":[null])";
  const std::string shard = mds_shard({le(6, 4) + std::string("\4\2\1\0\2\0", 6)}, columns);
  put("mds/shard.00000.mds", shard);
  put("mds/index.json", mds_index(mds_entry("shard.00000.mds", shard.size(), 1, "\"zip_data\":null", columns)));
  ConvertOptions wanted = with_schema(folder_ / "mds", "t:i32[*]");
  wanted.source.records = RecordForm::automatic;
  EXPECT_THAT(convert(out_, wanted),
              Fails(Errc::invalid_option).saying("type ndarray:int16, but the schema wants i32"));
  wanted.writer.shard.schema = parse_schema("t:i16[*]").value();
  EXPECT_TRUE(convert(out_, wanted));
}

TEST_F(GivenSchemaTest, TextMembersOfTarsAreNoNumbers) {
  for (const char* const name : {"cls", "cls2", "x.index", "inx", "class", "count", "id", "txt", "text", "json"}) {
    const std::string tar = tar_bytes({{std::string("a.") + name, "seven   "}});
    const std::string schema = std::string(name) + ":i64";
    EXPECT_THAT(convert(out_, with_schema(put("a.tar", tar), schema)),
                Fails(Errc::malformed_input)
                    .saying("key \"a\": \"" + std::string(name) + R"(" is "seven   ", a text; the schema wants i64)"))
        << name;
  }
  ASSERT_TRUE(
      convert(out_, with_schema(put("a.tar", tar_bytes({{"a.cls", "7"}, {"a.raw", "abcd"}})), "cls:i64, raw:u8[4]")))
      << "bytes of other members are values as they are";
}

}  // namespace
}  // namespace dovetail::test
