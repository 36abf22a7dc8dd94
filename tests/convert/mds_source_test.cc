// SPDX-License-Identifier: Apache-2.0
// MosaicML's shards: columns of fixed and of varying size, an index that disagrees, and names that
// lead elsewhere.
#include <bit>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "format/example/half.h"
#include "tests/convert/mds_files.h"
#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

class MdsSourceTest : public FolderTest {
 protected:
  MdsSourceTest() { std::filesystem::create_directory(root_); }
  void put(const std::string& name, std::string_view bytes) { write_file(root_ + '/' + name, bytes); }
  Error error_of(const SourceOptions& options = {}) { return test::error_of(root_, options); }

  const std::string root_ = folder_ / "mds";
  const std::string first_ = mds_shard({mds_sample(-5, 0x3C00, "one"), mds_sample(1LL << 40, 0xC100, "")});
  const std::string second_ = mds_shard({mds_sample(3, 0, "three")});
};

TEST_F(MdsSourceTest, MakesAFeatureOfEachColumn) {
  put("shard.00000.mds", first_);
  put("shard.00001.mds", second_);
  put("index.json", mds_index(mds_entry("shard.00000.mds", first_.size(), 2) + ',' +
                              mds_entry("shard.00001.mds", second_.size(), 1)));
  RecordSource source = RecordSource::open(root_).value();
  EXPECT_EQ(source.format(), SourceFormat::mds);
  EXPECT_EQ(source.files(), 2u);
  EXPECT_EQ(source.input_bytes(), first_.size() + second_.size());
  std::vector<std::string> texts;
  while (const auto record = source.next().value()) texts.push_back(example_text(as_chars(*record)));
  EXPECT_THAT(texts, ElementsAre("half=(1) n=[-5] text=<one>", "half=(-2.5) n=[1099511627776] text=<>",
                                 "half=(0) n=[3] text=<three>"));
  EXPECT_TRUE(error_of({.records = RecordForm::raw}).is(Errc::invalid_option)) << "three columns are no single one";
}

TEST_F(MdsSourceTest, GivesTheBytesOfASingleColumn) {
  const std::string columns = R"("column_names":["b"],"column_encodings":["bytes"],"column_sizes":[null])";
  const std::string bytes = mds_shard({le(3, 4) + "abc", le(0, 4)}, columns);
  put("s", bytes);
  put("index.json", mds_index(mds_entry("s", bytes.size(), 2, "\"zip_data\":null", columns)));
  EXPECT_THAT(read_source(root_, {.records = RecordForm::raw}).value(), ElementsAre("abc", ""));
}

TEST_F(MdsSourceTest, FindsAnIndexThatDisagreesWithItsShard) {
  put("s", first_);
  struct {
    std::string entry;
    std::string says;
  } const kCases[] = {
      {mds_entry("s", first_.size() + 1, 2), "the shard has " + std::to_string(first_.size()) + " bytes, but " +
                                                 std::to_string(first_.size() + 1) + " in index.json"},
      {mds_entry("s", first_.size(), 3), "2 samples, but 3"},
      {mds_entry(
           "s", first_.size(), 2, "\"zip_data\":null",
           R"("column_names":["n","half","text"],"column_encodings":["int","float16","bytes"],"column_sizes":[8,2,null])"),
       "columns"},
  };
  for (const auto& [text, says] : kCases) {
    put("index.json", mds_index(text));
    EXPECT_THAT(error_of(), Fails(Errc::sidecar_mismatch).in(root_ + "/s").saying(says));
  }
  std::string offsets = first_;
  offsets[8] = '\xFF';
  put("s", offsets);
  put("index.json", mds_index(mds_entry("s", first_.size(), 2)));
  EXPECT_TRUE(error_of().is(Errc::malformed_input));
}

