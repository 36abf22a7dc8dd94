// SPDX-License-Identifier: Apache-2.0
// Sources that are compressed as a whole: the records of the plain file, whatever they were
// compressed with, and never those of a file that is cut, damaged or followed by something else.
#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/endian.h"
#include "sources/bytes/names.h"
#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

struct CompressedAs {
  Compression compression;
  const char* suffix;
};
const std::vector<CompressedAs> kCompressions = {
    {Compression::gzip, ".gz"}, {Compression::zstd, ".zst"}, {Compression::bzip2, ".bz2"}, {Compression::xz, ".xz"}};

struct Content {
  const char* name;
  SourceFormat format;
  std::string bytes;
};

// Enough that none of the libraries sees all of it at once.
std::vector<Content> contents() {
  std::string jsonl;
  std::string csv = "name,number\n";
  std::string lines;
  std::vector<TarEntry> members;
  const Records records = sample_records(3000, 300, 5);
  for (std::size_t i = 0; i < records.size(); ++i) {
    jsonl += "{\"n\": " + std::to_string(i * 7919 % 3000) + ", \"text\": \"" + std::string(i % 97, 'x') + "\"}\n";
    csv += "row " + std::to_string(i * 7919 % 3000) + ',' + std::to_string(i) + '\n';
    lines += "line " + std::to_string(i * 7919 % 3000) + '\n';
    members.push_back({std::to_string(i) + ".bin", records[i]});
  }
  std::string idx = {0, 0, 8, 1, 0, 0, 0x0B, static_cast<char>(0xB8)};  // 3000 bytes
  for (std::size_t i = 0; i < 3000; ++i) idx += static_cast<char>(i * 7919 % 251);
  std::string recordio;
  for (const std::string& record : records) {
    std::array<std::byte, 8> header;
    format::store_le<std::uint32_t>(header.data(), 0xCED7230A);
    format::store_le(header.data() + 4, static_cast<std::uint32_t>(record.size()));
    recordio += std::string(as_chars(header)) + record + std::string((4 - record.size() % 4) % 4, '\0');
  }
  return {{"a.jsonl", SourceFormat::jsonl, jsonl},
          {"a.csv", SourceFormat::csv, csv},
          {"a.txt", SourceFormat::lines, lines},
          {"a.tar", SourceFormat::tar, tar_bytes(members)},
          {"a.tfrecord", SourceFormat::tfrecord, tfrecord_bytes(records)},
          {"a-idx1-ubyte", SourceFormat::idx, idx},
          {"a.rec", SourceFormat::recordio, recordio}};
}

