// SPDX-License-Identifier: Apache-2.0
// CSV: quotes, types of columns, rows that do not fit, and files of one source that differ.
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sources/csv_layout.h"
#include "sources/csv_scanner.h"
#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

class CsvSourceTest : public test::SourceFileTest {
 protected:
  CsvSourceTest() : SourceFileTest("input.csv") {}

  std::vector<std::string> read(std::string_view bytes, const SourceOptions& options = {}) {
    return read_texts(put(bytes), options);
  }
  Error error_of(std::string_view bytes, const SourceOptions& options = {}) {
    return test::error_of(put(bytes), options);
  }

  const SourceOptions raw_{.records = RecordForm::raw};
};

TEST_F(CsvSourceTest, MakesAFeatureOfEachColumn) {
  EXPECT_THAT(read("name,count,share\nann,3,0.5\nbob,-4,2\n"),
              ElementsAre("count=[3] name=<ann> share=(0.5)", "count=[-4] name=<bob> share=(2)"));
  RecordSource source = RecordSource::open(path_).value();
  EXPECT_EQ(source.format(), SourceFormat::csv);
  EXPECT_TRUE(source.makes_examples());
  ASSERT_TRUE(source.next().value());
  EXPECT_EQ(source.offset(), 17u);
}

TEST_F(CsvSourceTest, ReadsQuotesNewlinesAndMarks) {
  EXPECT_THAT(read("\xEF\xBB\xBF"
                   "a,\"b\"\r\n\"x, y\",\"two\r\nlines\"\r\n\"say \"\"hi\"\"\",in\"side\r\n\r\n\"\",last"),
              ElementsAre("a=<x, y> b=<two\r\nlines>", "a=<say \"hi\"> b=<in\"side>", "a=<> b=<last>"));
  EXPECT_EQ(RecordSource::open(path_).value().files(), 1u);
}

TEST_F(CsvSourceTest, GivesRowsAsTheyAreInTheRawForm) {
  EXPECT_THAT(read_source(put("a,b\n\"x, y\",1\r\n2,3"), raw_).value(), ElementsAre("\"x, y\",1", "2,3"));
  EXPECT_TRUE(error_of("a,b\n1\n", raw_).is(Errc::malformed_input)) << "it is checked all the same";
}

