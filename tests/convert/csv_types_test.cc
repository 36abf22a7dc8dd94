// SPDX-License-Identifier: Apache-2.0
// Names and types of the columns of CSV files: the same over all files of a source, and over all
// sources of a conversion.
#include <filesystem>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/tfrecord_export.h>

#include "tests/convert/part_conversions.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

constexpr std::size_t kTooManyColumns = std::size_t{1} << 16;  // so many commas: one more

CsvColumn missing(const char* name, ColumnType type, bool empty = false) {
  return {.name = name, .type = type, .empty = empty, .missing = true};
}

class CsvTypesTest : public PartsTest {
 protected:
  static std::vector<std::string> texts_of(const std::string& dataset) {
    return example_texts(read_dataset(dataset).records);
  }
  Error error_of(const std::vector<std::string>& sources, const SourceOptions& source = {}) {
    ConvertOptions wanted = options(sources, 1);
    wanted.source = source;
    const auto converted = convert(out_, wanted);
    EXPECT_FALSE(converted);
    return converted ? Error() : converted.error();
  }
};

TEST_F(CsvTypesTest, AreThoseOfAllFilesOfAFolder) {
  put("csv/1.csv", "id,v,note,none\n1,1,,\n");
  put("csv/2.csv.gz", gzip("id,v,note,none\n2,2.5,,\n"));
  put("csv/3.csv", "id,v,note,none\n");
  put("csv/4.csv", "id,v,note,none\n3,,7,\n");
  RecordSource source = RecordSource::open(folder_ / "csv").value();
  EXPECT_THAT(source.columns(),
              ElementsAre(CsvColumn{"id", ColumnType::int64}, missing("v", ColumnType::real),
                          missing("note", ColumnType::int64), missing("none", ColumnType::bytes, true)));
  EXPECT_EQ(example_text(as_chars(*source.next().value())), "id=[1] none=<> note=[] v=(1)");
}

TEST_F(CsvTypesTest, AreThoseOfAllSources) {
  const std::vector<std::string> sources = {put("1.csv", "id,v,w,x\n1,1,,\n"), put("2.csv", "id,v,w,x\n2,2.5,5,a\n"),
                                            put("more/3.csv", "id,v,w,x\n3,3,,\n")};
  const auto report = convert(out_, options({sources[0], sources[1], folder_ / "more"}, 3)).value();
  for (const ConvertedSource& source : report.sources) {
    EXPECT_THAT(source.columns, ElementsAre(CsvColumn{"id", ColumnType::int64}, CsvColumn{"v", ColumnType::real},
                                            missing("w", ColumnType::int64), missing("x", ColumnType::bytes)));
  }
  EXPECT_EQ(to_text(Dataset::open(out_).value().schema().value()), "id:i64, v:f32=nan, w:i64=-1, x:bytes");
  EXPECT_THAT(texts_of(out_),
              ElementsAre("id=[1] v=(1) w=[] x=<>", "id=[2] v=(2.5) w=[5] x=<a>", "id=[3] v=(3) w=[] x=<>"));
  // A folder of the same files makes the same records.
  for (const std::string& source : sources) {
    const std::filesystem::path path(source);
    std::filesystem::create_directories(folder_ / "all");
    std::filesystem::copy(path, std::filesystem::path(folder_ / "all") / path.filename());
  }
  convert(folder_ / "folder", options({folder_ / "all"}, 3)).value();
  EXPECT_EQ(texts_of(folder_ / "folder"), texts_of(out_));
}

TEST_F(CsvTypesTest, AFractionRoundsNoWholeNumber) {
  const std::string ids = put("csv/1.csv", "id,n\n1700000001,16777216\n9007199254740993,-9223372036854775808\n");
  const std::string half = put("csv/2.csv", "id,n\n0.5,0.5\n");
  int outputs = 0;
  for (const std::vector<std::string>& sources : {std::vector{ids, half}, {half, ids}, {folder_ / "csv"}}) {
    ConvertOptions wanted = options(sources, 1);
    const std::string out = folder_ / ("out" + std::to_string(++outputs));
    const auto report = convert(out, wanted).value();
    EXPECT_EQ(report.sources.front().columns.front().type, ColumnType::bytes);
    EXPECT_THAT(texts_of(out), UnorderedElementsAre("id=<1700000001> n=(1.67772e+07)", HasSubstr("id=<90071992547409"),
                                                    "id=<0.5> n=(0.5)"));
  }
  // One file, with the fraction in front and behind.
  for (const char* const rows : {"v\n0.5\n16777217\n", "v\n16777217\n0.5\n", "v\n16777216\n-16777217\n0.5\n"}) {
    EXPECT_EQ(RecordSource::open(put("a.csv", rows)).value().columns().front().type, ColumnType::bytes) << rows;
  }
  EXPECT_EQ(RecordSource::open(put("a.csv", "v\n16777217\n")).value().columns().front().type, ColumnType::int64);
  EXPECT_EQ(RecordSource::open(put("a.csv", "v\n0\n0.5\n")).value().columns().front().type, ColumnType::real);
}

