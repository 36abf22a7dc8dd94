// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/contestants.h"
#include "bench/files.h"
#include "bench/leveldb_log.h"
#include "bench/shuffled_rows.h"
#include "format/crc32c/crc32c.h"
#include "format/endian.h"

namespace dovetail::bench {

namespace {

/// Records of one file, block by block. A record that lies in one block is copied once.
class LogFile {
 public:
  explicit LogFile(const std::string& path) : file_(path), block_(kLogBlockBytes) {}

  void rewind() {
    offset_ = 0;
    rest_ = {};
  }

  bool next(std::string& record) {
    bool begun = false;
    for (;;) {
      if (rest_.size() < kLogHeaderBytes && !refill()) {
        if (begun) throw std::runtime_error("a log ends within a record");
        return false;
      }
      const auto type = static_cast<LogFragment>(rest_[6]);
      const auto length = format::load_le<std::uint16_t>(rest_.data() + 4);
      if (rest_.size() - kLogHeaderBytes < length) throw std::runtime_error("a log has a wrong length");
      const auto bytes = rest_.subspan(kLogHeaderBytes, length);
      if (log_crc(type, bytes) != format::load_le<std::uint32_t>(rest_.data())) {
        throw std::runtime_error("a log fails its CRC");
      }
      rest_ = rest_.subspan(kLogHeaderBytes + length);
      const bool begins = type == LogFragment::full || type == LogFragment::first;
      if (begins == begun) throw std::runtime_error("a log has a fragment out of place");
      if (begins) {
        record.assign(as_chars(bytes));
        begun = true;
      } else {
        record.append(as_chars(bytes));
      }
      if (type == LogFragment::full || type == LogFragment::last) return true;
    }
  }

 private:
  bool refill() {
    const std::size_t got = file_.read_some(offset_, block_);
    offset_ += got;
    rest_ = std::span(block_).first(got);
    return got != 0;
  }

  ReadFile file_;
  std::vector<std::byte> block_;
  std::uint64_t offset_ = 0;
  std::span<const std::byte> rest_;
};

}  // namespace

std::uint32_t log_crc(LogFragment type, ByteView bytes) noexcept {
  const auto byte = static_cast<std::byte>(type);
  return format::mask_crc(format::crc32c(bytes, format::crc32c({&byte, 1})));
}

void LogWriter::append(ByteView record) {
  bool begins = true;
  do {
    std::size_t room = kLogBlockBytes - in_block_;
    constexpr std::array<char, kLogHeaderBytes> zeros{};
    if (room < kLogHeaderBytes) {
      file_.write(zeros.data(), static_cast<std::streamsize>(room));
      room = kLogBlockBytes;
      in_block_ = 0;
    }
    const ByteView bytes = record.first(std::min(record.size(), room - kLogHeaderBytes));
    record = record.subspan(bytes.size());
    const bool ends = record.empty();
    const LogFragment type =
        begins ? (ends ? LogFragment::full : LogFragment::first) : (ends ? LogFragment::last : LogFragment::middle);
    std::array<std::byte, kLogHeaderBytes> header;
    format::store_le(header.data(), log_crc(type, bytes));
    format::store_le(header.data() + 4, static_cast<std::uint16_t>(bytes.size()));
    header[6] = static_cast<std::byte>(type);
    file_.write(as_chars(header).data(), static_cast<std::streamsize>(header.size()));
    file_.write(as_chars(bytes).data(), static_cast<std::streamsize>(bytes.size()));
    in_block_ += header.size() + bytes.size();
    begins = false;
  } while (!record.empty());
}

Outcome run_leveldb_log(const Job& job) {
  return run_shuffled<LogFile>(job, share_of(files_in(job.data, ".log"), job.rank, job.world));
}

}  // namespace dovetail::bench