TEST_F(CsvSourceTest, FindsTypesThatHoldAllValues) {
  EXPECT_THAT(read("i,f,zip,big,none,mixed,e\n1,1e3,012,9999999999999999999,,1,inf\n,-.5,3,1,,x,1\n"),
              ElementsAre("big=<9999999999999999999> e=(inf) f=(1000) i=[1] mixed=<1> none=<> zip=<012>",
                          "big=<1> e=(1) f=(-0.5) i=[] mixed=<x> none=<> zip=<3>"));
  std::string text = "a,b,c\n";
  for (int i = 0; i < 200'000; ++i) text += "1,2,3\n";
  put(text + "2.5,x,4\n");
  EXPECT_THAT(RecordSource::open(path_).value().columns(),
              ElementsAre(CsvColumn{"a", ColumnType::real},
                          CsvColumn{.name = "b", .reason = "\"x\" in line 200002 of " + path_},
                          CsvColumn{"c", ColumnType::int64}));
}

TEST_F(CsvSourceTest, WordsForMissingNumbersChangeNoType) {
  EXPECT_THAT(read("i,f,text,only,nan\nNA,n/a,NA,null,1\n1,0.5,x,,nan\n\"#N/A\",None,,NULL,N/A\n"),
              ElementsAre("f=() i=[] nan=(1) only=<null> text=<NA>", "f=(0.5) i=[1] nan=(nan) only=<> text=<x>",
                          "f=() i=[] nan=() only=<NULL> text=<>"));
  EXPECT_THAT(RecordSource::open(path_).value().columns()[0],
              (CsvColumn{.name = "i", .type = ColumnType::int64, .missing = true}));
}

TEST_F(CsvSourceTest, TakesOtherWordsForMissingNumbers) {
  const SourceOptions options{.csv = {.nulls = {"?", "-999"}}};
  EXPECT_THAT(read("a,b,c\n?,-999,NA\n1,,-999\n", options), ElementsAre("a=[] b=<-999> c=<NA>", "a=[1] b=<> c=<-999>"));
  EXPECT_THAT(read("a\nNA\n1\n", {.csv = {.nulls = {}}}), ElementsAre("a=<NA>", "a=<1>"));
  const SourceOptions typed{.csv = {.types = {{"a", ColumnType::real}}}};
  EXPECT_THAT(read("a\nNA\n", typed), ElementsAre("a=()"));
  EXPECT_THAT(error_of("a\n?\n", typed).detail(),
              HasSubstr("give --csv-type a=bytes to accept it, or --csv-null ? if it means a missing number"));
}

TEST_F(CsvSourceTest, TakesTypesThatAreGiven) {
  const SourceOptions options{.csv = {.types = {{"a", ColumnType::bytes}, {"b", ColumnType::real}}}};
  EXPECT_THAT(read("a,b,c\n1,2,3\n", options), ElementsAre("a=<1> b=(2) c=[3]"));
  EXPECT_THAT(error_of("a,b\n1,x\n", options).detail(),
              HasSubstr("line 2: column 2, \"b\": \"x\" is not of type real; give --csv-type b=bytes to accept it"));
  const SourceOptions whole{.csv = {.types = {{"b", ColumnType::int64}}}};
  EXPECT_THAT(error_of("a,b\n1,2.5\n", whole).detail(), HasSubstr("give --csv-type b=real"));
  EXPECT_THAT(error_of("a,c\n1,2\n", options), Fails(Errc::invalid_option).saying("\"b\""));
}

TEST_F(CsvSourceTest, ReadsOtherDelimitersAndFilesWithoutAHeader) {
  const SourceOptions options{.csv = {.delimiter = ';', .header = false}};
  EXPECT_THAT(read("1;x,y\n2;z\n", options), ElementsAre("c0=[1] c1=<x,y>", "c0=[2] c1=<z>"));
  write_file(folder_ / "t.tsv", "a\tb\n1\tx,y\n");
  EXPECT_EQ(example_text(read_source(folder_ / "t.tsv").value().front()), "a=[1] b=<x,y>");
  EXPECT_TRUE(error_of("a\n", {.csv = {.delimiter = '"'}}).is(Errc::invalid_option));
}

TEST_F(CsvSourceTest, AQuotedDelimiterInTheOnlyNameIsNoOther) {
  EXPECT_THAT(read("\"City, State\"\n\"Ulm, BW\"\n"), ElementsAre("City, State=<Ulm, BW>"));
  EXPECT_THAT(error_of("\"City, State; Zip\"\nx\n"),
              Fails(Errc::invalid_option)
                  .saying("give --csv-delimiter ';' if that separates the columns, or --csv-delimiter ','"));
  EXPECT_THAT(read("\"City, State; Zip\"\nx\n", {.csv = {.delimiter = ','}}), ElementsAre("City, State; Zip=<x>"));
}

TEST_F(CsvSourceTest, NamesLineAndReasonOfRowsThatDoNotFit) {
  struct {
    const char* row;
    const char* says;
  } const kCases[] = {{"1", "1 field for 2"},
                      {"1,2,3", "3 fields"},
                      {"\"1\"x,2", "closing quote"},
                      {"1,\xFF\xFE", "column 2 is not UTF-8"},
                      {"1,\"\xC0\x80\"", "not UTF-8"}};
  for (const auto& [row, says] : kCases) {
    EXPECT_THAT(error_of(std::string("a,b\n\"x\ny\",1\n") + row + "\n3,4\n"),
                Fails(Errc::malformed_input).in(path_).at(12u).saying("line 4: ").saying(says))
        << "a row may be several lines";
  }
  EXPECT_THAT(error_of("a,b\n1,2\n3,\"4\n5,6\n"), Fails(Errc::malformed_input).at(8u));
  EXPECT_TRUE(error_of("a,b\n1,2\n3,\"" + std::string(100, 'x'), {.max_record_bytes = 50}).is(Errc::record_too_large));
}

TEST_F(CsvSourceTest, SkipsSingleRowsWhereAsked) {
  RecordSource source = RecordSource::open(put("a,b\n1,2\nragged\n3,4\nx,5\n6,7\n"),
                                           {.csv = {.types = {{"a", ColumnType::int64}}}, .on_error = OnError::skip})
                            .value();
  std::vector<std::string> texts;
  while (const auto record = source.next().value()) texts.push_back(example_text(as_chars(*record)));
  EXPECT_THAT(texts, ElementsAre("a=[1] b=[2]", "a=[3] b=[4]", "a=[6] b=[7]"));
  EXPECT_EQ(source.skipped(), 2u);
}

TEST_F(CsvSourceTest, SkipsARowAboveTheLimitAsItsQuotesHaveIt) {
  const std::string large = "\"" + std::string(300'000, 'x') + "\n,\n\"\"\n" + std::string(300'000, '\n') + "\",9\n";
  const std::string text = "a,b\none,1\n" + large + "two,2\n" + large + "bad\nthree,3\n";
  for (const std::string& bytes : {text, gzip(text)}) {
    std::vector<SkippedRecord> skipped;
    SourceOptions options{.format = SourceFormat::csv, .max_record_bytes = 1000, .on_error = OnError::skip};
    options.skipped = [&skipped](const SkippedRecord& record) { skipped.push_back(record); };
    EXPECT_THAT(read(bytes, options), ElementsAre("a=<one> b=[1]", "a=<two> b=[2]", "a=<three> b=[3]"));
    ASSERT_EQ(skipped.size(), 3u);
    EXPECT_TRUE(skipped[0].error.is(Errc::record_too_large));
    EXPECT_FALSE(skipped[0].rest_of_file);
    EXPECT_EQ(skipped[0].error.path(), path_);
    if (bytes == text) {
      EXPECT_EQ(skipped[0].error.offset(), 10u);
      EXPECT_EQ(skipped[1].error.offset(), 10 + large.size() + 6);
    }
    EXPECT_THAT(skipped[2].error.detail(), HasSubstr("line 600012: ")) << "lines in what was skipped count too";
    options.skipped = nullptr;
    EXPECT_THAT(parts_that_differ(path_, options), IsEmpty());
  }
  EXPECT_TRUE(error_of(text, {.max_record_bytes = 1000}).is(Errc::record_too_large)) << "not unasked";
}

TEST_F(CsvSourceTest, SkipsAQuoteThatDoesNotEndOnce) {
  RecordSource source = RecordSource::open(put("a,b\n1,2\n3,\"" + std::string(5000, '\n')),
                                           {.max_record_bytes = 1000, .on_error = OnError::skip})
                            .value();
  std::size_t rows = 0;
  while (source.next().value()) ++rows;
  EXPECT_EQ(rows, 1u);
  EXPECT_EQ(source.skipped(), 1u);
}

TEST_F(CsvSourceTest, RefusesNamesThatCannotBeTold) {
  EXPECT_THAT(error_of("a,a\n1,2\n").detail(), HasSubstr("line 1: two columns are named \"a\""));
  EXPECT_THAT(error_of(",a\n1,2\n").detail(), HasSubstr("line 1: a column has no name; write one"));
  EXPECT_THAT(error_of("a,\n1,2\n").detail(), HasSubstr("no name"));
}

TEST_F(CsvSourceTest, TakesFilesWithoutRows) {
  EXPECT_THAT(read("a,b\n"), IsEmpty());
  EXPECT_THAT(read("", {.format = SourceFormat::csv}), IsEmpty());
}

TEST_F(CsvSourceTest, HoldsEachRowOnceInRanges) {
  std::string text = "i,text\n";
  for (int i = 0; i < 800; ++i)
    text += std::to_string(i) + ",\"" + std::string(static_cast<std::size_t>(i) % 90, '\n') + "\"\n";
  EXPECT_THAT(parts_that_differ(put(text)), IsEmpty());
  EXPECT_THAT(parts_that_differ(put(gzip(text)), {.format = SourceFormat::csv}), IsEmpty());
}

// Whatever pieces the bytes come in, the rows are the same.
TEST(CsvScannerTest, CutsTheSameRowsOutOfAnyPieces) {
  const std::string text = "a,\"b\nc\"\r\n\"\"\"\n\"\"\",x\n\n\"q\"\"\",\"\n\"\nlast,\"e\"";
  std::vector<Records> all;
  for (std::size_t size = 1; size <= text.size(); ++size) {
    detail::CsvScanner scanner(',', 100);
    Records rows;
    for (std::size_t at = 0; at < text.size(); at += size) {
      const std::string piece = text.substr(at, size);
      scanner.feed(as_bytes(piece));
      while (const auto row = scanner.next().value()) rows.emplace_back(as_chars(*row));
    }
    if (const auto row = scanner.finish().value()) rows.emplace_back(as_chars(*row));
    all.push_back(rows);
  }
  EXPECT_THAT(all.front(), ElementsAre("a,\"b\nc\"", "\"\"\"\n\"\"\",x", "", "\"q\"\"\",\"\n\"", "last,\"e\""));
  for (const Records& rows : all) EXPECT_EQ(rows, all.front());
}

TEST(CsvScannerTest, LeavesOutTheSameRowsInAnyPieces) {
  const std::string text = "a,b\n\"1\n,\"\"\n34567890\n\",x\nlast,c\n1234567890\n\"\n12345678";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    detail::CsvScanner scanner(',', 8);
    Records rows;
    const auto take = [&](const Result<std::optional<ByteView>>& row) {
      if (row && !*row) return false;
      rows.push_back((row ? std::string(as_chars(**row)) : "#" + std::to_string(scanner.record_offset())) + " on " +
                     std::to_string(scanner.row_line()));
      return row || scanner.goes_on();
    };
    for (std::size_t at = 0; at < text.size(); at += size) {
      const std::string piece = text.substr(at, size);
      scanner.feed(as_bytes(piece));
      while (take(scanner.next())) continue;
    }
    take(scanner.finish());
    EXPECT_THAT(rows, ElementsAre("a,b on 1", "#4 on 2", "last,c on 6", "#31 on 7", "#42 on 8")) << size;
  }
}

