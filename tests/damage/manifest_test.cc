// SPDX-License-Identifier: Apache-2.0
// Manifests damaged at every place, of other datasets and versions, and shards exchanged below an
// intact one: a dataset is as it was written, or what is wrong is told before a record of it is
// given.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>

#include "format/layout.h"
#include "format/messages.h"
#include "tests/damage/damaged_files.h"
#include "tests/damage/strict_reading.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;
using Infos = std::vector<ShardInfo>;

constexpr std::uint32_t kShards = 4;
constexpr std::uint64_t kShardRecords = 5;
const DatasetId kId = sample_dataset_id();

std::string record(std::uint32_t shard, std::uint64_t i, char version) {
  return std::to_string(shard) + '/' + std::to_string(i) + ' ' + std::string(20, version);
}

/// A dataset of shards of equal shape. Versions differ in the bytes of records, except in
/// shard 0.
Infos write_version(const std::string& folder, const DatasetId& id, char version, std::uint32_t shards = kShards) {
  DatasetWriterOptions options{
      .shard = {.codec = Codec::none, .run_records = 2, .dataset_id = id}, .shard_bytes = 0, .encode_threads = 1};
  DatasetWriter writer = DatasetWriter::create(folder, options).value();
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    if (shard > 0) writer.next_shard().value();
    for (std::uint64_t i = 0; i < kShardRecords; ++i) {
      writer.append(as_bytes(record(shard, i, shard == 0 ? 'a' : version))).value();
    }
  }
  return writer.finish().value().shards;
}

class DamagedManifestTest : public FolderTest {
 protected:
  DamagedManifestTest()
      : infos_(write_version(folder_ / "data", kId, 'a')),
        older_infos_(write_version(folder_ / "older", kId, 'b')),
        foreign_infos_(write_version(folder_ / "foreign", DatasetId{{9}}, 'a')),
        good_(manifest_of("data")),
        older_(manifest_of("older")),
        manifest_(folder_ / "data/manifest.dvt") {}
  ~DamagedManifestTest() override { std::printf("%zu damaged datasets\n", count_); }

  Bytes manifest_of(const std::string& name) const { return read_file(folder_ / (name + "/manifest.dvt")); }
  std::string shard_path(const char* name, std::uint32_t shard) const {
    return folder_ / (std::string(name) + '/' + infos_[shard].name);
  }

  /// A manifest of these lines whose checksums are good.
  static Bytes manifest_with(const Infos& lines) {
    ShardSpec spec;
    spec.run_records = spec.block_records = 4096;
    spec.shard_number = format::kManifestShardNumber;
    spec.metadata = {format::kManifestRecordType, "test", {}};
    for (const ShardInfo& line : lines) spec.records.push_back(format::encode(line));
    return make_shard(spec).bytes;
  }

  /// What opens has all shards as they were written, or tells of those that are not before it gives
  /// a record of them.
  void check(const Bytes& manifest) {
    ++count_;
    manifest_.write(as_chars(manifest));
    const Result<VerifyReport> verdict = verify(folder_ / "data", 1);
    ASSERT_TRUE(verdict) << verdict.error().to_string();
    EXPECT_EQ(verdict->ok(), manifest == good_ || (shorter_ && manifest == *shorter_));
    const Result<Dataset> dataset = Dataset::open(folder_ / "data");
    if (!dataset) {
      EXPECT_THAT(dataset, Fails(ErrorKind::damaged).in(manifest_.path()));
      return;
    }
    check_records(*dataset);
  }

  void check_records(const Dataset& dataset) {
    for (std::uint32_t shard = 0; shard < dataset.shards().size(); ++shard) {
      Result<RecordReader> reader = RecordReader::open(dataset, shard);
      if (!reader) {
        const bool missing = !fs::exists(dataset.shard_path(shard));
        EXPECT_TRUE(missing || reader.error().kind() == ErrorKind::damaged) << reader.error().to_string();
        EXPECT_THAT(reader, Fails().in(dataset.shard_path(shard)));
        ++refused_;
        continue;
      }
      const auto records = salvage(*reader);
      ASSERT_EQ(records.size(), kShardRecords);
      for (std::uint64_t i = 0; i < kShardRecords; ++i) ASSERT_EQ(records[i], record(shard, i, 'a'));
    }
  }

