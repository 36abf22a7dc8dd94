// SPDX-License-Identifier: Apache-2.0
// What shards and manifests that are made to take memory can take of it, as the system counts it,
// against what docs/format.md, "Security", says.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "format/block_encoder.h"
#include "format/layout.h"
#include "format/shard_encoder.h"
#include "format/structures.h"
#include "tests/soak/peak_memory.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_shards.h"

namespace dovetail::test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;
/// Code, stacks and what is read of the ends of files.
constexpr std::uint64_t kLittle = 4 * kMiB;

std::string as_string(const std::vector<std::byte>& bytes) {
  return std::string(as_chars(ByteView(bytes)));
}

/// A shard of so many equal blocks, whose fingerprint is that of nothing.
std::string shard_of(const format::Metadata& metadata, const format::RawBlock& raw, Codec codec, unsigned blocks) {
  format::ShardEncoder encoder(sample_dataset_id(), 0);
  std::vector<std::byte> bytes;
  encoder.begin(metadata, bytes).value();
  if (blocks != 0) {
    format::EncodedBlock block;
    format::encode_block(raw, codec, block);
    for (unsigned i = 0; i < blocks; ++i) encoder.add(block, bytes).value();
  }
  encoder.finish(raw.records() == 0 ? 1 : raw.records(), 0, bytes);
  return as_string(bytes);
}

class HostileShardTest : public FolderTest {
 protected:
  void SetUp() override {
    if (!can_measure_peaks()) GTEST_SKIP() << "peaks cannot be measured here";
  }

  std::string put(const std::string& name, const std::string& bytes) {
    write_file(folder_.path(name), bytes);
    return folder_.path(name);
  }

  static std::string expect_within(const char* name, std::uint64_t bound, const std::function<std::string()>& work) {
    const Told told = peak_of([&](PeakMeter&) { return work(); });
    EXPECT_TRUE(told.ended) << told.note;
    std::printf("%-22s peak %6.1f MiB of %6.1f; %.160s\n", name, static_cast<double>(told.peak) / kMiB,
                static_cast<double>(bound) / kMiB, told.note.c_str());
    EXPECT_LE(static_cast<std::uint64_t>(told.peak), bound) << name;
    return told.note;
  }

  static std::string read_records(const std::string& path) {
    auto reader = RecordReader::open(path);
    if (!reader) return reader.error().to_string();
    for (std::uint64_t records = 0;; ++records) {
      const auto record = reader->next();
      if (!record) return record.error().to_string();
      if (!*record) return "records " + std::to_string(records);
    }
  }
  static std::string verified(const std::string& path, unsigned threads) {
    const auto report = verify(path, threads);
    if (!report) return report.error().to_string();
    return "good " + std::to_string(report->records) + ", damaged " + std::to_string(report->damaged.size()) + " of " +
           std::to_string(report->damaged_places);
  }
  static std::string read_batches(const std::string& path, const ReaderOptions& options) {
    const auto dataset = Dataset::open(path);
    if (!dataset) return dataset.error().to_string();
    auto reader = BatchReader::open(*dataset, options);
    if (!reader) return reader.error().to_string();
    for (std::uint64_t rows = 0;;) {
      const auto batch = reader->next();
      if (!batch) return batch.error().to_string();
      if (!*batch) return "rows " + std::to_string(rows);
      rows += (*batch)->valid();
    }
  }
};

TEST_F(HostileShardTest, SnappyBlocksThatExpandAsMuchAsTheyMay) {
  format::RawBlock raw;
  const std::string zeros(kMiB, '\0');
  for (int i = 0; i < 64; ++i) raw.append(as_bytes(zeros));
  const std::string path = put("bomb.dvt", shard_of({"raw", "test", {}}, raw, Codec::snappy, 6));
  ASSERT_LT(std::filesystem::file_size(path), 40 * kMiB);
  const std::uint64_t block = 64 * kMiB + 3 * kMiB + kMiB;
  EXPECT_EQ(expect_within("read in order", block + kLittle, [&] { return read_records(path); }), "records 384");
  expect_within("verified", 2 * block + kLittle, [&] { return verified(path, 2); });
  ReaderOptions options{.plan = {.batch = 4}, .epochs = 1, .decode_threads = 2};
  struct Case {
    std::uint64_t budget;
    std::uint32_t open_runs;
    std::uint32_t pool;
    const char* note;
  };
  for (const Case& run : {Case{16 * kMiB, 96, 256, "cannot hold 4 slots (prefetch + max_held) and one block"},
                          Case{200 * kMiB, 96, 256, "1342177280 of them for the pool"},
                          Case{300 * kMiB, 1, 256, "lower pool"}, Case{300 * kMiB, 1, 40, "rows 384"},
                          Case{300 * kMiB, 2, 4, "rows 384"}, Case{900 * kMiB, 96, 64, "rows 384"}}) {
    options.memory_bytes = run.budget;
    options.plan.open_runs = run.open_runs;
    options.plan.pool = run.pool;
    EXPECT_THAT(expect_within("batches", run.budget + 12 * kMiB, [&] { return read_batches(path, options); }),
                HasSubstr(run.note));
  }
}

TEST_F(HostileShardTest, MetadataOfAsManyPairsAsFit) {
  format::Metadata metadata{"raw", "test", {}};
  for (std::uint32_t i = 0; i < 1'600'000; ++i) {
    const std::array<char, 3> key{static_cast<char>(i >> 16), static_cast<char>(i >> 8), static_cast<char>(i)};
    metadata.user.emplace(std::string(key.data(), key.size()), "");
  }
  format::RawBlock raw;
  raw.append(as_bytes(std::string_view("record")));
  const std::string path = put("metadata.dvt", shard_of(metadata, raw, Codec::none, 1));
  metadata = {};
  ASSERT_GT(std::filesystem::file_size(path), 10 * kMiB);
  EXPECT_EQ(expect_within("metadata", 30 * 16 * kMiB, [&] { return read_records(path); }), "records 1");
}

