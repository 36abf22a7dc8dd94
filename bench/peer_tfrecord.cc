// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <vector>

#include "bench/contestants.h"
#include "bench/files.h"
#include "bench/shuffled_rows.h"
#include "format/tfrecord/tfrecord.h"

namespace dovetail::bench {

namespace {

/// Records of one file, through one buffer. Bytes go from the buffer to the record, and the CRC is
/// taken there.
class TfrecordFile {
 public:
  explicit TfrecordFile(const std::string& path) : file_(path), buffer_(kBufferBytes) {}

  void rewind() {
    offset_ = 0;
    rest_ = {};
  }

  bool next(std::string& record) {
    std::array<std::byte, format::kTfrecordHeaderBytes> header;
    if (rest_.empty() && !refill()) return false;
    take(header);
    const auto length = format::decode_tfrecord_header(header);
    if (!length) throw std::runtime_error("a TFRecord length fails its CRC");
    record.clear();
    append(record, *length);
    std::array<std::byte, format::kTfrecordFooterBytes> footer;
    take(footer);
    if (!format::check_tfrecord_footer(as_bytes(record), footer)) {
      throw std::runtime_error("a TFRecord fails its CRC");
    }
    return true;
  }

 private:
  static constexpr std::size_t kBufferBytes = 256 << 10;

  bool refill() {
    const std::size_t got = file_.read_some(offset_, buffer_);
    offset_ += got;
    rest_ = std::span(buffer_).first(got);
    return got != 0;
  }

  std::span<const std::byte> some(std::size_t at_most) {
    if (rest_.empty() && !refill()) throw std::runtime_error("a TFRecord is cut");
    const auto piece = rest_.first(std::min(at_most, rest_.size()));
    rest_ = rest_.subspan(piece.size());
    return piece;
  }

  void take(std::span<std::byte> out) {
    while (!out.empty()) {
      const auto piece = some(out.size());
      std::copy(piece.begin(), piece.end(), out.begin());
      out = out.subspan(piece.size());
    }
  }

  void append(std::string& record, std::uint64_t bytes) {
    while (bytes > 0) {
      const auto piece = some(bytes);
      record.append(as_chars(piece));
      bytes -= piece.size();
    }
  }

  ReadFile file_;
  std::vector<std::byte> buffer_;
  std::uint64_t offset_ = 0;
  std::span<const std::byte> rest_;
};

}  // namespace

Outcome run_tfrecord(const Job& job) {
  return run_shuffled<TfrecordFile>(job, share_of(files_in(job.data, ".tfrecord"), job.rank, job.world));
}

}  // namespace dovetail::bench