TEST_F(CsvSourceTest, TellsItsColumnsAndTheirTypes) {
  put("name,count,share\nann,3,0.5\n");
  const std::vector<CsvColumn> columns = RecordSource::open(path_).value().columns();
  EXPECT_THAT(columns, ElementsAre(CsvColumn{"name", ColumnType::bytes}, CsvColumn{"count", ColumnType::int64},
                                   CsvColumn{"share", ColumnType::real}));
}

TEST_F(CsvSourceTest, AsksForTheDelimiterWhereThereWouldBeOneColumn) {
  for (const char* const delimiter : {";", "\t", "|"}) {
    const std::string text = std::string("a") + delimiter + "b\n1" + delimiter + "2\n";
    const Error refused = error_of(text);
    EXPECT_THAT(refused, Fails(Errc::invalid_option).in(path_));
    const std::string word = *delimiter == '\t' ? "tab" : std::string("'") + delimiter + "'";
    EXPECT_THAT(refused.detail(), HasSubstr("--csv-delimiter " + word)) << refused.detail();
    EXPECT_THAT(read(text, {.csv = {.delimiter = *delimiter}}), ElementsAre("a=[1] b=[2]"));
    EXPECT_EQ(read(text, {.csv = {.delimiter = ','}}).size(), 1u);
    EXPECT_TRUE(error_of(text, {.csv = {.header = false}}).is(Errc::invalid_option));
  }
  EXPECT_THAT(read("a\n1;2\n"), ElementsAre("a=<1;2>")) << "only the first row is looked at";
}