TEST_F(HostileShardTest, EndsThatClaimMoreThanThereIs) {
  format::RawBlock raw;
  raw.append(as_bytes(std::string_view("record")));
  const std::string good = shard_of({"raw", "test", {}}, raw, Codec::none, 1);
  const std::size_t at = good.size() - format::kTrailerBytes;
  std::array<std::byte, format::kTrailerBytes> bytes;
  std::copy_n(as_bytes(good).begin() + static_cast<std::ptrdiff_t>(at), bytes.size(), bytes.begin());
  const format::Trailer truth = format::decode_trailer(bytes).value();
  int claims = 0;
  for (std::uint64_t format::Trailer::*field : {&format::Trailer::file_bytes, &format::Trailer::footer_offset,
                                                &format::Trailer::records, &format::Trailer::blocks}) {
    for (const std::uint64_t claim : {std::uint64_t{1} << 27, std::uint64_t{1} << 32, std::uint64_t{1} << 47,
                                      (std::uint64_t{1} << 63) - 64, std::uint64_t{1} << 63, UINT64_MAX - 63}) {
      format::Trailer trailer = truth;
      trailer.*field = claim;
      format::encode(trailer, bytes);
      const std::string path = put("claim.dvt", good.substr(0, at) + std::string(as_chars(bytes)));
      const std::string note = expect_within("claim", kLittle, [&] { return read_records(path); });
      EXPECT_THAT(note, HasSubstr("claim.dvt"));
      EXPECT_THAT(expect_within("claim, verified", kLittle, [&] { return verified(path, 1); }),
                  HasSubstr("damaged 1 of 1"));
      ++claims;
    }
  }
  EXPECT_EQ(claims, 24);
}

TEST_F(HostileShardTest, BlocksOfWhichEachOneIsDamaged) {
  constexpr unsigned kBlocks = 150'000;
  format::RawBlock raw;
  raw.append({});
  std::string bytes = shard_of({"raw", "test", {}}, raw, Codec::none, kBlocks);
  const std::size_t first = bytes.find("DBLK", format::kFileHeaderBytes + format::kBlockHeaderBytes);
  ASSERT_NE(first, std::string::npos);
  for (unsigned i = 0; i < kBlocks; ++i) bytes[first + std::size_t{i} * format::kBlockHeaderBytes + 60] ^= 1;
  for (const char* name : {"a.dvt", "b.dvt"}) put(name, bytes);
  const std::uint64_t index = kBlocks * (2 * format::kIndexEntryBytes + sizeof(std::uint64_t));
  const std::uint64_t listed = 65'536 * 400;
  EXPECT_THAT(
      expect_within("damaged blocks", 2 * index + listed + kLittle, [&] { return verified(folder_.path("*.dvt"), 2); }),
      HasSubstr("good 0, damaged 65536 of 300000"));
}

TEST_F(HostileShardTest, MessagesThatAreDeepOrLong) {
  format::RawBlock deep;
  format::RawBlock wide;
  for (const std::string& opening : {std::string("\x0b"), std::string("\x0a\x7f"), std::string("\x7b")}) {
    std::string nested;
    while (nested.size() + opening.size() <= format::kMaxManifestEntryBytes) nested += opening;
    deep.append(as_bytes(nested));
  }
  std::string unknown;
  while (unknown.size() + 3 <= format::kMaxManifestEntryBytes) unknown += "\x7a\x01x";  // a field of no known number
  for (int i = 0; i < 500; ++i) wide.append(as_bytes(unknown));
  for (const auto& [name, raw] : {std::pair("deep", &deep), std::pair("wide", &wide)}) {
    const std::string path =
        put("manifest.dvt", shard_of({format::kManifestRecordType, "test", {}}, *raw, Codec::none, 1));
    const std::string note = expect_within(name, 2 * raw->bytes.size() + kLittle, [&] {
      const auto dataset = Dataset::open(folder_.path());
      return dataset ? "opened" : dataset.error().to_string();
    });
    EXPECT_THAT(note, HasSubstr("manifest.dvt"));
  }
}

TEST_F(HostileShardTest, ExamplesThatExpandInColumns) {
  // A byte of the record for each number of 64 bits.
  const std::uint64_t numbers = 4 * kMiB;
  format::RawBlock raw;
  std::string packed(numbers, '\0');
  const auto varint = [](std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    return bytes + static_cast<char>(value);
  };
  const auto field = [&varint](unsigned number, const std::string& bytes) {
    return static_cast<char>(number << 3 | 2) + varint(bytes.size()) + bytes;
  };
  const std::string record = field(1, field(1, field(1, "x") + field(2, field(3, field(1, packed)))));
  raw.append(as_bytes(record));
  const std::string path = put("example.dvt", shard_of({"example", "test", {}}, raw, Codec::none, 6));
  ReaderOptions options{
      .plan = {.batch = 2}, .epochs = 1, .columns = parse_schema("x:i64[*]").value(), .decode_threads = 2};
  for (const std::uint64_t budget : {32 * kMiB, 512 * kMiB}) {
    for (const Oversize oversize : {Oversize::fail, Oversize::spill}) {
      options.memory_bytes = budget;
      options.oversize = oversize;
      // What spills, and what one record takes on each thread.
      const std::uint64_t beside = (oversize == Oversize::spill ? 8 * 2 * numbers * 4 : 0) + 2 * 9 * numbers;
      expect_within("columns", budget + 12 * kMiB + beside, [&] { return read_batches(path, options); });
    }
  }
}

}  // namespace
}  // namespace dovetail::test
