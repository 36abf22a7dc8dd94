// SPDX-License-Identifier: Apache-2.0
#include "sources/json_records.h"

#include <string>
#include <utility>

#include "format/text/json_check.h"
#include "format/text/utf8.h"
#include "format/try.h"
#include "sources/bytes/line_scanner.h"
#include "sources/scanned_file.h"

namespace dovetail::detail {

namespace {

class JsonLines final : public FileRecords {
 public:
  JsonLines(std::string path, std::unique_ptr<FileRecords> lines, std::uint32_t max_line_bytes)
      : path_(std::move(path)), lines_(std::move(lines)), max_line_bytes_(max_line_bytes) {}

  Result<std::optional<ByteView>> next() override {
    for (;;) {
      malformed_ = false;
      auto line = lines_->next();
      if (!line && lines_->goes_on()) {
        return Error(line.error().code(), "line " + std::to_string(++number_) + " is longer than " +
                                              std::to_string(max_line_bytes_) + " bytes")
            .at(path_, place().offset);
      }
      if (!line || !*line) return line;
      ++number_;
      std::string_view text = as_chars(**line);
      if (number_ == 1) text = format::without_byte_order_mark(text);
      if (text.ends_with('\r')) text.remove_suffix(1);
      if (text.find_first_not_of(" \t\r") == std::string_view::npos) {
        ++ignored_;
        continue;
      }
      if (const auto fault = format::check_json(text)) {
        malformed_ = true;
        return Error(Errc::malformed_input, "line " + std::to_string(number_) + ", byte " +
                                                std::to_string(fault->offset) + " of it: no JSON: " + fault->reason)
            .at(path_, place().offset);
      }
      return as_bytes(text);
    }
  }

  RecordPlace place() const override { return lines_->place(); }
  bool goes_on() const override { return malformed_ || lines_->goes_on(); }
  std::uint64_t ignored() const override { return ignored_; }

 private:
  std::string path_;
  std::unique_ptr<FileRecords> lines_;
  std::uint32_t max_line_bytes_;
  std::uint64_t number_ = 0;  // of the line, from 1 as editors count
  std::uint64_t ignored_ = 0;
  bool malformed_ = false;  // only the line is
};

class JsonOpener final : public FileOpener {
 public:
  explicit JsonOpener(std::uint32_t max_record_bytes) : max_record_bytes_(max_record_bytes) {}
  Result<std::unique_ptr<FileRecords>> open(std::size_t /*file*/, SourceFile bytes, Compression compression) override {
    std::string path = bytes.path();
    DOVETAIL_ASSIGN(auto lines, scan_file(std::move(bytes), compression, LineScanner(max_record_bytes_)));
    return std::unique_ptr<FileRecords>(
        std::make_unique<JsonLines>(std::move(path), std::move(lines), max_record_bytes_));
  }

 private:
  std::uint32_t max_record_bytes_;
};

}  // namespace

std::unique_ptr<FileOpener> make_json_opener(std::uint32_t max_record_bytes) {
  return std::make_unique<JsonOpener>(max_record_bytes);
}

}  // namespace dovetail::detail
