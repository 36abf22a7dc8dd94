// SPDX-License-Identifier: Apache-2.0
// RecordIO files: parts, image headers, indexes that fit and that do not, cuts and damage.
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/convert/mds_files.h"
#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

const std::string kMagic = le(0xCED7230A, 4);

std::string part(std::uint32_t kind, std::string_view bytes) {
  std::string out = kMagic + le(kind << 29 | bytes.size(), 4) + std::string(bytes);
  out.resize((out.size() + 3) / 4 * 4);
  return out;
}

// As dmlc's writer does: cut where the magic is at a multiple of 4.
std::string recordio(std::string_view payload) {
  std::vector<std::string> parts(1);
  for (std::size_t at = 0; at < payload.size();) {
    if (at % 4 == 0 && payload.substr(at, 4) == kMagic) {
      parts.emplace_back();
      at += 4;
    } else {
      parts.back() += payload[at++];
    }
  }
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint32_t kind = parts.size() == 1 ? 0 : i == 0 ? 1 : i + 1 == parts.size() ? 3 : 2;
    out += part(kind, parts[i]);
  }
  return out;
}

std::string image(std::vector<float> labels, std::uint64_t id, const std::string& bytes) {
  const bool one = labels.size() == 1;
  std::string out = le(one ? 0 : labels.size(), 4) + le(one ? std::bit_cast<std::uint32_t>(labels[0]) : 0, 4);
  out += le(id, 8) + le(0, 8);
  for (const float label : labels) {
    if (!one) out += le(std::bit_cast<std::uint32_t>(label), 4);
  }
  return out + bytes;
}

/// By this process, so far.
std::uint64_t bytes_read() {
  std::uint64_t bytes = 0;
  std::string name;
  std::ifstream("/proc/self/io") >> name >> bytes;
  return bytes;
}

class RecordioSourceTest : public test::SourceFileTest {
 protected:
  RecordioSourceTest() : SourceFileTest("input.rec") {}

  Error error_of(const SourceOptions& options = {.format = SourceFormat::recordio}) {
    return test::error_of(path_, options);
  }

  const std::string index_ = folder_ / "input.idx";
};

TEST_F(RecordioSourceTest, JoinsThePartsOfARecord) {
  const Records records = {
      "", "x", kMagic, "abcd" + kMagic + "efgh" + kMagic + kMagic, "odd" + kMagic, noise(3 << 20, 1)};
  std::string bytes;
  for (const std::string& record : records) bytes += recordio(record);
  RecordSource source = RecordSource::open(put(bytes)).value();
  EXPECT_EQ(source.format(), SourceFormat::recordio);
  EXPECT_FALSE(source.makes_examples());
  EXPECT_TRUE(read_source(std::move(source)).value() == records);
}

TEST_F(RecordioSourceTest, MakesExamplesOfImages) {
  put(recordio(image({2.5f}, 7, "\xFF\xD8\xFF...")) + recordio(image({1, 0, 3}, 8, "\xFF\xD8\xFF")));
  RecordSource source = RecordSource::open(path_).value();
  EXPECT_TRUE(source.makes_examples());
  const Records records = read_source(std::move(source)).value();
  EXPECT_EQ(example_text(records[0]), "id=[7] image=<\xFF\xD8\xFF...> label=(2.5)");
  EXPECT_EQ(example_text(records[1]), "id=[8] image=<\xFF\xD8\xFF> label=(1 0 3)");
  const SourceOptions raw{.records = RecordForm::raw};
  EXPECT_EQ(read_source(path_, raw).value()[0], image({2.5f}, 7, "\xFF\xD8\xFF..."));
  put(recordio("short"));
  EXPECT_TRUE(error_of({.records = RecordForm::example}).is(Errc::malformed_input));
  put(recordio(le(1000, 4) + std::string(30, 'x')));
  EXPECT_TRUE(error_of({.records = RecordForm::example}).is(Errc::malformed_input)) << "more labels than bytes";
}