std::uint32_t crc32_of(const std::string& bytes) {
  return static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

class CompressedSourceTest : public SourceTest {
 protected:
  // Of all that can be read before a file fails.
  static Records read_good(const std::string& path, Error& error, const SourceOptions& options = {}) {
    Records records;
    auto source = RecordSource::open(path, options);
    if (!source) {
      error = source.error();
      return records;
    }
    for (;;) {
      auto record = source->next();
      if (!record) {
        error = record.error();
        return records;
      }
      if (!*record) return records;
      records.emplace_back(as_chars(**record));
    }
  }

  const std::vector<Content> contents_ = contents();
};

TEST_F(CompressedSourceTest, HoldsTheRecordsOfThePlainFile) {
  for (const Content& content : contents_) {
    const Records plain = read_source(put(content.name, content.bytes)).value();
    ASSERT_EQ(plain.size(), 3000u) << content.name;
    for (const CompressedAs& as : kCompressions) {
      const std::string path = put(std::string(content.name) + as.suffix, compress(content.bytes, as.compression));
      SCOPED_TRACE(path);
      auto source = RecordSource::open(path);
      ASSERT_TRUE(source) << source.error().to_string();
      EXPECT_EQ(source->format(), content.format);
      EXPECT_EQ(source->compression(), as.compression);
      EXPECT_TRUE(read_source(std::move(*source)).value() == plain);
      if (content.format == SourceFormat::jsonl) {  // what is before a record does not depend on the format
        EXPECT_THAT(parts_that_differ(path), IsEmpty());
      }
    }
  }
}

TEST_F(CompressedSourceTest, IsKnownWithoutItsName) {
  for (const Content& content : contents_) {
    if (content.format == SourceFormat::csv) continue;  // which only its name tells
    for (const CompressedAs& as : kCompressions) {
      const auto source = RecordSource::open(put("no_name", compress(content.bytes, as.compression)));
      ASSERT_TRUE(source) << content.name << as.suffix << ": " << source.error().to_string();
      EXPECT_EQ(source->format(), content.format) << content.name << as.suffix;
    }
  }
}

// Of a block or a frame that is larger than what is looked at of a plain file nothing is decoded
// before it is there.
TEST_F(CompressedSourceTest, IsKnownWhereBlocksAreLarge) {
  std::vector<TarEntry> members;
  for (const std::string& record : sample_records(3, 900'000, 5)) {
    members.push_back({std::to_string(members.size()) + ".bin", record + std::string(900'000 - record.size(), 'x')});
  }
  Records noise = sample_records(64, 65536, 9);
  for (const std::string& record : noise) members.push_back({std::to_string(members.size()) + ".bin", record});
  for (const CompressedAs& as : kCompressions) {
    const auto source = RecordSource::open(put("no_name", compress(tar_bytes(members), as.compression)));
    ASSERT_TRUE(source) << as.suffix << ": " << source.error().to_string();
    EXPECT_EQ(source->format(), SourceFormat::tar) << as.suffix;
  }
}

TEST_F(CompressedSourceTest, ReadsMembersThatFollowEachOtherAsOne) {
  for (const Content& content : contents_) {
    const Records plain = read_source(put(content.name, content.bytes)).value();
    for (const CompressedAs& as : kCompressions) {
      std::string joined = compress("", as.compression);
      const std::string_view bytes = content.bytes;
      for (const auto& [begin, end] :
           std::vector<std::pair<std::size_t, std::size_t>>{{0, 700}, {700, 701}, {701, 701}}) {
        joined += compress(bytes.substr(begin, end - begin), as.compression);
      }
      joined += compress(bytes.substr(701), as.compression);
      const auto read = read_source(put(std::string(content.name) + as.suffix, joined));
      ASSERT_TRUE(read) << content.name << as.suffix << ": " << read.error().to_string();
      EXPECT_TRUE(*read == plain) << content.name << as.suffix;
    }
  }
}

TEST_F(CompressedSourceTest, PassesOverWhatZstdSkipsAndXzPads) {
  const std::string frame = compress("one\ntwo\n", Compression::zstd);
  std::string skipped(8, '\0');  // as pzstd puts it before each frame, with the length of that
  format::store_le(reinterpret_cast<std::byte*>(skipped.data()), std::uint32_t{0x184D2A50});
  format::store_le(reinterpret_cast<std::byte*>(skipped.data()) + 4, std::uint32_t{4});
  skipped += "\x11\x22\x33\x44";
  EXPECT_THAT(read_source(put("a.zst", skipped + frame + skipped + frame + skipped)).value(),
              ElementsAre("one", "two", "one", "two"));

  const std::string stream = compress("one\ntwo\n", Compression::xz);
  const std::string padding(8, '\0');
  EXPECT_THAT(read_source(put("a.xz", stream + padding + stream + padding)).value(),
              ElementsAre("one", "two", "one", "two"));
  for (const std::string& wrong : {stream + std::string(5, '\0'), stream + std::string(5, '\0') + stream}) {
    EXPECT_FALSE(read_source(put("a.xz", wrong)));
  }
}

TEST_F(CompressedSourceTest, IsNeverReadToTheEndWhereItIsCut) {
  for (const CompressedAs& as : kCompressions) {
    const Content& content = contents_.front();
    const Records plain = read_source(put(content.name, content.bytes)).value();
    const std::string whole = compress(content.bytes, as.compression);
    std::vector<std::size_t> lengths = {whole.size() / 2, whole.size() - 9, whole.size() - 4, whole.size() - 1};
    for (std::size_t length = 1; length < 40; ++length) lengths.push_back(length);
    for (const std::size_t length : lengths) {
      const std::string path = put("a.jsonl", whole.substr(0, length));
      Error error;
      const Records read = read_good(path, error, {.format = SourceFormat::jsonl});
      SCOPED_TRACE(std::string(as.suffix) + " cut to " + std::to_string(length) + ": " + error.to_string());
      EXPECT_EQ(error.kind(), ErrorKind::damaged);
      EXPECT_EQ(error.path(), path);
      if (length > 10) {
        EXPECT_TRUE(error.is(Errc::truncated));
      }
      EXPECT_THAT(Records(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(read.size())), read);
    }
  }
}

// What an emptied file decodes to is nothing, and what is damaged at its beginning would be text.
TEST_F(CompressedSourceTest, IsDamagedWhereItDoesNotBeginAsItsNameSays) {
  struct Case {
    const char* name;
    std::string whole;
    SourceFormat format;
  };
  std::vector<Case> cases = {{"a.tgz", test::gzip(contents_[3].bytes), SourceFormat::tar},
                             {"a.tfrecord.gzip", test::gzip(contents_[4].bytes), SourceFormat::tfrecord},
                             {"a.tfrecord.zlib", test::zlib(contents_[4].bytes), SourceFormat::tfrecord}};
  std::vector<std::string> names;
  for (const Content& content : contents_) {
    for (const CompressedAs& as : kCompressions) names.push_back(std::string(content.name) + as.suffix);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Content& content = contents_[i / kCompressions.size()];
    const Compression compression = kCompressions[i % kCompressions.size()].compression;
    cases.push_back({names[i].c_str(), compress(content.bytes, compression), content.format});
  }
  for (const Case& each : cases) {
    for (const std::string& bytes : {std::string(), each.whole.substr(0, 1), 'X' + each.whole.substr(1)}) {
      const std::string path = put(each.name, bytes);
      for (const SourceFormat format : {SourceFormat::detect, each.format}) {
        const auto read = read_source(path, {.format = format});
        SCOPED_TRACE(path + ' ' + std::to_string(bytes.size()) + " bytes as " + std::string(to_string(format)));
        EXPECT_THAT(read, Fails(ErrorKind::damaged).in(path).saying("its name is that of "));
      }
      std::filesystem::remove(path);
    }
  }
}

TEST_F(CompressedSourceTest, IsDamagedInAFolderWhereOneFileIsEmpty) {
  for (const Content& content : contents_) {
    std::filesystem::create_directory(folder_ / "files");
    put("files/0." + std::string(content.name) + ".gz", "");
    put("files/1." + std::string(content.name) + ".gz", test::gzip(content.bytes));
    const auto read = read_source(folder_ / "files", {.format = content.format});
    ASSERT_THAT(read, Fails(Errc::truncated)) << content.name;
    EXPECT_THAT(read.error().path(), HasSubstr("/0.")) << read.error().to_string();
    std::filesystem::remove_all(folder_ / "files");
  }
}

TEST_F(CompressedSourceTest, IsDamagedWhereItIsCutBeforeTheFirstByte) {
  std::string lines;
  for (int line = 0; line < 2000; ++line) lines += std::to_string(line * 7919) + " words\n";
  for (const CompressedAs& as : kCompressions) {
    const std::string whole = compress(lines, as.compression);
    for (const std::size_t bytes : {std::size_t{20}, whole.size() / 4}) {
      EXPECT_THAT(read_source(put(std::string("a.txt") + as.suffix, whole.substr(0, bytes))), Fails(ErrorKind::damaged))
          << as.suffix;
    }
    // What little is decoded is no tar, and no text.
    std::string header(512, '\1');
    for (int at = 0; at < 512; ++at) header[static_cast<std::size_t>(at)] = static_cast<char>(at * at * 37);
    const std::string cut = compress(header + lines, as.compression).substr(0, 300);
    for (const char* const name : {"b.tar", "b"}) {
      EXPECT_THAT(read_source(put(std::string(name) + as.suffix, cut)), Fails(ErrorKind::damaged)) << as.suffix;
    }
  }
}

TEST_F(CompressedSourceTest, GivesWhatWasDecodedBeforeACut) {
  for (const CompressedAs& as : kCompressions) {
    const std::string first = compress("one\ntwo\n", as.compression);
    const std::string second = compress("three\n", as.compression);
    Error error;
    EXPECT_THAT(read_good(put("a.txt", first + second.substr(0, second.size() / 2)), error),
                AnyOf(ElementsAre("one", "two"), ElementsAre("one", "two", "three")));
    EXPECT_TRUE(error.is(Errc::truncated)) << as.suffix << ": " << error.to_string();
    EXPECT_EQ(error.offset(), first.size() + second.size() / 2) << as.suffix;
  }
}

// A changed byte may be one that says nothing, such as the time in a gzip; then the records are
// those that were.
TEST_F(CompressedSourceTest, NeverGivesOtherRecordsWhereItIsDamaged) {
  const Content& content = contents_[2];
  const Records plain = read_source(put(content.name, content.bytes)).value();
  for (const CompressedAs& as : kCompressions) {
    const std::string whole = compress(content.bytes, as.compression);
    std::size_t found = 0;
    constexpr std::size_t kMagic = 10;  // what no longer begins as compressed is text, if that was asked for
    constexpr std::size_t kTries = 97;
    for (std::size_t i = 0; i < kTries; ++i) {
      std::string damaged = whole;
      const std::size_t end = whole.size() - 6;  // within the CRC of gzip, which nothing but it tells
      damaged[i == 0 ? end : kMagic + i * (whole.size() - kMagic) / kTries] ^= 0x10;
      const auto read = read_source(put("a.txt", damaged), {.format = SourceFormat::lines});
      if (!read) {
        EXPECT_THAT(read, Fails(ErrorKind::damaged));
        ++found;
      } else {
        EXPECT_TRUE(*read == plain) << as.suffix << ' ' << i;
      }
    }
    EXPECT_GT(found, kTries - 5) << as.suffix;
  }
}

TEST_F(CompressedSourceTest, IsAnErrorWhereSomethingElseFollows) {
  for (const Content& content : contents_) {
    for (const CompressedAs& as : kCompressions) {
      const std::string whole = compress(content.bytes, as.compression);
      for (const std::string_view more : {"x", "more of it, as text", "\x1F\x8B", "\xFD", "B"}) {
        const auto read = read_source(put(std::string(content.name) + as.suffix, whole + std::string(more)));
        SCOPED_TRACE(std::string(content.name) + as.suffix + " and " + std::string(more));
        ASSERT_THAT(read, AnyOf(Fails(Errc::decompression), Fails(Errc::truncated)));
        EXPECT_GE(read.error().offset().value_or(0), whole.size());
      }
    }
  }
}

TEST_F(CompressedSourceTest, TellsThatRecordsBeforeAWrongChecksumMayBeWrong) {
  for (const Content& content : contents_) {
    std::string packed = test::gzip(content.bytes);
    packed[packed.size() - 8] ^= 1;  // in the checksum
    std::vector<Error> skipped;
    SourceOptions options{.on_error = OnError::skip};
    options.skipped = [&](const SkippedRecord& record) { skipped.push_back(record.error); };
    const std::string path = put(std::string(content.name) + ".gz", packed);
    EXPECT_THAT(read_source(path, options).value(), Not(IsEmpty())) << path;
    ASSERT_EQ(skipped.size(), 1u) << path;
    EXPECT_THAT(skipped[0], Fails(Errc::decompression).in(path));
    const bool has_checksums = path.find(".tfrecord") != path.npos;
    EXPECT_EQ(skipped[0].detail().find("may be wrong, too; leave the file out") == path.npos, has_checksums) << path;
  }
}

TEST_F(CompressedSourceTest, MayBeEmpty) {
  for (const CompressedAs& as : kCompressions) {
    const std::string path = put(std::string("a.jsonl") + as.suffix, compress("", as.compression));
    EXPECT_THAT(RecordSource::open(path), Fails().saying("the file is empty"));
    for (const SourceFormat format : {SourceFormat::jsonl, SourceFormat::lines, SourceFormat::tfrecord}) {
      EXPECT_THAT(read_source(path, {.format = format}).value(), IsEmpty()) << as.suffix;
    }
  }
}

TEST_F(CompressedSourceTest, IsRefusedWhereItsWindowTakesMuchMemory) {
  const std::string text = "one\ntwo\n";
  std::string xz = compress(text, Compression::xz);
  // The size of the dictionary in the header of the first block: 2^30 bytes, and the CRC of that
  // header.
  constexpr std::size_t kBlock = 12;
  const std::size_t header = (static_cast<unsigned char>(xz[kBlock]) + 1u) * 4;
  const std::size_t properties = xz.find("\x21\x01", kBlock);
  ASSERT_LT(properties, kBlock + header);
  xz[properties + 2] = 36;
  const auto crc = crc32_of(xz.substr(kBlock, header - 4));
  format::store_le(reinterpret_cast<std::byte*>(xz.data()) + kBlock + header - 4, crc);
  // A frame whose header has a window of 2^30 bytes and no size; a last block of raw bytes.
  std::string zstd = {'\x28', '\xB5', '\x2F', '\xFD', 0, static_cast<char>((30 - 10) << 3)};
  zstd += {static_cast<char>(text.size() << 3 | 1), 0, 0};
  zstd += text;
  for (const std::string& bytes : {xz, zstd}) {
    EXPECT_THAT(read_source(put("a.txt", bytes), {.format = SourceFormat::lines}),
                Fails(Errc::decompression).saying("128 MiB"));
  }
  zstd[5] = static_cast<char>((27 - 10) << 3);
  EXPECT_THAT(read_source(put("a.txt", zstd)).value(), ElementsAre("one", "two"));
}

TEST_F(CompressedSourceTest, CanBeCancelledWhileLittleInputBecomesMuch) {
  const std::string endless(std::size_t{16} << 20, 'x');  // no newline, so no record comes
  for (const CompressedAs& as : kCompressions) {
    const std::string path = put("a.txt", compress(endless, as.compression));
    int asked = 0;
    SourceOptions options{.format = SourceFormat::lines};
    options.cancelled = [&asked] { return ++asked > 20; };
    EXPECT_THAT(read_source(path, options), Fails(ErrorKind::cancelled)) << as.suffix;
  }
}

TEST_F(CompressedSourceTest, NamesPromiseWhatTheyPromiseWithoutTheCompression) {
  for (const CompressedAs& as : kCompressions) {
    for (const auto& [name, format] :
         std::vector<std::pair<std::string, SourceFormat>>{{"a.jsonl", SourceFormat::jsonl},
                                                           {"a.csv", SourceFormat::csv},
                                                           {"a.tsv", SourceFormat::csv},
                                                           {"a.tar", SourceFormat::tar},
                                                           {"a.tfrecord", SourceFormat::tfrecord},
                                                           {"a.rec", SourceFormat::recordio},
                                                           {"a.dvt", SourceFormat::dovetail},
                                                           {"A.TAR", SourceFormat::tar},
                                                           {"A.DVT", SourceFormat::dovetail},
                                                           {"x-images-idx3-ubyte", SourceFormat::idx}}) {
      EXPECT_EQ(detail::format_of_name(name + as.suffix), format) << name << as.suffix;
    }
    EXPECT_TRUE(detail::has_tsv_name(std::string("a.tsv") + as.suffix));
    EXPECT_THAT(detail::labels_of_images(std::string("x-images-idx3-ubyte") + as.suffix),
                ::testing::Contains(std::string("x-labels-idx1-ubyte") + as.suffix));
  }
  for (const char* const tar : {"a.tgz", "a.tzst", "a.tbz2", "a.txz"}) {
    EXPECT_EQ(detail::format_of_name(tar), SourceFormat::tar) << tar;
  }
}

}  // namespace
}  // namespace dovetail::test
