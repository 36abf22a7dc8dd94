// SPDX-License-Identifier: Apache-2.0
// Dovetail's own shards as a source: whole, ranges of ids, samples, and what is carried on.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/dataset.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>
#include <dovetail/recover.h>

#include "sources/shard_records.h"
#include "tests/convert/sources.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

const BlockInfo& largest_of(const ShardDescription& shard) {
  return *std::max_element(shard.blocks.begin(), shard.blocks.end(),
                           [](const BlockInfo& a, const BlockInfo& b) { return a.records < b.records; });
}

class DatasetSourceTest : public FolderTest {
 protected:
  DatasetSourceTest() {
    DatasetWriterOptions options{.shard = {.record_type = "text"}};
    options.shard.metadata["from"] = "here";
    options.shard.schema = parse_schema("label:i64").value();
    options.shard.check_schema = false;
    options.shard.block_bytes = 1024;
    options.shard.run_records = 16;
    options.shard_bytes = 20'000;
    DatasetWriter writer = DatasetWriter::create(root_, options).value();
    for (const std::string& record : records_) writer.append(as_bytes(record)).value();
    shards_ = writer.finish().value().shards.size();
  }

  Records slice(std::size_t first, std::size_t end) const {
    return {records_.begin() + static_cast<std::ptrdiff_t>(first), records_.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  const std::string root_ = folder_ / "dataset";
  const Records records_ = sample_records(1000, 200, 1);
  std::size_t shards_ = 0;
};

TEST_F(DatasetSourceTest, GivesAllRecordsOfAFolderAManifestAGlobAndAShard) {
  ASSERT_GT(shards_, 2u);
  RecordSource source = RecordSource::open(root_).value();
  EXPECT_EQ(source.format(), SourceFormat::dovetail);
  EXPECT_EQ(source.files(), shards_);
  EXPECT_EQ(source.record_type(), "text");
  EXPECT_EQ(source.metadata().at("from"), "here");
  EXPECT_EQ(to_text(source.schema().value()), "label:i64");
  EXPECT_FALSE(source.makes_examples());
  EXPECT_EQ(read_source(std::move(source)).value(), records_);
  EXPECT_EQ(read_source(root_ + "/manifest.dvt").value(), records_);
  EXPECT_EQ(read_source(root_ + "/shard-*.dvt").value(), records_);
  const Records first = read_source(root_ + "/shard-000000.dvt").value();
  EXPECT_EQ(first, slice(0, first.size()));
  std::filesystem::remove(root_ + "/manifest.dvt");
  EXPECT_EQ(read_source(root_).value(), records_) << "a folder of shards";
}

TEST_F(DatasetSourceTest, SeveralWithTheSameColumnsInAnyOrderKeepTheSchema) {
  const auto with_schema = [&](const std::string& name, const char* schema) {
    DatasetWriterOptions options{.shard = {.record_type = "example", .check_schema = false}};
    if (*schema != '\0') options.shard.schema = parse_schema(schema).value();
    DatasetWriter writer = DatasetWriter::create(folder_ / name, options).value();
    writer.append(as_bytes("a")).value();
    writer.finish().value();
    return folder_ / name;
  };
  const std::string first = with_schema("first", "id:i64, city:bytes, price:f32=nan");
  struct {
    const char* schema;
    std::string note;
  } const cases[] = {
      {"price:f32=nan, id:i64, city:bytes", ""},
      {"price:bytes, id:i64, city:bytes", "no schema: the sources differ in price; give --schema infer"},
      {"price:f32, id:i64[2], a:i64, b:i64",
       "no schema: the sources differ in id, city, price and 2 more; give --schema infer"},
      {"", "no schema: " + (folder_ / "second3") + " has none; give --schema infer"},
  };
  int number = 0;
  for (const auto& [schema, note] : cases) {
    const std::string second = with_schema("second" + std::to_string(number), schema);
    const std::string target = folder_ / ("both" + std::to_string(number++));
    const auto report = convert(target, {.sources = {first, second}}).value();
    EXPECT_EQ(report.notes, note.empty() ? std::vector<std::string>() : std::vector{note}) << schema;
    EXPECT_EQ(Dataset::open(target).value().schema().has_value(), note.empty()) << schema;
  }
  EXPECT_EQ(to_text(Dataset::open(folder_ / "both0").value().schema().value()), "id:i64, city:bytes, price:f32=nan");
  ConvertOptions given{.sources = {first, folder_ / "second1"}};
  given.writer.shard.schema = parse_schema("id:i64").value();
  EXPECT_THAT(convert(folder_ / "given", given).value().notes, ::testing::IsEmpty());
}

TEST_F(DatasetSourceTest, TakesARangeOfIds) {
  for (const auto& [first, end] : {std::pair{0u, 1u}, {0u, 1000u}, {17u, 18u}, {300u, 777u}, {999u, 1000u}}) {
    const SourceOptions options{.first = first, .end = end};
    EXPECT_EQ(read_source(root_, options).value(), slice(first, end)) << first << ':' << end;
    EXPECT_THAT(parts_that_differ(root_, options), IsEmpty());
  }
  EXPECT_EQ(read_source(root_, {.first = 990}).value(), slice(990, 1000));
  EXPECT_EQ(read_source(root_, {.first = 990, .end = 5000}).value(), slice(990, 1000));
  EXPECT_THAT(RecordSource::open(root_, {.first = 1000}), Fails(Errc::empty_input));
  EXPECT_THAT(RecordSource::open(root_, {.first = 5, .end = 5}), Fails(Errc::empty_input));
}

TEST_F(DatasetSourceTest, OpensOnlyShardsWithRecordsOfTheRange) {
  std::filesystem::remove(root_ + "/shard-000001.dvt");
  const SourceOptions options{.end = 20};
  EXPECT_EQ(RecordSource::open(root_, options).value().files(), 1u);
  EXPECT_EQ(read_source(root_, options).value(), slice(0, 20));
  EXPECT_THAT(read_source(root_), Fails(ErrorKind::io));
}

TEST_F(DatasetSourceTest, TakesTheSameSampleForEver) {
  const Records half = read_source(root_, {.sample = 0.5, .sample_seed = 7}).value();
  Records expected;
  for (std::size_t id = 0; id < records_.size(); ++id) {
    if (detail::is_sampled(id, 0.5, 7)) expected.push_back(records_[id]);
  }
  EXPECT_EQ(half, expected);
  EXPECT_NEAR(static_cast<double>(half.size()), 500, 80);
  EXPECT_THAT(parts_that_differ(root_, {.sample = 0.01, .sample_seed = 3}), IsEmpty());
  for (std::uint64_t id = 0; id < 1000; ++id) {
    EXPECT_TRUE(!detail::is_sampled(id, 0.1, 7) || detail::is_sampled(id, 0.5, 7)) << "a part of the larger sample";
    EXPECT_TRUE(detail::is_sampled(id, 1, 7));
  }
  const Records range = read_source(root_, {.first = 500, .sample = 0.5, .sample_seed = 7}).value();
  EXPECT_EQ(range, Records(half.end() - static_cast<std::ptrdiff_t>(range.size()), half.end())) << "by id";
  for (const double wrong : {0.0, -1.0, 1.5}) {
    EXPECT_THAT(RecordSource::open(root_, {.sample = wrong}), Fails(Errc::invalid_option));
  }
}

TEST_F(DatasetSourceTest, HoldsEachRecordOnceInRangesOfBytes) {
  EXPECT_THAT(parts_that_differ(root_), IsEmpty());
}

TEST_F(DatasetSourceTest, TellsDamageAndReadsOnBehindIt) {
  const std::string shard = root_ + "/shard-000001.dvt";
  const ShardDescription described = describe_shard(shard).value();
  Bytes bytes = read_file(shard);
  const BlockInfo& block = largest_of(described);
  bytes[block.offset + 64 + 5] ^= std::byte{1};
  write_file(shard, as_chars(bytes));
  EXPECT_THAT(read_source(root_), Fails(ErrorKind::damaged).in(shard).at(block.offset));
  RecordSource source = RecordSource::open(root_, {.on_error = OnError::skip}).value();
  std::size_t records = 0;
  while (source.next().value()) ++records;
  EXPECT_EQ(records, records_.size() - block.records);
  EXPECT_EQ(source.skipped(), block.records) << "each record of the block";
}

TEST_F(DatasetSourceTest, CountsEachRecordOfADamagedBlockOnce) {
  const std::string shard = root_ + "/shard-000001.dvt";
  const ShardDescription described = describe_shard(shard).value();
  const BlockInfo& block = largest_of(described);
  ASSERT_GT(block.records, 5u);
  Bytes bytes = read_file(shard);
  bytes[block.offset + 64 + 5] ^= std::byte{1};
  write_file(shard, as_chars(bytes));
  const std::uint64_t before = describe_shard(root_ + "/shard-000000.dvt").value().info.records;
  const std::uint64_t first = before + block.first_record;  // as an id
  for (const SourceOptions& options :
       {SourceOptions{}, SourceOptions{.first = first + 2, .end = first + 50}, SourceOptions{.sample = 0.5}}) {
    std::uint64_t lost = 0;
    for (std::uint64_t id = first; id != first + block.records; ++id) {
      const bool wanted = id >= options.first && id < options.end.value_or(UINT64_MAX);
      lost += wanted && detail::is_sampled(id, options.sample, 0) ? 1 : 0;
    }
    ConvertOptions wanted{.sources = {root_}, .source = options};
    wanted.source.on_error = OnError::skip;
    wanted.writer.shard.overwrite = true;
    for (const std::uint32_t shards : {1u, 7u, 40u}) {
      wanted.shards = shards;
      const ConvertReport report = convert(folder_ / "out", wanted).value();
      EXPECT_EQ(report.skipped, lost) << shards;
      ASSERT_EQ(report.first_skipped.size(), 1u) << "they are one damage";
      EXPECT_EQ(report.first_skipped.front().records, lost);
      EXPECT_EQ(report.first_skipped.front().error.offset(), block.offset);
    }
  }
}

TEST_F(DatasetSourceTest, RefusesOtherFormsAndFormats) {
  EXPECT_THAT(RecordSource::open(root_, {.records = RecordForm::example}),
              Fails(Errc::invalid_option).saying("dovetail cat OLD | dovetail convert - --records example --to NEW"));
  EXPECT_THAT(RecordSource::open(root_ + "/shard-000000.dvt", {.format = SourceFormat::lines}),
              Fails().saying("already packed"));
  write_file(folder_ / "text", "no shard");
  EXPECT_FALSE(RecordSource::open(folder_ / "text", {.format = SourceFormat::dovetail}));
}

TEST_F(DatasetSourceTest, WhatAKilledWriterHasLeftIsToBeRecoveredAndNotConverted) {
  const std::string left = folder_ / "left";
  const std::string partial = left + "/.shard-000000.dvt.partial-7-0123abcd";
  std::filesystem::create_directory(left);
  std::filesystem::copy_file(root_ + "/shard-000000.dvt", partial);
  const auto advises = [&](const auto& refused) {
    ASSERT_THAT(refused, Fails(Errc::unfinished));
    EXPECT_THAT(refused.error().to_string(), HasSubstr("`dovetail recover " + left + " TARGET`"));
    EXPECT_THAT(refused.error().to_string(), Not(HasSubstr("remove this file"))) << "without it all would look whole";
  };
  advises(Dataset::open(left));
  advises(RecordSource::open(left, {.format = SourceFormat::dovetail}));
  for (const bool with_others : {false, true}) {
    if (with_others) write_file(left + "/a.jpg", "the bytes of a picture");
    for (const SourceFormat format : {SourceFormat::detect, SourceFormat::folder}) {
      advises(RecordSource::open(left, {.format = format}));
      const auto refused = convert(folder_ / "out", {.sources = {left}, .from = format});
      advises(refused);
      EXPECT_THAT(refused, Fails().in(partial));
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  EXPECT_GT(recover(left, folder_ / "saved").value().records, 0u);
}

TEST_F(DatasetSourceTest, WhatIsUnfinishedInAFolderIsToldWithACommandThatWorks) {
  const std::string left = folder_ / "what is left";
  std::filesystem::create_directory(left);
  std::filesystem::copy_file(root_ + "/shard-000000.dvt", left + "/shard-000000.dvt");
  const auto refused = [&] { return RecordSource::open(left, {.format = SourceFormat::folder}).error(); };
  write_file(left + "/.manifest.dvt.partial-7-0123abcd", "");
  EXPECT_TRUE(refused().is(Errc::unfinished));
  EXPECT_THAT(refused().detail(), HasSubstr("a dataset is being written"));
  EXPECT_THAT(refused().detail(), HasSubstr("write it again"));
  EXPECT_THAT(refused().detail(), HasSubstr("`dovetail recover '" + left + "' TARGET`"));
  EXPECT_THAT(refused().detail(), Not(HasSubstr("remove this file")));
  EXPECT_GT(recover(left, folder_ / "saved").value().records, 0u) << "as it says";
  std::filesystem::remove(left + "/.manifest.dvt.partial-7-0123abcd");
  const std::string shard = left + "/.own.dvt.partial-7-0123abcd";
  std::filesystem::copy_file(root_ + "/shard-000001.dvt", shard);
  EXPECT_TRUE(refused().is(Errc::unfinished));
  EXPECT_THAT(refused().detail(), HasSubstr("a shard is being written"));
  EXPECT_THAT(refused().detail(), HasSubstr("`dovetail recover '" + shard + "' TARGET.dvt`"));
  EXPECT_GT(recover(shard, folder_ / "saved.dvt").value().records, 0u) << "as it says";
  std::filesystem::remove(shard);
  const std::string staged = left + ".partial/";
  std::filesystem::create_directories(staged + ".dovetail-part-00000-of-00002");
  for (const std::string& path : {staged, staged + '/', staged + '.'}) {
    const Error unfinished = RecordSource::open(path, {.format = SourceFormat::folder}).error();
    EXPECT_TRUE(unfinished.is(Errc::unfinished)) << path;
    const bool named = !path.ends_with('.');
    EXPECT_EQ(unfinished.detail().ends_with("`dovetail merge '" + left + "'` if all of its parts are finished"), named);
    EXPECT_EQ(unfinished.detail().find("dovetail merge") != std::string::npos, named) << "merge would refuse " << path;
  }
  EXPECT_EQ(RecordSource::open(staged, {.format = SourceFormat::folder}).error().path(),
            staged + ".dovetail-part-00000-of-00002");
}

}  // namespace
}  // namespace dovetail::test
