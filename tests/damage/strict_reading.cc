// SPDX-License-Identifier: Apache-2.0
#include "tests/damage/strict_reading.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "tests/support/fails.h"

namespace dovetail::test {

namespace {

// Hundreds of thousands of files: in memory they cost nothing.
const bool kInMemory = ::access("/dev/shm", W_OK) == 0 && ::setenv("TMPDIR", "/dev/shm", 1) == 0;

}  // namespace

FileInPlace::FileInPlace(std::string path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw std::runtime_error("cannot make " + path_);
}

FileInPlace::~FileInPlace() {
  ::close(file_);
}

void FileInPlace::write(std::string_view bytes) {
  const auto size = static_cast<off_t>(bytes.size());
  if (::pwrite(file_, bytes.data(), bytes.size(), 0) != size || ::ftruncate(file_, size) != 0) {
    throw std::runtime_error("cannot write " + path_);
  }
}

std::vector<std::optional<std::string>> salvage(RecordReader& reader) {
  std::vector<std::optional<std::string>> records;
  while (true) {
    const auto record = reader.next();
    if (!record) {
      EXPECT_THAT(record, Fails(ErrorKind::damaged));
      EXPECT_TRUE(record.error().offset().has_value()) << record.error().to_string();
      EXPECT_FALSE(record.error().path().empty()) << record.error().to_string();
      const LostRange lost = reader.skip_damage();
      EXPECT_LE(lost.first_record, records.size());
      EXPECT_GT(lost.end_record, records.size()) << record.error().to_string();
      if (lost.end_record <= records.size()) return records;
      records.resize(lost.end_record);
    } else if (*record) {
      records.emplace_back(as_chars(**record));
    } else {
      return records;
    }
  }
}

void expect_point_reads(RecordReader& reader, const std::vector<std::optional<std::string>>& records) {
  const std::size_t step = records.size() / 8 + 1;
  for (std::size_t id = records.size(); id > 0; id -= std::min(id, step)) {
    reader.seek(id - 1).value();
    const auto record = reader.next();
    ASSERT_EQ(record.has_value(), records[id - 1].has_value()) << "record " << id - 1;
    if (record.has_value()) {
      ASSERT_EQ(as_chars(record->value()), *records[id - 1]) << "record " << id - 1;
    }
  }
}

}  // namespace dovetail::test
