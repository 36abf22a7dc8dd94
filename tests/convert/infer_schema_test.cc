// SPDX-License-Identifier: Apache-2.0
// Columns of a conversion that come from the features of its records.
#include <map>
#include <string>
#include <vector>

#include "tests/convert/conversions.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

class InferSchemaTest : public ConversionTest {
 protected:
  Result<ConvertReport> infer(std::vector<std::string> sources, std::uint32_t shards = 2) {
    ConvertOptions wanted = options(std::move(sources), shards);
    wanted.infer_schema = true;
    wanted.writer.shard.overwrite = true;
    return convert(out_, wanted);
  }
  std::string schema() const { return read_dataset(out_).shards.front().metadata.schema; }
};

TEST_F(InferSchemaTest, HasTheFeaturesOfAllSources) {
  const std::string ints = put("a.csv", "x,y,name\n1,2,a\n3,,b\n");
  const std::string reals = put("b.csv", "x,y,name\n0.5,-7,c\n");
  ASSERT_TRUE(infer({ints}));
  EXPECT_EQ(schema(), "name:bytes, x:i64, y:i64=-1");
  ASSERT_TRUE(infer({ints, reals}));
  EXPECT_EQ(schema(), "name:bytes, x:f32, y:i64=0") << "all sources have the same types";
}