TEST_F(RecordioSourceTest, TakesKeysFromTheIndex) {
  put(recordio("one") + recordio("three") + recordio("two"));
  write_file(index_, "13\t0\n7\t28\n5\t12\n");
  RecordSource source = RecordSource::open(path_).value();
  std::vector<std::string> keys;
  while (source.next().value()) keys.emplace_back(source.key());
  EXPECT_THAT(keys, ElementsAre("13", "5", "7"));
  EXPECT_EQ(RecordSource::open(folder_.path()).value().files(), 1u) << "the index holds no records";
  std::filesystem::remove(index_);
  std::filesystem::create_symlink("gone", index_);
  EXPECT_THAT(read_source(path_), Fails().in(index_)) << "it was not fetched";
}

// Its offsets are those of the plain file.
TEST_F(RecordioSourceTest, ReadsACompressedFileWithoutItsIndex) {
  const std::string first = recordio(image({2.5f}, 7, "\xFF\xD8\xFF"));
  const std::string packed = gzip(first + recordio(image({1}, 8, "\xFF\xD8\xFF")));
  write_file(index_, "1\t0\n2\t" + std::to_string(first.size()) + '\n');
  write_file(folder_ / "input.rec.gz", packed);
  for (const std::string& path : {folder_ / "input.rec.gz", folder_ / ""}) {
    const Records records = read_source(path).value();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(example_text(records[1]), "id=[8] image=<\xFF\xD8\xFF> label=(1)");
    EXPECT_THAT(parts_that_differ(path), IsEmpty());
  }
  std::filesystem::remove(folder_ / "input.rec.gz");
  EXPECT_EQ(read_source(put(packed)).value().size(), 2u) << "whatever its name is";
}

TEST_F(RecordioSourceTest, RefusesAnIndexThatDoesNotFit) {
  put(recordio("one") + recordio("three"));
  const std::pair<const char*, const char*> kCases[] = {
      {"0\t0\n", "only 1 record,"},
      {"0\t0\n1\t8\n", "next record begins at 8"},
      {"0\t0\n1\t12\n2\t20\n", "has ended"},
      {"0\t0\n1\t28\n", "line 2: offset 28"},
      {"0\t0\n1 12\n", "line 2: it must be a key"},
      {"0\tx\n", "not a number"},
      {"0\t0\n1\t0\n", "two keys"},
      {"", "only 0 records"},
  };
  for (const auto& [index, says] : kCases) {
    write_file(index_, index);
    EXPECT_THAT(error_of(), Fails(Errc::sidecar_mismatch).in(index_).saying(says)) << index;
  }
}

