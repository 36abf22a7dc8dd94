// SPDX-License-Identifier: Apache-2.0
// JSON lines: what is JSON, where it is not, and what makes a file such lines.
#include <string>
#include <string_view>
#include <vector>

#include "format/text/json_check.h"
#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

const SourceOptions kJson{.format = SourceFormat::jsonl};

class JsonSourceTest : public SourceFileTest {
 protected:
  SourceFormat format_of(std::string_view bytes) { return RecordSource::open(put(bytes)).value().format(); }
};

TEST_F(JsonSourceTest, GivesEachLineAsItIs) {
  RecordSource source =
      RecordSource::open(put("{\"a\": 1 }\r\n\n  \t\r\n{\"b\":[null,true,-1.5e3]}\n\"last\"")).value();
  EXPECT_EQ(source.format(), SourceFormat::jsonl);
  EXPECT_FALSE(source.makes_examples());
  EXPECT_EQ(as_chars(source.next().value().value()), "{\"a\": 1 }");
  EXPECT_EQ(as_chars(source.next().value().value()), "{\"b\":[null,true,-1.5e3]}");
  EXPECT_EQ(source.offset(), 17u);
  EXPECT_EQ(as_chars(source.next().value().value()), "\"last\"");
  EXPECT_FALSE(source.next().value());
  EXPECT_EQ(source.ignored(), 2u);
  EXPECT_THAT(read_source(put(gzip("{}\n{\"x\":0}"))).value(), ElementsAre("{}", "{\"x\":0}"));
  EXPECT_THAT(read_source(put("\xEF\xBB\xBF{}\n{}")).value(), ElementsAre("{}", "{}"));
  EXPECT_THAT(read_source(put(""), kJson).value(), IsEmpty());
}

TEST_F(JsonSourceTest, MakesExamplesOfObjects) {
  SourceOptions options = kJson;
  options.records = RecordForm::example;
  EXPECT_TRUE(RecordSource::open(put("{}"), options).value().makes_examples());
  const Records records =
      read_source(put("{\"b\": [1, 2.5], \"a\": {\"x\": true, \"y\": null}, \"c\": \"t\"}\n\n{}\n"), options).value();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(example_text(records[0]), "a.x=[1] b=(1 2.5) c=<t>");
  EXPECT_EQ(example_text(records[1]), "");
  EXPECT_THAT(read_source(put("{}\n{\"a\": {\"b\": 1}, \"a.b\": 2}\n"), options),
              Fails(Errc::malformed_input).at(3u).saying("line 2: two members are named \"a.b\""));
  const std::string text = "{\"x\": 1}\n[1]\n{\"x\": 2}\n";
  EXPECT_THAT(read_source(put(text), options), Fails(Errc::malformed_input).at(9u).saying("line 2: not a JSON object"));
  options.on_error = OnError::skip;
  EXPECT_EQ(read_source(put(text), options).value().size(), 2u);
}

TEST_F(JsonSourceTest, LimitsTheNamesOfNestedMembers) {
  const std::string outer(4094, 'x');
  for (const std::string& key : {std::string("a"), std::string("ab"), std::string("a\": 1, \"ab")}) {
    const std::string path = put("{\"" + outer + "\": {\"" + key + "\": 2}}\n");
    const auto read = read_source(path, {.format = SourceFormat::jsonl, .records = RecordForm::example});
    if (key == "a") {
      EXPECT_EQ(read.value().size(), 1u);
    } else {
      EXPECT_THAT(read, Fails(Errc::malformed_input).saying("a nested member has more than 4096 bytes")) << key;
    }
  }
  for (const char* none : {"null", "[]", "{}"}) {
    const std::string path = put("{\"" + outer + "\": {\"ab\": " + none + "}}\n");
    EXPECT_EQ(read_source(path, {.format = SourceFormat::jsonl, .records = RecordForm::example}).value().size(), 1u);
  }
  const std::string flat = put("{\"" + outer + outer + "\": 2}\n");
  EXPECT_EQ(read_source(flat, {.format = SourceFormat::jsonl, .records = RecordForm::example}).value().size(), 1u);
}