TEST_F(CsvTypesTest, AreTheSameInEveryPart) {
  const std::string first = put("1.csv", "v\n" + std::string(500, '1') + "x\n1\n2\n3\n4\n");
  const std::string second = put("2.csv", "v\n1\n2\n3\n4\n");
  const ConvertOptions wanted = options({second, first}, 4);
  convert(folder_ / "whole", wanted).value();
  for (const std::uint32_t part : {1u, 0u}) ASSERT_TRUE(run_part(wanted, part, 2));
  ASSERT_TRUE(merge(out_));
  EXPECT_EQ(files_below(out_), files_below(folder_ / "whole"));
  EXPECT_EQ(texts_of(out_).front(), "v=<1>");
}

TEST_F(CsvTypesTest, HoldForAnExportToo) {
  TfrecordExportOptions wanted;
  wanted.sources = {put("1.csv", "v\n1\n"), put("2.csv", "v\n0.5\n")};
  ASSERT_TRUE(export_tfrecords(folder_ / "out.tfrecord", wanted));
  EXPECT_EQ(example_text(read_source(folder_ / "out.tfrecord").value().front()), "v=(1)");
}

TEST_F(CsvTypesTest, OtherColumnsAreRefusedWithBothFilesAndTheDifference) {
  const std::string first = put("csv/1.csv", "a,b\n1,x\n");
  struct {
    const char* header;
    const char* says;
  } const kCases[] = {{"a,c", "it lacks \"b\", and has \"c\""},
                      {"a,b,c,d,e,f", "it also has \"c\", \"d\", \"e\" and 1 more"},
                      {"b", "it lacks \"a\""}};
  for (const auto& [header, says] : kCases) {
    const std::string second = put("csv/2.csv", std::string(header) + "\n");
    for (const std::vector<std::string>& sources : {std::vector{first, second}, {folder_ / "csv"}}) {
      EXPECT_THAT(error_of(sources),
                  Fails(Errc::malformed_input).in(second).saying("the columns are not those of " + first).saying(says));
    }
  }
  EXPECT_THAT(error_of({first, put("3.csv", "b,a,b\n")}), Fails().saying("two columns are named \"b\""));
  const SourceOptions typed{.csv = {.types = {{"b", ColumnType::bytes}}}};
  EXPECT_EQ(error_of({first, folder_ / "csv/2.csv"}, typed).path(), folder_ / "csv/2.csv");
  const SourceOptions bare{.csv = {.delimiter = ',', .header = false}};
  EXPECT_THAT(error_of({first, put("4.csv", "1,2,3\n")}, bare).detail(), HasSubstr("also has \"c2\""));
}

TEST_F(CsvTypesTest, ColumnsInAnotherOrderAreMatchedByTheirNames) {
  const std::string first = put("csv/1.csv", "id,city,price\n1,Ulm,9\n");
  const std::string second = put("csv/2.csv", "price,id,city\n0.5,2,Bern\n,3,Rome\n");
  for (const std::vector<std::string>& sources : {std::vector{first, second}, {folder_ / "csv"}}) {
    const std::string target = out_ + std::to_string(sources.size());
    const auto report = convert(target, options(sources, 1)).value();
    EXPECT_THAT(report.sources.back().columns,
                ElementsAre(CsvColumn{"id", ColumnType::int64}, CsvColumn{"city", ColumnType::bytes},
                            missing("price", ColumnType::real)));
    EXPECT_THAT(texts_of(target), ElementsAre("city=<Ulm> id=[1] price=(9)", "city=<Bern> id=[2] price=(0.5)",
                                              "city=<Rome> id=[3] price=()"));
  }
  put("csv/2.csv", "price,id,city\n0.5,x,Bern\n");
  const SourceOptions typed{
      .csv = {.types = {{"id", ColumnType::int64}, {"city", ColumnType::bytes}, {"price", ColumnType::real}}}};
  EXPECT_THAT(read_source(folder_ / "csv", typed).error(), Fails().saying("column 2, \"id\": \"x\" is not"));
}