  Take take() {
    return [this](const Bytes& damaged, const std::string& what) {
      SCOPED_TRACE(what);
      check(damaged);
      return !HasFailure();
    };
  }
  bool check_lines(const Infos& lines, std::size_t i, std::size_t j, const char* what) {
    return take()(manifest_with(lines), "lines " + std::to_string(i) + " and " + std::to_string(j) + what);
  }

  const Infos infos_;
  const Infos older_infos_;
  const Infos foreign_infos_;
  const Bytes good_;
  const Bytes older_;
  std::optional<Bytes> shorter_;  ///< A manifest of fewer shards that is good.
  FileInPlace manifest_;
  std::size_t count_ = 0;
  std::size_t refused_ = 0;  ///< Shards that were not opened.
};

constexpr std::size_t kManifestStep = kSanitized ? 61 : 1;

TEST_F(DamagedManifestTest, NoBitNorLengthIsBelieved) {
  check(good_);
  cut(good_, kManifestStep, take());
  flip_bits(good_, kManifestStep, take());
  EXPECT_EQ(refused_, 0u);
}

TEST_F(DamagedManifestTest, NoByteChangesTheDatasetAndVerifyReadsItsShards) {
  change_bytes(good_, [this](const Bytes& damaged, const std::string& what) {
    SCOPED_TRACE(what);
    check(damaged);
    EXPECT_EQ(verify(folder_ / "data", 1).value().records, kShards * kShardRecords);
    if (const auto dataset = Dataset::open(folder_ / "data")) {
      EXPECT_EQ(Infos(dataset->shards().begin(), dataset->shards().end()), infos_);
    }
    return !HasFailure();
  });
}

TEST_F(DamagedManifestTest, BlocksAndPagesOfOtherFilesAreReported) {
  const SampleFile sample("manifest", good_);
  const SampleFile older("older", older_);
  const SampleFile foreign("foreign", manifest_of("foreign"));
  move_blocks(sample, take());
  put_blocks(sample, older, take());
  put_blocks(sample, foreign, take());
  for (const std::size_t page : {std::size_t{64}, std::size_t{512}}) {
    zero_pages(good_, page, page, take());
    put_pages(good_, older_, page, take());
    put_pages(good_, foreign.bytes, page, take());
  }
  EXPECT_EQ(refused_, 0u);
}

TEST_F(DamagedManifestTest, NoMixtureOfTwoVersionsOpens) {
  mix_parts(SampleFile("manifest", good_), SampleFile("older", older_),
            [&](const Bytes& bytes, const std::string& what) {
              SCOPED_TRACE(what);
              check(bytes);
              EXPECT_TRUE(bytes == good_ || bytes == older_ || !Dataset::open(folder_ / "data"));
              return !HasFailure();
            });
}

TEST_F(DamagedManifestTest, LinesOutOfTheirPlaceAreReported) {
  for (std::size_t i = 0; i < kShards; ++i) {
    for (std::size_t j = 0; j < kShards; ++j) {
      Infos dropped = infos_;
      dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
      if (i != j) dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
      // docs/format.md, "Damage that reading does not see": a beginning of the lines is a dataset.
      const bool is_beginning = std::equal(dropped.begin(), dropped.end(), infos_.begin());
      if (is_beginning) shorter_ = manifest_with(dropped);
      if (!check_lines(dropped, i, j, " dropped")) return;
      if (is_beginning) {
        EXPECT_EQ(Dataset::open(folder_ / "data").value().shards().size(), dropped.size());
      }
      Infos repeated = infos_;
      repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(j), infos_[i]);
      if (!check_lines(repeated, i, j, ", one put before the other")) return;
      EXPECT_FALSE(Dataset::open(folder_ / "data"));
      Infos foreign = infos_;
      foreign[j] = foreign_infos_[i];
      if (!check_lines(foreign, i, j, ", one of another dataset put over the other")) return;
      EXPECT_FALSE(Dataset::open(folder_ / "data"));
      if (i == j) continue;
      Infos swapped = infos_;
      std::swap(swapped[i], swapped[j]);
      if (!check_lines(swapped, i, j, " swapped")) return;
      EXPECT_FALSE(Dataset::open(folder_ / "data"));
      Infos covered = infos_;
      covered[j] = infos_[i];
      if (!check_lines(covered, i, j, ", one put over the other")) return;
      EXPECT_FALSE(Dataset::open(folder_ / "data"));
    }
  }
  EXPECT_EQ(refused_, 0u);
}

