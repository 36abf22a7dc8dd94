// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "convert/record_split.h"
#include "sources/bytes/hashes.h"
#include "tests/convert/conversions.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

TEST(KeyedHashTest, IsXxh3) {
  // From the test vectors of XXH3: splits and shuffles must be the same for ever.
  EXPECT_EQ(detail::keyed_hash({}, 0), 0x2D06800538D394C2u);
  EXPECT_EQ(detail::hash128({}).to_hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(ParseSplitTest, ReadsSharesAndTheRest) {
  EXPECT_THAT(parse_split("train=0.9,val=0.1").value(), ElementsAre(SplitShare{"train", 0.9}, SplitShare{"val", 0.1}));
  const auto rest = parse_split("train,val=0.25,test=0.25").value();
  EXPECT_THAT(rest, ElementsAre(SplitShare{"train", 0.5}, SplitShare{"val", 0.25}, SplitShare{"test", 0.25}));
  EXPECT_THAT(parse_split("all").value(), ElementsAre(SplitShare{"all", 1}));
  EXPECT_EQ(parse_split("a=0.1,b=0.2,c=0.3,d=0.4").value().size(), 4u) << "sums of decimals are not exact";
}

TEST(ParseSplitTest, RefusesWhatDoesNotAddUp) {
  for (const char* text : {"",
                           "=1",
                           "a",
                           "a=",
                           "a=x",
                           "a=0,b=1",
                           "a=-1,b=2",
                           "a=0.5,b=0.4",
                           "a=0.6,b=0.6",
                           "a,b",
                           "a=1,b",
                           "a=0.5,a=0.5",
                           "../a=1",
                           ".=1",
                           ".hidden=1",
                           "a/b=1",
                           "a=nan",
                           "a=inf",
                           "a=1,",
                           "a=0.5 ,b=0.5",
                           "a=0.5, b=0.5",
                           "lock=1",
                           "conversion=1",
                           "manifest.dvt=1",
                           "shard-000000.dvt=1",
                           "part-00000-of-00001.dvt=1"}) {
    const auto parsed = parse_split(text);
    if (std::string_view(text) == "a") {
      EXPECT_TRUE(parsed);
      continue;
    }
    EXPECT_THAT(parsed, Fails(Errc::invalid_option)) << text;
  }
}

TEST(RecordSplitTest, CutsHashesAtTheShares) {
  const auto split = detail::RecordSplit::make({{"a", 0.7}, {"b", 0.2}, {"c", 0.1}}, 5).value();
  std::vector<double> counts(3);
  constexpr int kRecords = 100'000;
  for (int i = 0; i < kRecords; ++i) ++counts[split.output_of({}, as_bytes(std::to_string(i)))];
  const double expected[] = {0.7 * kRecords, 0.2 * kRecords, 0.1 * kRecords};
  double chi = 0;
  for (std::size_t i = 0; i < 3; ++i) chi += std::pow(counts[i] - expected[i], 2) / expected[i];
  EXPECT_LT(chi, 13.8) << "two degrees of freedom: one in a thousand";
}

class SplitTest : public ConversionTest {
 protected:
  ConvertOptions split_options(std::uint32_t shards) {
    ConvertOptions wanted = options({put_tfrecords(4, 500, 41)}, shards);
    wanted.split = parse_split("train=0.8,val=0.15,test").value();
    return wanted;
  }
  std::vector<Records> parts() const {
    std::vector<Records> found;
    for (const char* name : {"train", "val", "test"}) {
      found.push_back(read_dataset(out_ + '/' + name).records);
    }
    return found;
  }
};

TEST_F(SplitTest, MakesDisjointDatasetsOfAllRecords) {
  const ConvertReport report = convert(out_, split_options(6)).value();
  EXPECT_EQ(report.datasets.size(), 3u);
  EXPECT_EQ(report.records, all_.size());
  std::vector<Records> found = parts();
  for (const Records& records : found) EXPECT_FALSE(records.empty());
  // Each part keeps the order of the input, and no record is in two.
  const auto split = detail::RecordSplit::make(split_options(6).split, 0).value();
  std::vector<Records> expected(3);
  all_.resize(all_.size() / 2);  // put again by the second call
  for (const std::string& record : all_) expected[split.output_of({}, as_bytes(record))].push_back(record);
  EXPECT_TRUE(found == expected);
  EXPECT_THAT(names_in(out_), ElementsAre("test", "train", "val"));
}

TEST_F(SplitTest, DoesNotDependOnOrderShardsOrJobs) {
  ConvertOptions wanted = split_options(6);
  convert(out_, wanted).value();
  const std::vector<Records> first = parts();
  const auto sorted = [](std::vector<Records> found) {
    for (Records& records : found) std::sort(records.begin(), records.end());
    return found;
  };
  fs::remove_all(out_);
  wanted.shards = 2;
  wanted.jobs = 5;
  convert(out_, wanted).value();
  EXPECT_TRUE(parts() == first);

  fs::remove_all(out_);
  wanted.sources = {folder_ / "src/103.tfrecord", folder_ / "src/102.tfrecord.gz", folder_ / "src/101.tfrecord",
                    folder_ / "src/100.tfrecord"};
  convert(out_, wanted).value();
  EXPECT_TRUE(sorted(parts()) == sorted(first)) << "the files in another order";

  fs::remove_all(out_);
  wanted.split_seed = 1;
  convert(out_, wanted).value();
  EXPECT_FALSE(sorted(parts()) == sorted(first)) << "another seed splits otherwise";
}

TEST_F(SplitTest, GoesByTheKeyWhereARecordHasOne) {
  for (int i = 0; i < 200; ++i) put("files/" + std::to_string(i), "the same bytes in every file");
  ConvertOptions wanted = options({folder_ / "files"}, 2);
  wanted.split = parse_split("a=0.5,b=0.5").value();
  convert(out_, wanted).value();
  const std::size_t a = read_dataset(out_ + "/a").records.size();
  EXPECT_GT(a, 50u);
  EXPECT_LT(a, 150u);
  EXPECT_EQ(read_dataset(out_ + "/b").records.size(), 200 - a);
}

TEST_F(SplitTest, KeepsEqualRecordsTogether) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i % 10) + '\n';
  ConvertOptions wanted = options({put("text", text)}, 1);
  wanted.split = parse_split("a=0.5,b=0.5").value();
  convert(out_, wanted).value();
  const Records a = read_dataset(out_ + "/a").records;
  const Records b = read_dataset(out_ + "/b").records;
  EXPECT_EQ(a.size() + b.size(), 1000u);
  const std::set<std::string> in_a(a.begin(), a.end());
  for (const std::string& record : b) ASSERT_EQ(in_a.count(record), 0u);
}