TEST_F(CsvTypesTest, AFileOfOtherColumnsIsPassedOverWhereAsked) {
  put("csv/1.csv", "a,b\n1,x\n");
  put("csv/2.csv", "c,a\nz,3\n");
  put("csv/3.csv", "a,b\n2,x\n");
  ConvertOptions wanted = options({folder_ / "csv"}, 1);
  wanted.source.on_error = OnError::skip;
  const ConvertReport report = convert(out_, wanted).value();
  EXPECT_THAT(texts_of(out_), ElementsAre("a=[1] b=<x>", "a=[2] b=<x>"));
  EXPECT_EQ(report.skipped, 1u);
  ASSERT_EQ(report.first_skipped.size(), 1u);
  EXPECT_EQ(report.first_skipped.front().error.path(), folder_ / "csv/2.csv");
}

TEST_F(CsvTypesTest, WithoutAHeaderABadFirstRowIsOneRow) {
  const std::string wide(kTooManyColumns, ',');
  put("csv/0.csv", wide + "\n1,2\n");
  put("csv/1.csv", "1,2\n");
  put("csv/2.csv", "x\n3,word\n");
  put("csv/3.csv", "\xFF,1\nword,4\n");
  put("csv/4.csv", wide + "\n5,6\n");
  SourceOptions options{.format = SourceFormat::csv, .csv = {.header = false}, .on_error = OnError::skip};
  RecordSource source = RecordSource::open(folder_ / "csv", options).value();
  const std::string reason = "\"word\" in line 2 of " + std::string(folder_ / "csv");
  EXPECT_THAT(source.columns(), ElementsAre(CsvColumn{.name = "c0", .reason = reason + "/3.csv"},
                                            CsvColumn{.name = "c1", .reason = reason + "/2.csv"}));
  EXPECT_EQ(read_source(std::move(source)).value().size(), 5u);
}

TEST_F(CsvTypesTest, BytesAfterNumbersHaveAReason) {
  const std::string ints = put("ints.csv", "v\n16777217\n");
  const std::string long_text(100, 'x');
  const struct {
    std::string rows;
    std::string reason;  // "%" is the file
  } kCases[] = {
      {"v\nx\n1\n", ""},
      {"v\nNA\nx\n", ""},
      {"v\n1\nNA\n\"two\nlines\"\n3\n", "\"two\nlines\" in line 4 of %"},
      {"v\n1\n007\n", "\"007\" in line 3 of %"},
      {"v\n1\n" + long_text + "\n", '"' + long_text.substr(0, 40) + "...\" in line 3 of %"},
      {"v\n16777217\n0.5\n", "\"0.5\" in line 3 of % (a float would round whole numbers of the column)"},
  };
  for (const auto& [rows, reason] : kCases) {
    const std::string path = put("a.csv", rows);
    std::string expected = reason;
    if (const std::size_t at = expected.find('%'); at != std::string::npos) expected.replace(at, 1, path);
    const CsvColumn column{.name = "v", .missing = rows.find("NA") != std::string::npos, .reason = expected};
    EXPECT_THAT(RecordSource::open(path).value().columns(), ElementsAre(column)) << rows;
  }
  const auto reason_of = [&](const std::vector<std::string>& sources) {
    ConvertOptions wanted = options(sources, 1);
    wanted.writer.shard.overwrite = true;
    return convert(out_, wanted).value().sources.front().columns.front().reason;
  };
  const std::string texts = put("texts.csv", "v\nx\n");
  const std::string real = put("real.csv", "v\n0.5\n");
  const std::string both = put("both.csv", "v\n1\nx\n");
  EXPECT_EQ(reason_of({ints, texts}), "the values in " + texts);
  EXPECT_EQ(reason_of({real, ints}), "the values in " + ints);
  EXPECT_EQ(reason_of({ints, both, texts}), "\"x\" in line 3 of " + both);
  EXPECT_EQ(reason_of({texts, both}), "") << "texts anyway";
}

