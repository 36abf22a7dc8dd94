// SPDX-License-Identifier: Apache-2.0
// Shards of MosaicML that are compressed as a whole: what they hold, and that the index is not
// believed.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sources/bytes/hashes.h"
#include "tests/convert/mds_files.h"
#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

struct Packing {
  const char* compression;
  const char* suffix;
  std::string (*pack)(std::string_view);
};

const Packing kGzip{"gz", "gz", gzip};
const Packing kBzip2{"bz2:9", "bz2", [](std::string_view bytes) { return compress(bytes, Compression::bzip2); }};
const Packing kZstd{"zstd:7", "zstd", [](std::string_view bytes) { return compress(bytes, Compression::zstd); }};
const Packing kPackings[] = {
    kGzip, kBzip2, kZstd, {"zstd", "zstd", kZstd.pack}, {"gz:6", "gz", kGzip.pack}, {"bz2", "bz2", kBzip2.pack}};

std::string entry(const Packing& packing, std::uint64_t raw, std::uint64_t stored, std::size_t samples,
                  const std::string& hashes = "") {
  return '{' + kMdsColumns + R"(,"compression":")" + packing.compression +
         R"(","format":"mds","hashes":[],"raw_data":{"basename":"s.mds","bytes":)" + std::to_string(raw) +
         R"(,"hashes":{)" + hashes + R"(}},"samples":)" + std::to_string(samples) +
         R"(,"size_limit":67108864,"version":2,"zip_data":{"basename":"s.mds.)" + packing.suffix + R"(","bytes":)" +
         std::to_string(stored) + R"(,"hashes":{}}})";
}

class MdsCompressedTest : public FolderTest {
 protected:
  MdsCompressedTest() {
    std::filesystem::create_directory(root_);
    std::vector<std::string> samples;
    for (int i = 0; i < 3000; ++i) {
      samples.push_back(mds_sample(i, 0, sample_records(1, 90, static_cast<std::uint64_t>(i)).front()));
    }
    large_ = mds_shard(samples);
  }
  void put(const std::string& name, std::string_view bytes) { write_file(root_ + '/' + name, bytes); }
  void put_packed(const Packing& packing, const std::string& raw, std::size_t samples, const std::string& hashes = "") {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directory(root_);
    const std::string stored = packing.pack(raw);
    put(std::string("s.mds.") + packing.suffix, stored);
    put("index.json", mds_index(entry(packing, raw.size(), stored.size(), samples, hashes)));
  }
  Error error_of() { return test::error_of(root_); }

  const std::string root_ = folder_ / "mds";
  const std::string small_ = mds_shard({mds_sample(-5, 0x3C00, "one"), mds_sample(7, 0, "")});
  std::string large_;
};

TEST_F(MdsCompressedTest, HoldsTheSamplesOfThePlainShard) {
  put("s.mds", large_);
  put("index.json", mds_index(mds_entry("s.mds", large_.size(), 3000)));
  const Records plain = read_source(root_).value();
  ASSERT_EQ(plain.size(), 3000u);
  for (const Packing& packing : kPackings) {
    put_packed(packing, large_, 3000);
    const auto read = read_source(root_);
    ASSERT_TRUE(read) << packing.compression << ": " << read.error().to_string();
    EXPECT_TRUE(*read == plain) << packing.compression;
    EXPECT_THAT(parts_that_differ(root_), IsEmpty()) << packing.compression;
  }
}

TEST_F(MdsCompressedTest, SaysHowItIsCompressed) {
  const std::map<const Packing*, Compression> kKinds = {
      {&kGzip, Compression::gzip}, {&kBzip2, Compression::bzip2}, {&kZstd, Compression::zstd}};
  for (const auto& [packing, compression] : kKinds) {
    put_packed(*packing, small_, 2);
    RecordSource source = RecordSource::open(root_).value();
    ASSERT_TRUE(source.next().value());
    EXPECT_EQ(source.compression(), compression);
    EXPECT_EQ(source.input_bytes(), std::filesystem::file_size(root_ + "/s.mds." + packing->suffix));
  }
}

TEST_F(MdsCompressedTest, TakesTheRawShardWhereItIsThere) {
  for (const char* const suffix : {"zstd", "br"}) {
    const Packing gone{suffix, suffix, nullptr};
    put("s.mds", small_);
    put("index.json", mds_index(entry(gone, small_.size(), 17, 2)));
    EXPECT_EQ(read_source(root_).value().size(), 2u) << suffix;
  }
}

TEST_F(MdsCompressedTest, RefusesABombAtOnce) {
  for (const Packing& packing : {kGzip, kBzip2, kZstd}) {
    const std::string stored = packing.pack(small_ + std::string(50'000'000, '\0'));
    put(std::string("s.mds.") + packing.suffix, stored);
    put("index.json", mds_index(entry(packing, small_.size(), stored.size(), 2)));
    const Error bomb = error_of();
    EXPECT_THAT(bomb, Fails(Errc::sidecar_mismatch)
                          .in(root_ + "/s.mds." + packing.suffix)
                          .saying("more bytes than the " + std::to_string(small_.size()) + " in its index"));
    EXPECT_TRUE(bomb.offset().has_value());
  }
}