TEST_F(SplitTest, RefusesToReplaceItsOwnSource) {
  const std::string source = put("og/train/a.txt", "one\ntwo\n");
  ConvertOptions wanted = options({folder_ / "og/train"}, 1);
  wanted.split = parse_split("train=0.5,val").value();
  wanted.writer.shard.overwrite = true;
  EXPECT_THAT(convert(folder_ / "og", wanted), Fails(Errc::invalid_option));
  wanted.split = parse_split("test=0.5,val").value();
  EXPECT_THAT(convert(folder_ / "og", wanted), Fails(Errc::invalid_option)) << "beside its source";

  ASSERT_TRUE(convert(out_, options({source}, 1)));
  const Files before = files_below(out_);
  std::filesystem::create_directory_symlink(out_, folder_ / "link");
  for (const char* name : {"/manifest.dvt", "/shard-000000.dvt", "/*.dvt"}) {
    for (const std::string& from : {out_, folder_ / "link"}) {
      ConvertOptions itself = options({from + name}, 1);
      itself.writer.shard.overwrite = true;
      EXPECT_THAT(convert(out_, itself), Fails(Errc::invalid_option)) << from << name;
    }
  }
  EXPECT_EQ(files_below(out_), before);
}

TEST_F(SplitTest, IsContinuedAndMergedLikeAnyOther) {
  const ConvertOptions wanted = split_options(8);
  convert(folder_ / "whole", wanted).value();
  ConvertOptions stopped = wanted;
  stopped.progress = [this](const ConvertProgress& progress) { return progress.records < all_.size() / 2; };
  ASSERT_FALSE(convert(out_, stopped));
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_GT(convert(out_, wanted).value().kept_shards, 0u);
  EXPECT_EQ(files_below(out_), files_below(folder_ / "whole"));
  fs::remove_all(out_);
  for (std::uint32_t part = 0; part != 3; ++part) {
    ConvertOptions one = wanted;
    one.part = ConvertPart{part, 3};
    ASSERT_TRUE(convert(out_, one));
  }
  EXPECT_EQ(merge(out_).value().datasets.size(), 3u);
  EXPECT_EQ(files_below(out_), files_below(folder_ / "whole"));
}

// What the target and the folder beside it hold goes with them.
TEST_F(SplitTest, RefusesSourcesThatItsTargetWouldReplace) {
  ConvertOptions split = split_options(2);
  convert(out_, split).value();
  std::filesystem::create_directories(folder_ / "killed.partial");
  std::filesystem::copy_file(out_ + "/val/shard-000000.dvt", folder_ / "killed.partial/shard-000000.dvt");
  put("killed.partial/.dovetail-lock", "");
  const Files before = files_below(folder_ / "");
  for (const auto& [source, target] : {std::pair(out_ + "/train", out_),
                                       {out_ + "/val/shard-*.dvt", out_},
                                       {folder_ / "o*/val/shard-*.dvt", out_},
                                       {out_, out_},
                                       {folder_ / "killed.partial/shard-*.dvt", folder_ / "killed"},
                                       {folder_ / "killed.partial/shard-000000.dvt", folder_ / "killed"}}) {
    for (const bool splits : {false, true}) {
      ConvertOptions wanted = splits ? split : options({}, 1);
      wanted.sources = {source};
      wanted.writer.shard.overwrite = true;
      EXPECT_THAT(convert(target, wanted), Fails(Errc::invalid_option)) << source;
      EXPECT_EQ(files_below(folder_ / ""), before) << source;
    }
  }
  EXPECT_TRUE(convert(folder_ / "other", options({out_ + "/train"}, 1)));
}

TEST_F(SplitTest, ReplacesItsOwnDatasetsOnly) {
  const ConvertOptions split = split_options(2);
  convert(out_, split).value();
  const Files before = files_below(out_);
  ConvertOptions plain = options(split.sources, 1);
  ConvertOptions other = split;
  other.split.back().name = "other";
  for (ConvertOptions wanted : {plain, other}) {
    wanted.writer.shard.overwrite = true;
    EXPECT_THAT(convert(out_, wanted), Fails(Errc::already_exists));
    EXPECT_EQ(files_below(out_), before);
  }
  ConvertOptions again = split;
  again.writer.shard.overwrite = true;
  EXPECT_TRUE(convert(out_, again));
  convert(folder_ / "plain", plain).value();
  EXPECT_TRUE(convert(folder_ / "plain", again)) << "and a dataset that is no split";
  EXPECT_EQ(names_of(files_below(folder_ / "plain")), names_of(before));
}

}  // namespace
}  // namespace dovetail::test