TEST_F(JsonSourceTest, IsKnownByAnObjectInTheFirstLine) {
  EXPECT_EQ(format_of("{}\n"), SourceFormat::jsonl);
  EXPECT_EQ(format_of("\xEF\xBB\xBF{}\n"), SourceFormat::jsonl);
  EXPECT_EQ(format_of("{\"text\": \"" + std::string(200'000, 'x') + "\"}\n"), SourceFormat::jsonl)
      << "longer than looked at";
  EXPECT_EQ(format_of("{\"a\": 1}\nthen something else"), SourceFormat::jsonl);
  EXPECT_EQ(format_of("{not json}\n{}"), SourceFormat::lines);
  EXPECT_EQ(format_of("{\n \"pretty\": 1\n}\n"), SourceFormat::lines);
  EXPECT_EQ(format_of("[1, 2]\n"), SourceFormat::lines);
  EXPECT_EQ(format_of("1\n2\n"), SourceFormat::lines);
}

TEST_F(JsonSourceTest, NamesLineAndByteOfWhatIsNoJson) {
  struct {
    std::string line;
    const char* says;
  } const kCases[] = {
      {"{\"a\":}", "byte 5"},
      {"{\"a\":1", "incomplete"},
      {"{} {}", "text after the value"},
      {"{\"a\":\"\xFF\"}", "UTF-8"},
      {"nul", "incomplete"},
      {"{'a':1}", "byte 1"},
      {"{\"a\":01}", "byte 6"},
      {"{\"a\":\"\t\"}", "byte 6"},
      {std::string(300, '['), "too deep"},
      {"{\"a\":NaN}", "byte 5: not JSON: NaN; write null"},
      {"[-Infinity]", "byte 2: not JSON: Infinity; write null"},
  };
  for (const auto& [line, says] : kCases) {
    EXPECT_THAT(read_source(put("{}\n" + line + "\n{}\n"), kJson),
                Fails(Errc::malformed_input).of(ErrorKind::damaged).at(3u).saying("line 2, byte").saying(says))
        << line;
  }
}

TEST_F(JsonSourceTest, SkipsSingleLinesWhereAsked) {
  std::vector<std::uint64_t> places;
  SourceOptions options{.format = SourceFormat::jsonl, .on_error = OnError::skip};
  options.skipped = [&places](const SkippedRecord& record) { places.push_back(record.consumed_bytes); };
  RecordSource source = RecordSource::open(put("{}\nbad\n[1]\nworse\n{}"), options).value();
  EXPECT_THAT(read_source(std::move(source)).value(), ElementsAre("{}", "[1]", "{}"));
  EXPECT_THAT(places, ElementsAre(3u, 11u));
  RecordSource behind = RecordSource::open(path_, options).value();
  behind.skip_to(5).value();
  EXPECT_EQ(as_chars(behind.next().value().value()), "[1]");
  EXPECT_EQ(behind.skipped(), 0u) << "it belongs to the range before";
}

TEST_F(JsonSourceTest, SkipsALineAboveTheLimitAndGoesOnBehindIt) {
  const std::string large = "[\"" + std::string(700'000, 'x') + "\"]\n";
  const std::string text = "1\n" + large + "2\n" + large + large + "3\nbad\n4\n";
  for (const SourceFormat format : {SourceFormat::jsonl, SourceFormat::lines}) {
    for (const std::string& bytes : {text, gzip(text)}) {
      std::vector<Error> errors;
      SourceOptions options{.format = format, .max_record_bytes = 100, .on_error = OnError::skip};
      options.skipped = [&errors](const SkippedRecord& record) {
        EXPECT_FALSE(record.rest_of_file);
        errors.push_back(record.error);
      };
      const Records kept = read_source(put(bytes), options).value();
      ASSERT_EQ(errors.size(), format == SourceFormat::lines ? 3u : 4u);
      if (format == SourceFormat::lines) {
        EXPECT_THAT(kept, ElementsAre("1", "2", "3", "bad", "4"));
      } else {
        EXPECT_THAT(kept, ElementsAre("1", "2", "3", "4"));
        EXPECT_THAT(errors[0].detail(), HasSubstr("line 2"));
        EXPECT_THAT(errors[3].detail(), HasSubstr("line 7, byte"));
      }
      EXPECT_TRUE(errors[0].is(Errc::record_too_large));
      EXPECT_EQ(errors[0].path(), path_);
      if (bytes == text) {
        EXPECT_EQ(errors[0].offset(), 2u);
        EXPECT_EQ(errors[2].offset(), 2 + large.size() + 2 + large.size());
      }
      options.skipped = nullptr;
      EXPECT_THAT(parts_that_differ(path_, options), IsEmpty());
    }
  }
}

TEST_F(JsonSourceTest, HoldsEachLineOnceInRanges) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "{\"i\":" + std::to_string(i * i) + "}\n" + (i % 7 == 0 ? "\n" : "");
  EXPECT_THAT(parts_that_differ(put(text)), IsEmpty());
  EXPECT_THAT(parts_that_differ(put(gzip(text))), IsEmpty());
}

TEST_F(JsonSourceTest, TakesDepthUpToTheLimit) {
  EXPECT_FALSE(format::check_json(std::string(256, '[') + std::string(256, ']')));
  EXPECT_TRUE(format::check_json(std::string(257, '[') + std::string(257, ']')));
  EXPECT_TRUE(format::check_json(""));
}

}  // namespace
}  // namespace dovetail::test