TEST_F(MdsCompressedTest, FindsAnIndexThatDisagreesWithItsShard) {
  for (const Packing& packing : {kGzip, kBzip2, kZstd}) {
    const std::string stored = packing.pack(small_);
    put(std::string("s.mds.") + packing.suffix, stored);
    for (const auto& [raw, kept] : std::map<std::uint64_t, std::uint64_t>{{small_.size(), stored.size() + 1},
                                                                          {small_.size() + 1, stored.size()}}) {
      put("index.json", mds_index(entry(packing, raw, kept, 2)));
      EXPECT_THAT(error_of(), Fails(ErrorKind::damaged).in(root_ + "/s.mds." + packing.suffix)) << packing.compression;
    }
  }
}

TEST_F(MdsCompressedTest, FindsDamageCutsAndWhatFollows) {
  for (const Packing& packing : {kGzip, kBzip2, kZstd}) {
    const std::string stored = packing.pack(large_);
    const std::string name = std::string("s.mds.") + packing.suffix;
    const auto read = [&](const std::string& bytes) {
      put(name, bytes);
      put("index.json", mds_index(entry(packing, large_.size(), bytes.size(), 3000)));
      return error_of();
    };
    const Error cut = read(stored.substr(0, stored.size() / 2));
    EXPECT_TRUE(cut.is(Errc::truncated)) << packing.compression << ": " << cut.to_string();
    EXPECT_TRUE(cut.offset().has_value());
    const Error more = read(stored + "more");
    EXPECT_TRUE(more.is(Errc::decompression) || more.is(Errc::truncated))
        << packing.compression << ": " << more.to_string();
    EXPECT_THAT(read(large_.substr(0, 1000)), Fails(Errc::decompression)) << packing.compression;
  }
}

TEST_F(MdsCompressedTest, ChecksHashesWhereTheIndexHasThem) {
  for (const char* const name : {"xxh32", "xxh64", "xxh3_64", "xxh128", "xxh3_128"}) {
    const auto hash = detail::make_content_hash(name);
    const auto told = [&] { return '"' + std::string(name) + "\":\"" + hash->hex() + '"'; };
    put_packed(kZstd, large_, 3000, told());
    EXPECT_THAT(error_of(), Fails(Errc::sidecar_mismatch).saying(name));
    hash->add(as_bytes(large_).first(1));
    hash->add(as_bytes(large_).subspan(1));
    put_packed(kZstd, large_, 3000, told());
    EXPECT_EQ(read_source(root_).value().size(), 3000u) << name;
  }
  put_packed(kZstd, small_, 2, R"("of_tomorrow":"00")");
  EXPECT_EQ(read_source(root_).value().size(), 2u) << "what is not known is not checked";
}

// As the authors of the functions publish them.
TEST(ContentHashTest, IsThatOfOtherPrograms) {
  const std::map<std::string, std::string> kOfNothing = {{"xxh32", "02cc5d05"},
                                                         {"xxh64", "ef46db3751d8e999"},
                                                         {"xxh3_64", "2d06800538d394c2"},
                                                         {"xxh128", "99aa06d3014798d86001c324468d497f"}};
  for (const auto& [name, digits] : kOfNothing) EXPECT_EQ(detail::make_content_hash(name)->hex(), digits);
  const auto hash = detail::make_content_hash("xxh64");
  hash->add(as_bytes(std::string_view("abc")));
  EXPECT_EQ(hash->hex(), "44bc2cf5ad770999");
  EXPECT_EQ(detail::make_content_hash("sha0"), nullptr);
}

TEST_F(MdsCompressedTest, NamesWhatCanBeRead) {
  for (const char* const name : {"br", "br:11", "snappy", "rar"}) {
    const Packing packing{name, "x", nullptr};
    put("s.mds.x", "anything");
    put("index.json", mds_index(entry(packing, 10, 8, 2)));
    EXPECT_THAT(error_of(), Fails(Errc::unknown_format).in(root_ + "/index.json").saying("gz, bz2 and zstd"));
  }
}

TEST_F(MdsCompressedTest, SkipsSingleSamplesAndTheRestBehindDamage) {
  std::string bad = mds_sample(2, 0, "bad");
  bad[0] = 9;
  const std::string raw = mds_shard({mds_sample(1, 0, "a"), bad, mds_sample(3, 0, "c")});
  put_packed(kBzip2, raw, 3, R"("xxh64":"ef46db3751d8e999")");
  std::vector<std::string> said;
  SourceOptions options{.on_error = OnError::skip};
  options.skipped = [&said](const SkippedRecord& record) { said.push_back(record.error.detail()); };
  EXPECT_EQ(read_source(root_, options).value().size(), 2u);
  EXPECT_THAT(said, ElementsAre(HasSubstr("sample 1"), HasSubstr("xxh64")));
}

}  // namespace
}  // namespace dovetail::test