TEST_F(MdsSourceTest, RefusesWhatItCannotReadOrMustNot) {
  put("s", first_);
  const std::pair<std::string, Errc> kCases[] = {
      {mds_index(mds_entry("../mds/s", first_.size(), 2)), Errc::outside_dataset},
      {mds_index(mds_entry("/etc/hostname", first_.size(), 2)), Errc::outside_dataset},
      {mds_index(mds_entry("s", first_.size(), 2, R"("zip_data":{"basename":"s.zstd","bytes":1,"hashes":{}})")),
       Errc::malformed_input},
      {mds_index("{" + kMdsColumns + ",\"format\":\"jsonl\"}"), Errc::unknown_format},
      {mds_index("7"), Errc::malformed_input},
      {mds_index(mds_entry("s", first_.size(), 2)) + "x", Errc::malformed_input},
      {mds_index(""), Errc::empty_input},
  };
  for (const auto& [text, code] : kCases) {
    put("index.json", text);
    EXPECT_THAT(RecordSource::open(root_, {.format = SourceFormat::mds}), Fails(code).in(root_ + "/index.json"))
        << text;
  }
  put("index.json", mds_index(mds_entry("gone", 1, 2)));
  EXPECT_EQ(error_of().kind(), ErrorKind::io);
  std::filesystem::remove(root_ + "/index.json");
  EXPECT_TRUE(error_of({.format = SourceFormat::mds}).is(Errc::unknown_format));
}

TEST_F(MdsSourceTest, AsksForTheFolderWhereTheIndexIsGiven) {
  const std::string index = root_ + "/index.json";
  put("s", first_);
  put("index.json", mds_index(mds_entry("s", first_.size(), 2)));
  for (const SourceFormat format : {SourceFormat::detect, SourceFormat::mds}) {
    EXPECT_THAT(RecordSource::open(index, {.format = format}),
                Fails(Errc::unknown_format).in(index).saying("give the folder that holds it"));
  }
  put("index.json", "{\"page\": 1}\n");
  EXPECT_EQ(RecordSource::open(index).value().format(), SourceFormat::jsonl) << "only its name is that of an index";
}

TEST_F(MdsSourceTest, IsRefusedWhereFilesBesideTheIndexSayThatOthersAreMissing) {
  put("s", first_);
  put("index.json", mds_index(mds_entry("s", first_.size(), 2)));
  for (const auto& [name, path] : {std::pair(".s.dvt.partial-1", "/.s.dvt.partial-1"), {"zz.dvi", "/zz"}}) {
    put(name, "");
    const Error refused = error_of();
    EXPECT_EQ(refused.path(), root_ + path) << refused.to_string();
    std::filesystem::remove(root_ + '/' + name);
  }
  EXPECT_EQ(read_source(root_).value().size(), 2u);
}

TEST_F(MdsSourceTest, SkipsSingleSamplesWhereAsked) {
  std::string bad = mds_sample(2, 0, "bad");
  bad[0] = 9;
  const std::string bytes =
      mds_shard({mds_sample(1, 0, "a"), bad, mds_sample(3, 0, "c"), le(0, 3), mds_sample(4, 0, "")});
  put("s", bytes);
  put("index.json", mds_index(mds_entry("s", bytes.size(), 5)));
  EXPECT_THAT(error_of(), Fails(Errc::malformed_input).saying("sample 1: column \"text\""));
  RecordSource source = RecordSource::open(root_, {.on_error = OnError::skip}).value();
  std::size_t records = 0;
  while (source.next().value()) ++records;
  EXPECT_EQ(records, 3u);
  EXPECT_EQ(source.skipped(), 2u);
}

TEST_F(MdsSourceTest, HoldsEachSampleOnceInRanges) {
  std::string entries;
  for (int i = 0; i < 3; ++i) {
    std::vector<std::string> samples;
    for (int j = 0; j < 100; ++j)
      samples.push_back(mds_sample(j, 0, std::string(static_cast<std::size_t>(i * j % 70), 'x')));
    const std::string bytes = mds_shard(samples);
    put(std::to_string(i), bytes);
    entries += (i == 0 ? "" : ",") + mds_entry(std::to_string(i), bytes.size(), 100);
  }
  put("index.json", mds_index(entries));
  EXPECT_THAT(parts_that_differ(root_), IsEmpty());
}

TEST(HalfTest, IsTheSameNumberAsAFloat) {
  EXPECT_EQ(format::from_half(0x0001), 0x1p-24f);
  EXPECT_EQ(format::from_half(0x03FF), 0x1.FF8p-15f);
  EXPECT_EQ(format::from_half(0x7BFF), 65504.f);
  EXPECT_EQ(format::from_half(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_NE(format::from_half(0x7E00), format::from_half(0x7E00)) << "not a number";
}

}  // namespace
}  // namespace dovetail::test