TEST_F(CsvTypesTest, RowsThatStayRawHaveNone) {
  const std::string text = "a\n1\n" + std::string(std::size_t{5} << 20, '2') + "\n";
  const std::string first = put("csv/1.csv", text);
  put("csv/2.csv", text);
  int reads = 0;
  SourceOptions options{.records = RecordForm::raw};
  options.cancelled = [&reads] { return ++reads < 0; };
  ASSERT_TRUE(RecordSource::open(folder_ / "csv", options));
  EXPECT_LE(reads, 2) << "the first rows";
  put("csv/2.csv", "b\n1\n");
  EXPECT_THAT(RecordSource::open(folder_ / "csv", options), Fails().saying("the columns are not those of " + first));
  put("csv/1.csv", "a,b\n1,2\n");
  put("csv/2.csv", "b,a\n1,2\n");
  EXPECT_THAT(RecordSource::open(folder_ / "csv", options),
              Fails().saying("column 1 is \"b\", but \"a\" there; raw rows need one order"));
}

TEST_F(CsvTypesTest, MessagesCutLongNames) {
  const std::string name(std::size_t{1} << 20, 'n');
  const std::string path = put("a.csv", name + ",b\nword,1\n");
  const SourceOptions typed{.csv = {.types = {{name, ColumnType::real}}}};
  const Error wrong = read_source(path, typed).error();
  EXPECT_THAT(wrong.detail(), AllOf(HasSubstr("\"word\" is not of type real"), Not(HasSubstr("--csv-type"))));
  EXPECT_LT(wrong.detail().size(), 500u);
  const Error unknown = RecordSource::open(path, {.csv = {.types = {{name + "x", ColumnType::real}}}}).error();
  EXPECT_THAT(unknown.detail(), AllOf(HasSubstr("no column is named \"nnn"), HasSubstr("the columns are \"nnn")));
  EXPECT_LT(unknown.detail().size(), 500u);
}

TEST_F(CsvTypesTest, WhatCannotBeReadHasNoSay) {
  const std::string path = put("a.csv", "a,b\n1,2\nx\n3,4\n" + std::string(90, '5') + ",6\n7,8\n");
  RecordSource source = RecordSource::open(path, {.max_record_bytes = 50, .on_error = OnError::skip}).value();
  EXPECT_THAT(source.columns(), ElementsAre(CsvColumn{"a", ColumnType::int64}, CsvColumn{"b", ColumnType::int64}));
  // Where it is the end, records come up to there.
  EXPECT_TRUE(RecordSource::open(path).value().next().value());
  put("empty/1.csv", "");
  put("empty/2.csv", "a\n1\n");
  EXPECT_THAT(read_source(folder_ / "empty", {.format = SourceFormat::csv}).value().size(), 1u);
}

TEST_F(CsvTypesTest, AreFoundWithoutReadingWhatCannotChangeThem) {
  const std::string path = put("a.csv", "a,b\n1,x\n" + std::string(std::size_t{5} << 20, '\n'));
  int reads = 0;
  SourceOptions options{.csv = {.types = {{"a", ColumnType::real}, {"b", ColumnType::bytes}}}};
  options.cancelled = [&reads] { return ++reads < 0; };
  ASSERT_TRUE(RecordSource::open(path, options));
  EXPECT_EQ(reads, 1);
  options.csv.types.erase("b");
  reads = 0;
  ASSERT_TRUE(RecordSource::open(path, options));
  EXPECT_EQ(reads, 1) << "what is bytes stays bytes";
  options.csv.types.clear();
  reads = 0;
  ASSERT_TRUE(RecordSource::open(path, options));
  EXPECT_GT(reads, 5);
  EXPECT_THAT(RecordSource::open(path, {.cancelled = [&reads] { return --reads == 0; }}), Fails(ErrorKind::cancelled));
}

TEST_F(CsvTypesTest, TheSearchForThemCanBeCancelled) {
  ConvertOptions wanted = options({put("a.csv", "a\n" + std::string(std::size_t{5} << 20, '1') + "\n1\n")}, 1);
  int asked = 0;
  wanted.progress = [&asked](const ConvertProgress&) { return ++asked < 3; };
  EXPECT_THAT(convert(out_, wanted), Fails(ErrorKind::cancelled));
  EXPECT_EQ(asked, 3);
  EXPECT_FALSE(std::filesystem::exists(out_));
}

}  // namespace
}  // namespace dovetail::test
