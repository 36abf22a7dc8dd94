// SPDX-License-Identifier: Apache-2.0
// What files that are made to take memory can take of it while they are converted, as the system
// counts it, against what SECURITY.md says.
#include <archive.h>
#include <archive_entry.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/record_source.h>

#include "format/tfrecord/tfrecord.h"
#include "tests/convert/mds_files.h"
#include "tests/convert/source_fixture.h"
#include "tests/soak/peak_memory.h"

namespace dovetail::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint32_t kMaxRecord = 1 << 20;

/// SECURITY.md: what reading a source takes, beside the names and offsets that some formats keep.
constexpr std::uint64_t kBound = 16 * kMiB + 8 * kMaxRecord;
/// What Zstandard remembers of its output, at the most.
constexpr std::uint64_t kZstdWindow = 128 * kMiB;

/// The map of a member with holes: 4 MiB of headers, twelve times.
constexpr std::uint64_t kTarMap = 64 * kMiB;

std::string times(std::uint64_t count, std::string_view piece) {
  std::string all;
  all.reserve(count * piece.size());
  for (std::uint64_t i = 0; i < count; ++i) all += piece;
  return all;
}

/// A gzip stream that holds `piece` so many times, of a member for each.
std::string gzip_times(std::uint64_t count, std::string_view piece) {
  return times(count, test::gzip(piece));
}

/// One stream of bzip2 or Zstandard that holds `piece` so many times.
std::string pack_times(std::uint64_t count, std::string_view piece, int filter, const char* options) {
  std::string out(16 * kMiB, '\0');
  std::size_t used = 0;
  archive* const packer = ::archive_write_new();
  archive_entry* const entry = ::archive_entry_new();
  ::archive_entry_set_filetype(entry, AE_IFREG);
  bool good = ::archive_write_add_filter(packer, filter) == ARCHIVE_OK &&
              ::archive_write_set_format_raw(packer) == ARCHIVE_OK &&
              ::archive_write_set_options(packer, options) == ARCHIVE_OK &&
              ::archive_write_set_bytes_in_last_block(packer, 1) == ARCHIVE_OK &&
              ::archive_write_open_memory(packer, out.data(), out.size(), &used) == ARCHIVE_OK &&
              ::archive_write_header(packer, entry) == ARCHIVE_OK;
  for (std::uint64_t i = 0; good && i < count; ++i) {
    good = ::archive_write_data(packer, piece.data(), piece.size()) == static_cast<la_ssize_t>(piece.size());
  }
  good = good && ::archive_write_close(packer) == ARCHIVE_OK;
  EXPECT_TRUE(good) << ::archive_error_string(packer);
  ::archive_entry_free(entry);
  ::archive_write_free(packer);
  out.resize(used);
  return out;
}

std::string tfrecord_head(std::uint64_t claimed) {
  std::array<std::byte, format::kTfrecordHeaderBytes> header;
  format::encode_tfrecord_header(claimed, header);
  return std::string(as_chars(header));
}

/// A Zstandard frame of `head` and so many blocks of 128 KiB of one byte, 4 bytes each, that asks
/// its decoder to remember 2^window_log bytes.
std::string zstd_bomb(const std::string& head, std::uint64_t blocks, unsigned window_log) {
  std::string frame("\x28\xb5\x2f\xfd\x00", 5);
  frame += static_cast<char>((window_log - 10) << 3);
  frame += le(head.size() << 3, 3) + head;
  const std::uint64_t block = (128u << 10) << 3 | 1 << 1;
  for (std::uint64_t i = 1; i <= blocks; ++i) frame += le(block | (i == blocks ? 1 : 0), 3) + "x";
  return frame;
}

class HostileSourceTest : public SourceTest {
 protected:
  void SetUp() override {
    if (!can_measure_peaks()) GTEST_SKIP() << "peaks cannot be measured here";
  }