TEST_F(CsvSourceTest, AsksWhetherAFirstRowOfNumbersIsAHeader) {
  for (const char* const text : {"1,2\n3,4\n", "1\n", "-1.5,,1e3\n1,2,3\n", "0,0\nx,y\n", "nan,1.5\n2,3.5\n"}) {
    for (const SourceOptions& options : {SourceOptions{}, raw_}) {
      const Error refused = error_of(text, options);
      EXPECT_THAT(refused, Fails(Errc::invalid_option).in(path_).at(0u)) << text;
      EXPECT_THAT(refused.detail(), HasSubstr("line 1: the first row has only numbers, but would name the columns"));
      EXPECT_THAT(refused.detail(), HasSubstr("--csv-no-header"));
    }
  }
  EXPECT_THAT(read("1,2\n3,4\n", {.csv = {.header = false}}), ElementsAre("c0=[1] c1=[2]", "c0=[3] c1=[4]"));
  EXPECT_THAT(read("1,2\n3,4\n", {.csv = {.types = {{"1", ColumnType::real}}}}), ElementsAre("1=(3) 2=[4]"));
  EXPECT_THAT(read("id,2\n3,4\n"), ElementsAre("2=[4] id=[3]"));
  EXPECT_THAT(read("nan,inf\n3,4\n"), ElementsAre("inf=[4] nan=[3]"));
}

}  // namespace
}  // namespace dovetail::test
