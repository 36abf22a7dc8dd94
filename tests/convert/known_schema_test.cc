// SPDX-License-Identifier: Apache-2.0
// Sources that know the shapes of their records: the schema they give decodes every record.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/columns.h>

#include "sources/mds_array.h"
#include "tests/convert/mds_files.h"
#include "tests/convert/source_fixture.h"

namespace dovetail::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// All records of a source as one batch, by the schema of the source.
class Decoded {
 public:
  explicit Decoded(const std::string& path, const SourceOptions& options = {}) {
    RecordSource source = RecordSource::open(path, options).value();
    schema_ = source.schema().value();
    const Records records = read_source(path, options).value();
    std::vector<ByteView> rows;
    for (const std::string& record : records) rows.push_back(as_bytes(record));
    ColumnDecoder decoder = ColumnDecoder::make(schema_).value();
    slab_.resize(decoder.most_bytes(static_cast<std::uint32_t>(rows.size()), 1000) / 8 + 1);
    layout_ = *decoder.decode(rows, std::as_writable_bytes(std::span(slab_))).value();
  }

  std::string schema() const { return to_text(schema_); }
  ColumnView column(std::size_t i) const { return view_column(schema_, layout_, std::as_bytes(std::span(slab_)), i); }

 private:
  Schema schema_;
  std::vector<std::uint64_t> slab_;
  ColumnLayout layout_;
};

using KnownSchemaTest = SourceTest;

TEST_F(KnownSchemaTest, HasImagesAndLabelsOfIdx) {
  put("a-images-idx3-ubyte", idx(8, {2, 2, 3}, "abcdefghijkl"));
  put("a-labels-idx1-ubyte", idx(8, {2}, "\5\7"));
  const Decoded decoded(folder_.path());
  EXPECT_EQ(decoded.schema(), "image:u8[2,3], label:i64");
  EXPECT_EQ(as_chars(decoded.column(0).values), "abcdefghijkl");
  EXPECT_THAT(decoded.column(1).as<std::int64_t>(), ElementsAre(5, 7));
}

TEST_F(KnownSchemaTest, HasColumnsOfCsv) {
  const Decoded decoded(put("a.csv", "id,price,name\n7,0.5,a\n8,,\n"));
  EXPECT_EQ(decoded.schema(), "id:i64, price:f32=nan, name:bytes");
  EXPECT_THAT(decoded.column(0).as<std::int64_t>(), ElementsAre(7, 8));
  EXPECT_THAT(decoded.column(1).as<float>(), ElementsAre(0.5F, ::testing::IsNan()));
  EXPECT_FALSE(RecordSource::open(folder_ / "a.csv", {.records = RecordForm::raw}).value().schema());
}

TEST_F(KnownSchemaTest, ReadsRowsOfCsvWithoutAWholeNumber) {
  const Decoded decoded(put("a.csv", "id,age,change\n7,,-3\n8,41,NA\n"));
  EXPECT_EQ(decoded.schema(), "id:i64, age:i64=-1, change:i64=0");
  EXPECT_THAT(decoded.column(1).as<std::int64_t>(), ElementsAre(-1, 41));
  EXPECT_THAT(decoded.column(2).as<std::int64_t>(), ElementsAre(-3, 0));
  // Nothing is known of values whose type is given.
  const Decoded given(folder_ / "a.csv", {.csv = {.types = {{"age", ColumnType::int64}}}});
  EXPECT_EQ(given.schema(), "id:i64, age:i64=-1, change:i64=0");
}

TEST_F(KnownSchemaTest, HasOtherTypesOfIdx) {
  put("a", idx(0x0B, {2, 2}, std::string("\0\1\xFF\xFE\0\3\1\0", 8)));
  const Decoded decoded(folder_ / "a");
  EXPECT_EQ(decoded.schema(), "image:i16[2]");
  EXPECT_THAT(decoded.column(0).as<std::int16_t>(), ElementsAre(1, -2, 3, 256));
  put("b", idx(0x0D, {1}, std::string("\x3F\xC0\0\0", 4)));
  const Decoded real(folder_ / "b");
  EXPECT_EQ(real.schema(), "label:f32");
  EXPECT_THAT(real.column(0).as<float>(), ElementsAre(1.5f));
}

TEST_F(KnownSchemaTest, HasNoneWhereFilesOrFormsDiffer) {
  put("a-images-idx3-ubyte", idx(8, {1, 2, 2}, "abcd"));
  put("b-images-idx3-ubyte", idx(8, {1, 2, 3}, "abcdef"));
  EXPECT_FALSE(RecordSource::open(folder_.path()).value().schema());
  EXPECT_TRUE(RecordSource::open(folder_ / "a-images-idx3-ubyte").value().schema());
  EXPECT_FALSE(RecordSource::open(folder_ / "a-images-idx3-ubyte", {.records = RecordForm::raw}).value().schema());
}