  /// Reads all of it, skipping damage too; gives "records N", or the failure.
  std::string read(const std::string& path, SourceFormat format, std::uint64_t bound,
                   std::uint32_t max_record_bytes = kMaxRecord, const CsvOptions& csv = {}) {
    std::string outcome;
    for (const OnError on_error : {OnError::skip, OnError::fail}) {
      const Told told = peak_of([&](PeakMeter&) {
        SourceOptions options{.format = format, .max_record_bytes = max_record_bytes};
        options.on_error = on_error;
        options.csv = csv;
        auto source = RecordSource::open(path, options);
        if (!source) return source.error().to_string();
        for (std::uint64_t records = 0;; ++records) {
          const auto record = source->next();
          if (!record) return record.error().to_string();
          if (!*record) return "records " + std::to_string(records);
        }
      });
      EXPECT_TRUE(told.ended) << told.note;
      std::printf("%-28s %7ju bytes: peak %6.1f MiB of %5.1f; %.150s\n", std::filesystem::path(path).filename().c_str(),
                  size_of(path), static_cast<double>(told.peak) / kMiB, static_cast<double>(bound) / kMiB,
                  told.note.c_str());
      EXPECT_LE(static_cast<std::uint64_t>(told.peak), bound);
      outcome = told.note;
    }
    return outcome;
  }

  /// An MDS folder with one compressed shard.
  std::string put_mds(const std::string& name, const std::string& compression, std::uint64_t raw_bytes,
                      std::uint64_t samples, const std::string& columns, const std::string& stored) {
    const std::string file = "s.mds." + compression;
    put(name + "/" + file, stored);
    put(name + "/index.json",
        mds_index('{' + columns + R"(,"compression":")" + compression +
                  R"(","format":"mds","hashes":[],"raw_data":{"basename":"s.mds","bytes":)" +
                  std::to_string(raw_bytes) + R"(,"hashes":{}},"samples":)" + std::to_string(samples) +
                  R"(,"size_limit":67108864,"version":2,"zip_data":{"basename":")" + file + R"(","bytes":)" +
                  std::to_string(stored.size()) + R"(,"hashes":{}}})"));
    return folder_ / name;
  }

 private:
  static std::uintmax_t size_of(const std::string& path) {
    return std::filesystem::is_directory(path) ? 0 : std::filesystem::file_size(path);
  }
};

TEST_F(HostileSourceTest, OneLineOfAQuarterGiB) {
  const std::string piece(16 * kMiB, 'x');
  EXPECT_THAT(read(put("line.txt.gz", gzip_times(16, piece)), SourceFormat::lines, kBound), HasSubstr("longer than"));
  EXPECT_THAT(read(put("line.jsonl.gz", gzip_times(16, piece)), SourceFormat::jsonl, kBound), HasSubstr("longer than"));
  const std::string deep(512 << 10, '[');
  EXPECT_THAT(read(put("deep.jsonl", deep), SourceFormat::jsonl, kBound), HasSubstr("not JSON"));
}

TEST_F(HostileSourceTest, OneRowOfAQuarterGiB) {
  const std::string commas(16 * kMiB, ',');
  EXPECT_THAT(read(put("row.csv.gz", test::gzip("a,b\n") + gzip_times(16, commas)), SourceFormat::csv, kBound),
              HasSubstr("longer than"));
  const std::string text(16 * kMiB, 'x');
  EXPECT_THAT(read(put("quoted.csv.gz", test::gzip("a,b\n\"") + gzip_times(16, text)), SourceFormat::csv, kBound),
              HasSubstr("longer than"));
}