TEST_F(RecordioSourceTest, DoesNotReadAnIndexThatIsFarTooLong) {
  put(recordio("one"));
  write_file(index_, "0\t0\n");
  std::filesystem::resize_file(index_, std::uintmax_t{1} << 40);  // sparse
  EXPECT_THAT(error_of(), Fails(Errc::sidecar_mismatch).in(index_).saying("too many"));
  write_file(index_, std::string(100'000, 'k') + "\t0\n");
  EXPECT_TRUE(read_source(path_)) << "a long key is none of its business";
}

TEST_F(RecordioSourceTest, FindsEveryCutWithinARecord) {
  const std::string bytes = recordio("first") + recordio("ab" + kMagic + "cdab" + kMagic);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    if (size == 16) continue;  // between the two records: only an index can tell
    put(bytes.substr(0, size));
    EXPECT_TRUE(error_of().is(Errc::truncated)) << size;
    EXPECT_TRUE(error_of().offset().has_value());
  }
}

TEST_F(RecordioSourceTest, NamesWhatIsNoRecord) {
  const std::string good = recordio("good");
  const std::pair<std::string, const char*> kCases[] = {
      {"xxxx\4\0\0\0", "no magic at byte 12"},
      {part(2, "x"), "middle"},
      {part(1, "x") + part(0, "y"), "another record"},
      {part(5, "x"), "unknown kind of part"},
  };
  for (const auto& [bytes, says] : kCases) {
    put(good + std::string(bytes.data(), std::max<std::size_t>(bytes.size(), 8)));
    EXPECT_THAT(error_of(), Fails(Errc::malformed_input).at(12u).saying(says)) << says;
  }
  put(part(0, "12345"));
  EXPECT_TRUE(error_of({.max_record_bytes = 4}).is(Errc::record_too_large));
  put(part(1, "1234") + part(3, "1"));
  EXPECT_TRUE(error_of({.max_record_bytes = 8}).is(Errc::record_too_large)) << "joined";
}

TEST_F(RecordioSourceTest, GoesOnAtTheNextEntryOfTheIndexInAllRanges) {
  std::vector<std::string> records;
  std::string index;
  std::vector<std::size_t> begins;
  std::string bytes;
  for (std::uint64_t i = 0; i < 60; ++i) {
    begins.push_back(bytes.size());
    index += std::to_string(i) + '\t' + std::to_string(bytes.size()) + '\n';
    records.push_back(noise(20 + i * 37 % 900, i));
    bytes += recordio(records.back());
  }
  const SourceOptions skip{.format = SourceFormat::recordio, .on_error = OnError::skip};
  const auto damage = [&](std::size_t record, const std::string& header) {
    bytes.replace(begins[record], header.size(), header);
    records[record].clear();
  };
  damage(10, "xxxx");                   // no magic
  damage(20, kMagic + le(3, 4));        // too short
  damage(30, kMagic + le(2000, 4));     // reaches into those that follow
  damage(40, kMagic + le(1 << 28, 4));  // beyond the file
  damage(59, "xxxx");
  std::erase(records, "");
  put(bytes);
  EXPECT_EQ(read_source(path_, skip).value().size(), 10u) << "without an index the rest of the file is lost";
  EXPECT_THAT(parts_that_differ(path_, skip), IsEmpty());
  write_file(index_, index);
  RecordSource source = RecordSource::open(path_, skip).value();
  std::vector<std::string> keys;
  Records read;
  for (auto record = source.next().value(); record; record = source.next().value()) {
    keys.emplace_back(source.key());
    read.emplace_back(as_chars(*record));
  }
  EXPECT_TRUE(read == records);
  EXPECT_EQ(source.skipped(), 5u);
  EXPECT_THAT(std::vector<std::string>(keys.begin() + 8, keys.begin() + 12), ElementsAre("8", "9", "11", "12"));
  EXPECT_THAT(parts_that_differ(path_, skip), IsEmpty());
}

TEST_F(RecordioSourceTest, ReadsNoFurtherThanTheIndexSaysThatARecordReaches) {
  // Headers without bytes, each of which claims all that follow.
  constexpr std::uint32_t kRecords = 4096;
  std::string bytes;
  std::string index;
  for (std::uint32_t i = 0; i < kRecords; ++i) {
    index += std::to_string(i) + '\t' + std::to_string(bytes.size()) + '\n';
    bytes += kMagic + le((kRecords - i) * 8, 4);
  }
  put(bytes + recordio("good"));
  write_file(index_, index + "last\t" + std::to_string(bytes.size()) + '\n');
  const std::uint64_t before = bytes_read();
  const SourceOptions skip{.format = SourceFormat::recordio, .on_error = OnError::skip};
  RecordSource source = RecordSource::open(path_, skip).value();
  EXPECT_EQ(as_chars(source.next().value().value()), "good");
  EXPECT_EQ(source.skipped(), kRecords);
  EXPECT_FALSE(source.next().value());
  EXPECT_LE(bytes_read() - before, 4 * (bytes.size() + index.size()) + (2 << 20));
}

TEST_F(RecordioSourceTest, HoldsEachRecordOnceInRanges) {
  std::string bytes;
  std::string index;
  for (std::uint64_t i = 0; i < 400; ++i) {
    index += std::to_string(i) + '\t' + std::to_string(bytes.size()) + '\n';
    bytes += recordio(noise(i * 37 % 900, i));
  }
  put(bytes);
  EXPECT_THAT(parts_that_differ(path_), IsEmpty());
  write_file(index_, index);
  EXPECT_THAT(parts_that_differ(path_), IsEmpty()) << "with an index, by going there";
}

}  // namespace
}  // namespace dovetail::test