TEST_F(KnownSchemaTest, HasTheColumnsOfMds) {
  const std::string columns =
      R"("column_names":["id","name","score","vector"],"column_encodings":["int","str","float32","ndarray:int16:3"],)"
      R"("column_sizes":[8,null,4,6])";
  const auto sample = [](std::int64_t id, const std::string& name, std::uint32_t score, const std::string& vector) {
    return le(name.size(), 4) + le(static_cast<std::uint64_t>(id), 8) + name + le(score, 4) + vector;
  };
  const std::string shard = mds_shard({sample(-1, "one", 0x3F800000, std::string("\1\0\2\0\3\0", 6)),
                                       sample(2, "", 0x40000000, std::string("\xFF\xFF\0\0\0\1", 6))},
                                      columns);
  put("shard.00000.mds", shard);
  put("index.json", mds_index(mds_entry("shard.00000.mds", shard.size(), 2, "\"zip_data\":null", columns)));
  const Decoded decoded(folder_.path());
  EXPECT_EQ(decoded.schema(), "id:i64, name:bytes, score:f32, vector:i16[3]");
  EXPECT_THAT(decoded.column(0).as<std::int64_t>(), ElementsAre(-1, 2));
  EXPECT_EQ(decoded.column(1).text(0), "one");
  EXPECT_EQ(decoded.column(1).text(1), "");
  EXPECT_THAT(decoded.column(2).as<float>(), ElementsAre(1.f, 2.f));
  EXPECT_THAT(decoded.column(3).as<std::int16_t>(), ElementsAre(1, 2, 3, -1, 0, 256));
}

TEST_F(KnownSchemaTest, HasTheElementsOfMdsArraysThatStoreTheirShapes) {
  const std::string columns =
      R"("column_names":["image","tokens"],"column_encodings":["ndarray:uint8","ndarray:uint16"],)"
      R"("column_sizes":[null,null])";
  const auto sample = [](const std::string& image, const std::string& tokens) {
    return le(image.size(), 4) + le(tokens.size(), 4) + image + tokens;
  };
  const std::string shard = mds_shard({sample(std::string("\x08\2\1ab"), std::string("\x05\2\0\1\0\0\1", 7)),
                                       sample(std::string("\x0c\1\1\3abc"), std::string("\x04\1\7\0", 4))},
                                      columns);
  put("shard.00000.mds", shard);
  put("index.json", mds_index(mds_entry("shard.00000.mds", shard.size(), 2, "\"zip_data\":null", columns)));
  const Decoded decoded(folder_.path());
  EXPECT_EQ(decoded.schema(), "image:u8[*], tokens:u16[*]");
  EXPECT_THAT(decoded.column(0).as<std::uint8_t>(), ElementsAre('a', 'b', 'a', 'b', 'c'));
  EXPECT_THAT(decoded.column(1).as<std::uint16_t>(), ElementsAre(1, 256, 7));
  const Records records = read_source(folder_.path()).value();
  EXPECT_NE(records.at(0).find("image.shape"), std::string::npos) << "two dimensions";
  EXPECT_EQ(records.at(0).find("tokens.shape"), std::string::npos) << "one dimension";
}

TEST(MdsArrayTest, KeepsItsBytesBesideAColumnOfTheNameOfItsShape) {
  const auto column = [](const char* name, const char* encoding) {
    detail::MdsColumn made;
    made.name = name;
    made.encoding = encoding;
    return made;
  };
  const auto types =
      detail::mds_array_types({column("x", "ndarray:int32"), column("x.shape", "int"), column("y", "ndarray:int32")});
  EXPECT_FALSE(types[0].has_value());
  EXPECT_FALSE(types[1].has_value());
  EXPECT_TRUE(types[2].has_value());
}

TEST(MdsArrayTest, RefusesWhatItsShapeContradicts) {
  const auto elements = [](const std::string& value) -> std::string {
    const auto array = detail::split_mds_array(as_bytes(value), Dtype::u16);
    return array ? std::string(as_chars(array->elements)) : array.error().detail();
  };
  EXPECT_EQ(elements(std::string("\x04\2abcd")), "abcd");
  EXPECT_EQ(elements(std::string("\x00"
                                 "ab",
                                 3)),
            "ab")
      << "no dimension: one element";
  EXPECT_EQ(elements(std::string("\x04\0", 2)), "");
  EXPECT_EQ(elements(""), "an array has no shape");
  EXPECT_EQ(elements("\x04"), "an array ends in its shape");
  EXPECT_EQ(elements(std::string("\x05\2", 2)), "an array ends in its shape");
  for (const std::string& value :
       {std::string("\x04\2abc"), std::string("\x04\2abcde"), std::string("\x04\1abcd"), std::string("\x04\0a", 3),
        "\x0b" + std::string(16, '\xFF') + "ab", "\x0b" + le(std::uint64_t{1} << 63, 8) + le(2, 8)}) {
    EXPECT_THAT(elements(value), HasSubstr("which its shape contradicts")) << value.size();
  }
}

TEST_F(KnownSchemaTest, HasKeysAndLabelsOfFolders) {
  put("data/cat/1", "meow");
  put("data/dog/1", "");
  const Decoded labelled(folder_ / "data", {.labels = true});
  EXPECT_EQ(labelled.schema(), "__key__:bytes, class:bytes, label:i64, data:bytes");
  EXPECT_EQ(labelled.column(0).text(1), "dog/1");
  EXPECT_EQ(labelled.column(1).text(0), "cat");
  EXPECT_THAT(labelled.column(2).as<std::int64_t>(), ElementsAre(0, 1));
  EXPECT_EQ(labelled.column(3).text(0), "meow");
  EXPECT_EQ(Decoded(folder_ / "data", {}).schema(), "__key__:bytes, data:bytes");
  EXPECT_FALSE(RecordSource::open(folder_ / "data", {.records = RecordForm::raw}).value().schema());
}

}  // namespace
}  // namespace dovetail::test
