// SPDX-License-Identifier: Apache-2.0
// What input can make the converters take of memory, and what is said where there is none.
#include <archive.h>
#include <archive_entry.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include <dovetail/convert.h>

#include "convert/spill.h"
#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/replaced_new.h"
#include "tfrecord/tfrecord_output.h"

namespace dovetail::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// A member of so many bytes, of which only the last ones are stored.
std::string sparse_tar(std::size_t bytes) {
  std::string tar(kMiB, '\0');
  std::size_t size = 0;
  archive* const writer = ::archive_write_new();
  archive_entry* const entry = ::archive_entry_new();
  ::archive_entry_set_pathname(entry, "a.bin");
  ::archive_entry_set_filetype(entry, AE_IFREG);
  ::archive_entry_set_perm(entry, 0644);
  ::archive_entry_set_size(entry, static_cast<la_int64_t>(bytes));
  for (std::size_t at = kMiB; at <= bytes; at += kMiB) {
    ::archive_entry_sparse_add_entry(entry, static_cast<la_int64_t>(at - 1), 1);
  }
  EXPECT_EQ(::archive_write_set_format_pax(writer), ARCHIVE_OK);
  EXPECT_EQ(::archive_write_open_memory(writer, tar.data(), tar.size(), &size), ARCHIVE_OK);
  EXPECT_EQ(::archive_write_header(writer, entry), ARCHIVE_OK) << ::archive_error_string(writer);
  const std::string zeros(kMiB, 'x');
  for (std::size_t at = 0; at < bytes; at += kMiB) ::archive_write_data(writer, zeros.data(), zeros.size());
  EXPECT_EQ(::archive_write_close(writer), ARCHIVE_OK) << ::archive_error_string(writer);
  ::archive_entry_free(entry);
  ::archive_write_free(writer);
  tar.resize(size);
  return tar;
}

class MemoryTest : public SourceTest {
 protected:
  /// Bytes that reading all of a source takes at most, and what comes of it.
  std::size_t memory_of(const std::string& path, const SourceOptions& options, Result<void>& outcome) {
    forget_peak();
    const std::size_t before = allocated_bytes();
    outcome = [&]() -> Result<void> {
      auto source = RecordSource::open(path, options);
      if (!source) return source.error();
      for (;;) {
        const auto record = source->next();
        if (!record) return record.error();
        if (!*record) return {};
      }
    }();
    return peak_bytes() - before;
  }
};

TEST_F(MemoryTest, OfAMemberWithHolesIsThatOfItsRecord) {
  for (const std::size_t bytes : {33 * kMiB, 64 * kMiB}) {
    const std::string tar = sparse_tar(bytes);
    ASSERT_LT(tar.size(), bytes / 2);
    Result<void> read;
    const std::size_t taken = memory_of(put("a.tar", tar), {.format = SourceFormat::tar}, read);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_LT(taken, bytes * 9 / 4 + 4 * kMiB) << "the member, and the Example with it";
  }
}

TEST_F(MemoryTest, OfARowOfCommasIsThatOfTheRow) {
  const std::string commas(32 * kMiB, ',');
  Result<void> read;
  const std::size_t taken = memory_of(put("a.csv", "a,b\n" + commas + "\n"), {.format = SourceFormat::csv}, read);
  EXPECT_THAT(read, Fails(Errc::malformed_input).saying(std::to_string(commas.size() + 1) + " fields for 2"));
  EXPECT_LT(taken, commas.size() * 3 + 4 * kMiB);
}

TEST_F(MemoryTest, OfAHeaderOfCommasHasALimit) {
  const std::string commas(32 * kMiB, ',');
  Result<void> read;
  const std::size_t taken = memory_of(put("a.csv", commas + "\n"), {.format = SourceFormat::csv}, read);
  EXPECT_THAT(read, Fails(Errc::malformed_input).saying("columns"));
  EXPECT_LT(taken, commas.size() * 3 + 64 * kMiB);
}

TEST_F(MemoryTest, OfALargeRecordIsNotKeptByATfrecordFile) {
  auto output = detail::TfrecordOutput::create(detail::OutputFolder::open(folder_.path()).value(), "a.tfrecord",
                                               TfrecordCompression::none)
                    .value();
  const std::size_t before = allocated_bytes();
  ASSERT_TRUE(output.append(as_bytes(std::string(32 * kMiB, 'x'))));
  EXPECT_LT(allocated_bytes(), before + 4 * kMiB);
}

TEST_F(MemoryTest, OfAShuffleHasNoBuffersOnceAllRecordsAreSpilled) {
  constexpr std::size_t kBuckets = 8;
  const auto folder = detail::OutputFolder::open(folder_.path()).value();
  const std::size_t before = allocated_bytes();
  const auto spill = detail::Spill::create(*folder, kBuckets, kBuckets * kMiB).value();
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) spill->add(bucket, {}, as_bytes("record")).value();
  EXPECT_GE(allocated_bytes(), before + kBuckets * kMiB);
  spill->flush().value();
  EXPECT_LT(allocated_bytes(), before + kMiB) << "what reads the buckets needs the memory";
}

TEST_F(MemoryTest, ThatIsShortIsAnErrorThatNamesTheFile) {
  put("lines/a.txt", "short\n");
  const std::string path = put("lines/b.txt", "short\n" + std::string(8 * kMiB, 'x') + "\n");
  for (const OnError on_error : {OnError::fail, OnError::skip}) {
    ConvertOptions options{.sources = {folder_ / "lines"}, .from = SourceFormat::lines};
    options.source.on_error = on_error;
    set_memory_rule([](std::size_t bytes) { return bytes < 4 * kMiB; });
    const auto converted = convert(folder_ / "out", options);
    set_memory_rule(nullptr);
    ASSERT_THAT(converted, Fails(boost::system::errc::not_enough_memory).in(path));
  }
}

}  // namespace
}  // namespace dovetail::test