TEST_F(HostileSourceTest, RowsOfManyColumns) {
  constexpr std::size_t kMost = 1 << 16;
  std::string names;
  for (std::size_t i = 0; i != kMost; ++i) names += (i == 0 ? "n" : ",") + std::to_string(10'000 + i);
  EXPECT_EQ(read(put("names.csv", names + '\n' + std::string(kMost - 1, ',')), SourceFormat::csv, kBound), "records 1");
  EXPECT_THAT(read(put("name.csv", names + ",x\n"), SourceFormat::csv, kBound), HasSubstr("the limit is 65536"));
  const std::string commas((1 << 20) - 1, ',');
  for (const bool header : {false, true}) {
    const CsvOptions csv{.header = header};
    EXPECT_THAT(read(put("commas.csv", commas), SourceFormat::csv, kBound, kMaxRecord, csv), HasSubstr("the limit is"));
    const std::string most = commas.substr(0, kMost - 1);
    read(put("most.csv", most + '\n' + most), SourceFormat::csv, kBound, kMaxRecord, csv);
  }
}

TEST_F(HostileSourceTest, TfrecordsThatClaimMoreThanThereIs) {
  const std::string zeros(16 * kMiB, '\0');
  for (const std::uint64_t claimed : {std::uint64_t{1} << 31, std::uint64_t{1} << 63, UINT64_MAX}) {
    SCOPED_TRACE(claimed);
    const std::string head = tfrecord_head(claimed);
    const std::uint32_t most = 0xFFFFFFFFu;
    read(put("claim.tfrecord", head + "few"), SourceFormat::tfrecord, kBound, most);
    read(put("claim.tfrecord.gz", test::gzip(head + "few")), SourceFormat::tfrecord, kBound, most);
    read(put("claim.tfrecord.zz", zlib(head + "few")), SourceFormat::tfrecord, kBound, most);
    read(put("claim.tfrecord.snappy", snappy_blocks(head + "few", 1024)), SourceFormat::tfrecord, kBound, most);
    read(put("bomb.tfrecord.gz", test::gzip(head) + gzip_times(16, zeros)), SourceFormat::tfrecord, kBound);
  }
}

TEST_F(HostileSourceTest, SnappyBlocksAsLargeAsTheyGet) {
  // A block of 16 MiB that decodes to 352, and one that only says so.
  const std::string zeros(256 * kMiB, '\0');
  const std::string bomb = snappy_blocks(tfrecord_head(std::uint64_t{1} << 28) + zeros, 512 * kMiB);
  read(put("bomb.tfrecord.snappy", bomb), SourceFormat::tfrecord, kBound + 26 * bomb.size());
  std::string claim("\x00\x00\x00\x08\xff\xff\xff\xff\x03xyz", 12);
  read(put("claim.tfrecord.snappy", claim), SourceFormat::tfrecord, kBound);
  claim = std::string("\x3f\xff\xff\xff\x80\x80\x80\x80\x02", 9);
  read(put("long.tfrecord.snappy", claim), SourceFormat::tfrecord, kBound);
}

TEST_F(HostileSourceTest, TarsWithHeadersOfAQuarterGiB) {
  const std::string text(16 * kMiB, 'x');
  for (const char type : {'x', 'g', 'L', 'K'}) {
    const std::string head = tar_entry({"h", "", type, 256 * kMiB});
    read(put(std::string("header-") + type + ".tar.gz", test::gzip(head) + gzip_times(16, text)), SourceFormat::tar,
         kBound);
  }
  const std::string small = tar_entry({"h", "20 comment=abcdefgh\n", 'g'});
  read(put("many-headers.tar.gz", gzip_times(256, times(1024, small))), SourceFormat::tar, kBound);
}

TEST_F(HostileSourceTest, TarsWithMapsOfAQuarterGiB) {
  const std::string pax = "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n27 GNU.sparse.realsize=1\n";
  const std::string head = tar_entry({"h", pax, 'x'}) + tar_entry({"a.bin", "", '0', 256 * kMiB});
  const std::string map = test::gzip(head + "100000000\n") + gzip_times(16, times(4 * kMiB, "1\n1\n"));
  // libarchive 3.8 refuses it first.
  const auto refused = AnyOf(HasSubstr("longer than 4194304 bytes"), HasSubstr("Malformed sparse map data"));
  EXPECT_THAT(read(put("sparse.tar.gz", map), SourceFormat::tar, kBound + kTarMap), refused);

  std::string old = tar_entry({"a.bin", "", 'S', 0});
  old.replace(257, 8, std::string_view("ustar  \0", 8));  // GNU's
  old.replace(386, 24, times(2, std::string_view("00000000001\0", 12)));
  old[482] = 1;  // another header of 21 entries follows
  std::string more = times(42, std::string_view("00000000001\0", 12));
  more.resize(512, '\0');
  more[504] = 1;
  unsigned sum = 0;
  for (int i = 148; i < 156; ++i) old[static_cast<std::size_t>(i)] = ' ';
  for (const char c : old) sum += static_cast<unsigned char>(c);
  std::snprintf(&old[148], 8, "%06o", sum);
  EXPECT_THAT(read(put("old-sparse.tar.gz", test::gzip(old) + gzip_times(512, times(1024, more))), SourceFormat::tar,
                   kBound + kTarMap),
              refused);
}

TEST_F(HostileSourceTest, TarsWhoseMembersAreOneRecord) {
  // Every member is of the same key, with a long name and no bytes.
  std::string members;
  for (int i = 0; i < 256; ++i) {
    const std::string name = "k." + std::to_string(i) + std::string(1 << 16, 'e');
    std::string record = " path=" + name + "\n";
    std::size_t length = record.size() + 5;
    record = std::to_string(length) + record;
    members += test::gzip(tar_entry({"h", record, 'x'}) + tar_entry({"k.x", ""}));
  }
  members += test::gzip(std::string(1024, '\0'));
  EXPECT_THAT(read(put("names.tar.gz", members), SourceFormat::tar, kBound), HasSubstr("names of its members"));
  std::string many;
  for (int i = 0; i < 70'000; ++i) many += tar_entry({"k." + std::to_string(i), ""});
  EXPECT_THAT(read(put("members.tar", many + std::string(1024, '\0')), SourceFormat::tar, kBound),
              HasSubstr("more than 65536 members"));
  for (const std::uint64_t claimed : {std::uint64_t{1} << 40, (std::uint64_t{1} << 63) - 1, std::uint64_t{1} << 63}) {
    read(put("claim.tar", tar_entry({"a.bin", "few", '0', claimed})), SourceFormat::tar, kBound);
  }
  const std::string zeros(16 * kMiB, '\0');
  read(put("member.tar.gz", test::gzip(tar_entry({"a.bin", "", '0', 256 * kMiB})) + gzip_times(16, zeros)),
       SourceFormat::tar, kBound);
}

TEST_F(HostileSourceTest, MdsShardsThatExpand) {
  // One sample of a quarter GiB, and then as many samples as have no bytes at all.
  const std::string columns = R"("column_names":["t"],"column_encodings":["bytes"],"column_sizes":[null])";
  const std::string description = '{' + columns + '}';
  const std::string piece(16 * kMiB, '\0');
  const std::uint64_t raw = 4 + 8 + description.size() + 16 * piece.size();
  std::string head = le(1, 4) + le(4 + 8 + description.size(), 4) + le(raw, 4) + description;
  read(put_mds("mds-gz", "gz", raw, 1, columns, test::gzip(head) + gzip_times(16, piece)), SourceFormat::mds, kBound);
  const std::string whole = head + times(16, piece);
  read(put_mds("mds-bz2", "bz2", raw, 1, columns, pack_times(1, whole, ARCHIVE_FILTER_BZIP2, "")), SourceFormat::mds,
       kBound);
  read(put_mds("mds-zstd", "zstd", raw, 1, columns,
               pack_times(1, whole, ARCHIVE_FILTER_ZSTD, "zstd:compression-level=19")),
       SourceFormat::mds, kBound + kZstdWindow);

  EXPECT_THAT(read(put_mds("mds-window", "zstd", raw, 1, columns, zstd_bomb(head, 2048, 27)), SourceFormat::mds,
                   kBound + kZstdWindow),
              HasSubstr("the limit is 1048576"));
  EXPECT_THAT(
      read(put_mds("mds-huge-window", "zstd", raw, 1, columns, zstd_bomb(head, 2048, 31)), SourceFormat::mds, kBound),
      HasSubstr("a window of more than 128 MiB"));

  const std::string none = R"("column_names":["t"],"column_encodings":["bytes"],"column_sizes":[0])";
  const std::string none_said = '{' + none + '}';
  const std::uint64_t samples = 64 << 20;
  const std::uint64_t end = 4 + 4 * (samples + 1) + none_said.size();
  const std::string offsets = times(4 << 20, le(end, 4));
  EXPECT_THAT(read(put_mds("mds-offsets", "gz", end, samples, none,
                           test::gzip(le(samples, 4)) + gzip_times(16, offsets) + test::gzip(le(end, 4) + none_said)),
                   SourceFormat::mds, kBound),
              HasSubstr("claims 67108864 samples"));

  // A description of the columns that is JSON, and long.
  const std::uint64_t description_end = 4 + 8 + 64 * kMiB;
  read(put_mds("mds-description", "gz", description_end, 1, none,
               test::gzip(le(1, 4) + le(description_end, 4) + le(description_end, 4) + "[") +
                   gzip_times(16, times(1 << 20, "[],[")) + test::gzip("]")),
       SourceFormat::mds, kBound);
}

TEST_F(HostileSourceTest, LinesInStreamsThatExpand) {
  const std::string line(256 * kMiB, 'x');
  struct {
    const char* name;
    std::string bytes;
    std::uint64_t window;
  } const kCases[] = {
      {"line.bz2", pack_times(1, line, ARCHIVE_FILTER_BZIP2, ""), 0},
      {"line.zst", zstd_bomb("a\n", 2048, 27), kZstdWindow},
      {"line.xz", pack_times(1, line, ARCHIVE_FILTER_XZ, "xz:compression-level=0"), kMiB},
      {"window.xz", pack_times(1, line, ARCHIVE_FILTER_XZ, "xz:compression-level=9"), kZstdWindow},
  };
  for (const auto& [name, bytes, window] : kCases) {
    EXPECT_THAT(read(put(name, bytes), SourceFormat::lines, kBound + window), HasSubstr("longer than 1048576 bytes"));
  }
  EXPECT_THAT(read(put("window.zst", zstd_bomb("a\n", 2048, 31)), SourceFormat::lines, kBound),
              HasSubstr("a window of more than 128 MiB"));
}

TEST_F(HostileSourceTest, IdxAndRecordioThatClaim) {
  const std::string head("\x00\x00\x08\x03\xff\xff\xff\xff\x00\x01\x00\x00\x00\x01\x00\x00", 16);
  read(put("claim-idx3-ubyte", head + "few"), SourceFormat::idx, kBound);
  read(put("claim-idx3-ubyte.gz", test::gzip(head + "few")), SourceFormat::idx, kBound);
  const std::string items("\x00\x00\x08\x03\xff\xff\xff\xff\x00\x00\x40\x00\x00\x00\x40\x00", 16);  // 2^28 bytes each
  const std::string zeros(16 * kMiB, '\0');
  read(put("items-idx3-ubyte.gz", test::gzip(items + "few")), SourceFormat::idx, kBound, 0xFFFFFFFFu);
  read(put("bomb-idx3-ubyte.gz", test::gzip(items) + gzip_times(16, zeros)), SourceFormat::idx, kBound);
  const std::string magic("\x0a\x23\xd7\xce", 4);
  read(put("claim.rec", magic + "\xff\xff\xff\x1f" + "few"), SourceFormat::recordio, kBound, 0xFFFFFFFFu);
  const std::string middle = magic + le(2u << 29, 4);
  read(put("parts.rec", magic + le(1u << 29, 4) + times(4 << 20, middle)), SourceFormat::recordio, kBound);
}

}  // namespace
}  // namespace dovetail::test