TEST_F(InferSchemaTest, LinesOfJsonHaveOneByThemselves) {
  ConvertOptions wanted = options({put("a.jsonl", R"({"id": 7, "at": {"x": 0.5}, "tags": ["a", "b"], "n": null}
{"id": -8, "at": {"x": 1e3}, "tags": [], "ok": true, "odd": [1, "x"]}
)")},
                                  1);
  wanted.source.records = RecordForm::example;
  ASSERT_TRUE(convert(out_, wanted));
  EXPECT_EQ(schema(), R"(at.x:f32, id:i64, odd:bytes="", ok:i64=-1, tags:bytes[*]=[])");
  EXPECT_EQ(example_text(read_dataset(out_).records[0]), "at.x=(0.5) id=[7] tags=<a><b>");
  wanted.sources = {put("b.jsonl", "{\"x\": 1}\n{\"x\": \"y\"}\n{\"x\": 2}\n")};
  wanted.writer.shard.overwrite = true;
  EXPECT_THAT(convert(out_, wanted),
              Fails(Errc::invalid_option)
                  .in(wanted.sources.front())
                  .at(9u)
                  .saying("the feature \"x\" cannot be a column: bytes in 1 record, int64 in 2 records (1 to 2); "
                          "bytes first in line 2; give the feature one kind"));
  wanted.sources = {put("c.jsonl", "{\"x\": 1}\n[1]\n")};
  EXPECT_THAT(convert(out_, wanted), Fails().saying("line 2: not a JSON object"));
}

TEST_F(InferSchemaTest, IntegersOfJsonWidenToFloats) {
  struct {
    const char* lines;
    const char* schema;
  } const kCases[] = {
      {"{\"x\": 1}\n{\"x\": 0.5}\n{\"x\": 2}\n", "x:f32"},
      {"{\"x\": 0.5}\n{\"x\": null}\n{\"x\": true}\n", "x:f32=nan"},
      {"{\"x\": [1, 2]}\n{\"x\": [0.5, 3]}\n", "x:f32[2]"},
      {"{\"x\": 1700000001}\n{\"x\": 0.5}\n", "x:f64"},
      {"{\"x\": 18446744073709551615}\n{\"x\": 9223372036854775808}\n", "x:bytes"},
  };
  ConvertOptions wanted = options({}, 1);
  wanted.source.records = RecordForm::example;
  wanted.writer.shard.overwrite = true;
  for (const auto& [lines, schema] : kCases) {
    wanted.sources = {put("a.jsonl", lines)};
    ASSERT_TRUE(convert(out_, wanted)) << lines;
    EXPECT_EQ(this->schema(), schema);
  }
  wanted.sources = {put("a.jsonl", "{\"x\": 1}\n{\"x\": 18446744073709551615}\n")};
  EXPECT_THAT(convert(out_, wanted), Fails(Errc::invalid_option).at(9u).saying("give the feature one kind"));
  wanted.sources = {put("a.jsonl", "{\"x\": 9007199254740993}\n{\"x\": 0.5}\n")};
  EXPECT_THAT(
      convert(out_, wanted),
      Fails().saying("int64 in 1 record (9007199254740993 to 9007199254740993); float first in line 2; a column of "
                     "both needs lists of one length, and no number beyond 2^53"));
}

TEST_F(InferSchemaTest, NamesTheFirstRecordOfTheRarerKind) {
  const std::string first = put("1.tar", tar_bytes({{"a.cls", "1"}, {"b.cls", "2"}}));
  const std::string second = put("2.tar", tar_bytes({{"c.cls", "x"}, {"d.cls", "3"}, {"e.cls", "y"}}));
  const auto refused = infer({first, second});
  EXPECT_THAT(refused, Fails(Errc::invalid_option)
                           .in(second)
                           .at(0u)
                           .saying("bytes in 2 records, int64 in 3 records (1 to 3); bytes first in record 2, \"c\";"));
}

TEST_F(InferSchemaTest, AnEmptyListIsOfNoKind) {
  const std::string ints = "\x0A\x0C\x0A\x0A\x0A\x01x\x12\x05\x1A\x03\x0A\x01\x07";
  const std::string texts = "\x0A\x0C\x0A\x0A\x0A\x01x\x12\x05\x0A\x03\x0A\x01\x07";
  const std::string no_texts("\x0A\x09\x0A\x07\x0A\x01x\x12\x02\x0A\x00", 11);
  EXPECT_THAT(infer({put("a.tfrecord", tfrecord_bytes({no_texts, ints, no_texts, texts, ints}))}),
              Fails().saying("bytes in 1 record, int64 in 2 records (7 to 7); bytes first in record 3; "));
}

TEST_F(InferSchemaTest, ColumnsOfRecordsWithoutFeaturesHaveFallbacks) {
  ConvertOptions wanted = options({put("a.jsonl", "{\"x\": 1}\n{}\n{\"x\": null}\n{\"x\": 2}\n")}, 1);
  wanted.source.records = RecordForm::example;
  ASSERT_TRUE(convert(out_, wanted));
  EXPECT_EQ(schema(), "x:i64=-1");
  EXPECT_THAT(infer({put("a.tfrecord", tfrecord_bytes({"", "text"}))}), Fails().saying("record 1: "));
}

TEST_F(InferSchemaTest, AnyNumberOfThreadsFindsTheSame) {
  constexpr int kRecords = 10'000;
  const std::string ints = "\x0A\x0C\x0A\x0A\x0A\x01x\x12\x05\x1A\x03\x0A\x01\x07";
  const std::string texts = "\x0A\x0C\x0A\x0A\x0A\x01x\x12\x05\x0A\x03\x0A\x01\x07";
  const std::string other = "\x0A\x0C\x0A\x0A\x0A\x01y\x12\x05\x1A\x03\x0A\x01\x07";
  // Two files, the second compressed. `changed` replaces some records by their number in both.
  const auto put_both = [&](const std::map<int, std::string>& changed) {
    std::vector<std::string> sources;
    for (int file = 0; file < 2; ++file) {
      std::vector<std::string> records(kRecords, ints);
      for (const auto& [number, record] : changed) {
        if (number / kRecords == file) records[static_cast<std::size_t>(number % kRecords)] = record;
      }
      const std::string bytes = tfrecord_bytes(records);
      sources.push_back(file == 0 ? put("a.tfrecord", bytes) : put("b.tfrecord.gz", gzip(bytes)));
    }
    return sources;
  };
  const struct {
    std::map<int, std::string> changed;
    std::string expected;
  } kCases[] = {
      {{}, "x:i64"},
      {{{kRecords - 1, other}}, "x:i64=-1, y:i64=-1"},
      {{{7000, ""}}, "x:i64=-1"},
      {{{19'999, ""}, {3, ""}}, "x:i64=-1"},
      {{{11'234, "text"}, {6345, "text"}, {5, ""}}, "schema: cannot be inferred: record 6345: "},
      {{{9001, texts}, {12'002, texts}},
       "bytes in 2 records, int64 in 19998 records (7 to 7); bytes first in record 9001; "},
      {{{1, texts}}, "bytes first in record 1; "},
  };
  for (const auto& [changed, expected] : kCases) {
    ConvertOptions wanted = options(put_both(changed), 1);
    wanted.infer_schema = true;
    wanted.writer.shard.overwrite = true;
    std::string first;
    for (const unsigned jobs : {1U, 3U, 8U}) {
      wanted.jobs = jobs;
      const auto converted = convert(out_, wanted);
      const std::string found = converted ? schema() : converted.error().to_string();
      EXPECT_THAT(found, HasSubstr(expected)) << jobs << " threads";
      if (jobs == 1) first = found;
      EXPECT_EQ(found, first) << jobs << " threads";
    }
  }
}

TEST_F(InferSchemaTest, AnyNumberOfThreadsNamesTheFirstDamage) {
  std::string lines;
  for (int i = 0; i < 40'000; ++i) lines += i == 20'000 || i == 36'000 ? "{\"x\"\n" : "{\"x\": 1234567}\n";
  ConvertOptions wanted = options({put("a.jsonl", lines)}, 1);
  wanted.source.records = RecordForm::example;
  for (const unsigned jobs : {1U, 2U, 8U}) {
    wanted.jobs = jobs;
    EXPECT_THAT(convert(out_, wanted).error().to_string(), HasSubstr("line 20001, ")) << jobs << " threads";
  }
}

TEST_F(InferSchemaTest, PartsAgree) {
  const std::string table = put("a.csv", "x,y\n1,2\n3,\n5,6\n");
  for (std::uint32_t part = 0; part < 2; ++part) {
    ConvertOptions wanted = options({table}, 2);
    wanted.infer_schema = true;
    wanted.part = ConvertPart{part, 2};
    ASSERT_TRUE(convert(out_, wanted));
  }
  ASSERT_TRUE(merge(out_));
  EXPECT_EQ(schema(), "x:i64, y:i64=-1");
}

TEST_F(InferSchemaTest, SaysWhatIsNoColumn) {
  const auto fails = [&](const std::vector<std::string>& sources, const std::string& why) {
    EXPECT_THAT(infer(sources), Fails(Errc::invalid_option).saying("schema: cannot be inferred: " + why)) << why;
    EXPECT_FALSE(std::filesystem::exists(out_));
  };
  fails({put("a.txt", "text\n")}, "record 0: tf.train.Example: ");
  fails({put("a.jsonl", "{\"x\": 1}\n")},
        "1 record of JSON; convert the JSON lines again with --records example, or `dovetail cat OLD | dovetail "
        "convert - "
        "--records example --to NEW`");
  const std::string ints = "\x0A\x0C\x0A\x0A\x0A\x01x\x12\x05\x1A\x03\x0A\x01\x07";
  const std::string texts = "\x0A\x0C\x0A\x0A\x0A\x01x\x12\x05\x0A\x03\x0A\x01\x07";
  const std::string empty("\x0A\x09\x0A\x07\x0A\x01x\x12\x02\x1A\x00", 11);
  fails({put("kinds.tfrecord", tfrecord_bytes({ints, texts}))},
        "the feature \"x\" cannot be a column: bytes in 1 record, int64 in 1 record");
  fails({put("empty.tfrecord", tfrecord_bytes({empty}))}, "no record has a feature with values");
  ASSERT_TRUE(infer({put("some.tfrecord", tfrecord_bytes({ints, empty}))}));
  EXPECT_EQ(schema(), "x:i64=-1");
  ConvertOptions wanted = options({put("long.jsonl", "{\"" + std::string(1025, 'x') + "\": 1}\n")}, 1);
  wanted.source.records = RecordForm::example;
  wanted.writer.shard.overwrite = true;
  EXPECT_THAT(convert(out_, wanted), Fails().saying("or names of more than 1024 bytes; name the columns"));
  std::string many = "{\"x0\": 1";
  for (std::size_t i = 1; i <= kMaxColumns; ++i) many += ", \"x" + std::to_string(i) + "\": 1";
  wanted.sources = {put("many.jsonl", many + "}\n")};
  EXPECT_THAT(
      convert(out_, wanted),
      Fails().saying("cannot be a column: int64 in 1 record (1 to 1); a schema has at most 4096 columns; name"));
  ConvertOptions both = options({put("a.csv", "x\n1\n")}, 1);
  both.infer_schema = true;
  both.writer.shard.schema = parse_schema("x:i64").value();
  EXPECT_THAT(convert(out_, both), Fails().saying("infer_schema"));
}

TEST_F(InferSchemaTest, AMemberThatIsAnObjectInSomeLinesMakesColumnsOfBoth) {
  ConvertOptions wanted = options({put("a.jsonl", "{\"m\": 1}\n{\"m\": {\"n\": 0.5}}\n{\"m\": 2}\n")}, 1);
  wanted.source.records = RecordForm::example;
  const auto converted = convert(out_, wanted);
  ASSERT_TRUE(converted) << converted.error().to_string();
  EXPECT_EQ(to_text(converted->schema.value()), "m:i64=-1, m.n:f32=nan");
  EXPECT_THAT(
      converted->notes,
      ElementsAre("m lacks a value in 1 of 3 records: rows get -1; m.n lacks a value in 2 of 3 records: rows get nan"));
}

TEST_F(InferSchemaTest, ANoteNamesColumnsThatRecordsLack) {
  ConvertOptions wanted = options({put("a.jsonl", "{\"x\": 1}\n\n{\"y\": 0.5}\n{\"x\": 3, \"y\": null}\n")}, 1);
  wanted.source.records = RecordForm::example;
  const auto converted = convert(out_, wanted);
  ASSERT_TRUE(converted) << converted.error().to_string();
  EXPECT_EQ(to_text(converted->schema.value()), "x:i64=-1, y:f32=nan");
  EXPECT_THAT(converted->notes, ElementsAre("x lacks a value in 1 of 3 records: rows get -1; y lacks a value in 2 of 3 "
                                            "records: rows get nan"));
}

TEST_F(InferSchemaTest, ANoteNamesLargeNumbersThatAFloatChanges) {
  const auto notes = [&](const std::string& source, unsigned jobs) {
    ConvertOptions wanted = options({source}, 2);
    wanted.source.records = RecordForm::example;
    wanted.writer.shard.overwrite = true;
    wanted.jobs = jobs;
    if (jobs == 2) wanted.shuffle_seed = 1;
    return convert(out_, wanted).value().notes;
  };
  for (const unsigned jobs : {1U, 2U}) {
    const std::string json =
        put("a.jsonl", "{\"x\": 0.1}\n{\"x\": 1700000000.25}\n{\"x\": 1e300}\n{\"x\": 16777216.0}\n");
    EXPECT_THAT(notes(json, jobs),
                ElementsAre(HasSubstr("change large numbers in 2 records: \"x\" is 1700000000.25, stored as "
                                      "1700000000, in line 2 of " +
                                      json + "; ")));
    const std::string beyond = put("b.jsonl", "{\"x\": 0.5}\n{\"x\": -1e300}\n");
    EXPECT_THAT(notes(beyond, jobs),
                ElementsAre(HasSubstr("1 record: \"x\" is beyond the range of a float, stored as -inf, in line 2")));
    const std::string csv = put("a.csv", "t,n\n0.1,1\n16777217.5,2\ninf,3\n");
    EXPECT_THAT(notes(csv, jobs),
                ElementsAre(HasSubstr("1 record: \"t\" is 16777217.5, stored as 16777218, in line 3")));
    EXPECT_THAT(notes(put("c.csv", "t\n0.1\ninf\n16777218.0\n"), jobs), ElementsAre());
  }
}

}  // namespace
}  // namespace dovetail::test