TEST_F(DamagedManifestTest, LinesAndNamesThatAreNotTheirShardsAreReportedWhenTheseAreOpened) {
  for (std::size_t i = 1; i < kShards; ++i) {
    Infos stale = infos_;
    stale[i] = older_infos_[i];
    if (!check_lines(stale, i, i, " of an older version")) return;
    for (std::size_t j = 0; j < i; ++j) {
      Infos renamed = infos_;
      std::swap(renamed[i].name, renamed[j].name);
      if (!check_lines(renamed, i, j, ", names exchanged")) return;
    }
  }
  EXPECT_EQ(refused_, 3u + 2 * 6u);
}

TEST_F(DamagedManifestTest, AnOlderManifestDoesNotFitNewerShards) {
  check(older_);
  EXPECT_EQ(refused_, kShards - 1) << "one shard did not change";
  flip_bits(older_, 7 * kManifestStep, take());
}

// Shards exchanged, repeated, of other versions and datasets, empty and gone, below an intact
// manifest.
TEST_F(DamagedManifestTest, NoOtherFilePassesForAShard) {
  const Dataset dataset = Dataset::open(folder_ / "data").value();
  std::vector<Bytes> shards;
  std::vector<std::pair<Bytes, std::string>> others = {{{}, "an empty file"}, {good_, "the manifest"}};
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    shards.push_back(read_file(shard_path("data", shard)));
    for (const char* const from : {"data", "older", "foreign"}) {
      others.emplace_back(read_file(shard_path(from, shard)), from + std::to_string(shard));
    }
  }
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    const std::string path = shard_path("data", shard);
    for (const auto& [bytes, what] : others) {
      SCOPED_TRACE(what + " in the place of " + std::to_string(shard));
      ++count_;
      write_file(path, as_chars(bytes));
      refused_ = 0;
      check_records(dataset);
      EXPECT_EQ(refused_, bytes == shards[shard] ? 0u : 1u);
      EXPECT_EQ(verify(folder_ / "data", 1).value().ok(), bytes == shards[shard]);
    }
    fs::remove(path);
    refused_ = 0;
    check_records(dataset);
    EXPECT_EQ(refused_, 1u);
    const auto verdict = verify(folder_ / "data", 1);
    EXPECT_FALSE(verdict && verdict->ok());
    write_file(path, as_chars(shards[shard]));
  }
  for (std::uint32_t i = 0; i < kShards; ++i) {
    for (std::uint32_t j = 0; j < i; ++j) {
      SCOPED_TRACE(::testing::Message() << "shards " << i << " and " << j << " exchanged");
      ++count_;
      write_file(shard_path("data", i), as_chars(shards[j]));
      write_file(shard_path("data", j), as_chars(shards[i]));
      refused_ = 0;
      check_records(dataset);
      EXPECT_EQ(refused_, 2u);
      EXPECT_EQ(verify(folder_ / "data", 1).value().damaged.size(), 2u);
      write_file(shard_path("data", i), as_chars(shards[i]));
      write_file(shard_path("data", j), as_chars(shards[j]));
    }
  }
}

// docs/format.md, "Damage that reading does not see".
TEST_F(DamagedManifestTest, AWholeOlderDatasetIsAGoodOneWithAnotherFingerprint) {
  EXPECT_TRUE(verify(folder_ / "older").value().ok());
  EXPECT_NE(Dataset::open(folder_ / "older").value().fingerprint(),
            Dataset::open(folder_ / "data").value().fingerprint());
}

}  // namespace
}  // namespace dovetail::test
