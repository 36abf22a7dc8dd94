// SPDX-License-Identifier: Apache-2.0
#include "sources/file_records.h"

#include "format/tfrecord/tfrecord.h"
#include "format/try.h"
#include "sources/bytes/line_scanner.h"
#include "sources/detect.h"
#include "sources/example_builder.h"
#include "sources/openers.h"
#include "sources/scanned_file.h"
#include "sources/shard_records.h"

namespace dovetail::detail {

namespace {

/// `format::TfrecordScanner` with the calls that `ScannedFile` needs.
class TfrecordCutter {
 public:
  explicit TfrecordCutter(std::uint32_t max_record_bytes) : scanner_(max_record_bytes) {}
  void feed(ByteView piece) noexcept { scanner_.feed(piece); }
  Result<std::optional<ByteView>> next() {
    if (scanner_.can_skip()) scanner_.skip_record();
    return scanner_.next();
  }
  Result<std::optional<ByteView>> finish() {
    DOVETAIL_TRY(scanner_.finish());
    return std::nullopt;
  }
  std::uint64_t records() const noexcept { return scanner_.records(); }
  std::uint64_t record_offset() const noexcept { return scanner_.record_offset(); }
  bool goes_on() const noexcept { return scanner_.can_skip(); }

 private:
  format::TfrecordScanner scanner_;
};

constexpr char kText[] = "text";  // the feature that a line becomes

/// An Example for each line.
class LineExamples final : public FileRecords {
 public:
  LineExamples(std::string path, std::unique_ptr<ScannedFile<LineScanner>> lines, std::uint32_t max_record_bytes)
      : path_(std::move(path)), lines_(std::move(lines)), builder_(max_record_bytes) {}

  Result<std::optional<ByteView>> next() override {
    too_large_ = false;
    DOVETAIL_ASSIGN(const auto line, lines_->next());
    if (!line) return std::nullopt;
    builder_.begin();
    builder_.add_bytes(kText, *line);
    auto example = builder_.finish();
    if (example) return *example;
    too_large_ = true;
    const std::string number = std::to_string(lines_->scanner().records());
    return Error(example.error().code(), "line " + number + ": " + example.error().detail()).at(path_, place().offset);
  }

  RecordPlace place() const override { return lines_->place(); }
  bool goes_on() const override { return too_large_ || lines_->goes_on(); }

 private:
  std::string path_;
  std::unique_ptr<ScannedFile<LineScanner>> lines_;
  ExampleBuilder builder_;
  bool too_large_ = false;  // only the current line is too large
};

}  // namespace

RecordPlace place_in(const StreamPiece& piece, std::uint64_t used) noexcept {
  const std::uint64_t size = piece.bytes.size();
  if (size == 0) return {};
  const std::uint64_t input = piece.input_end - piece.input_begin;
  // Both factors are sizes of buffers, far below 2^32.
  const std::uint64_t consumed = piece.input_begin + used * input / size;
  const bool plain = input == size;
  return {plain ? consumed : piece.input_begin, consumed};
}

FileOpener make_tfrecord_opener(const SourceOptions& options) {
  return {.open = [max = options.max_record_bytes](std::size_t /*file*/, SourceFile bytes, Compression compression) {
    // Only the index reveals that a TFRecord was emptied, cut or rewritten.
    if (has_index(bytes.path())) return open_indexed_tfrecord(bytes, max);
    return scan_file(std::move(bytes), compression, TfrecordCutter(max));
  }};
}

FileOpener make_lines_opener(const SourceOptions& options) {
  const std::uint32_t max = options.max_record_bytes;
  if (options.records != RecordForm::example) {
    return {.open = [max](std::size_t /*file*/, SourceFile bytes, Compression compression) {
      return scan_file(std::move(bytes), compression, LineScanner(max));
    }};
  }
  FileOpener opener{.makes_examples = true};
  opener.open = [max](std::size_t /*file*/, SourceFile bytes,
                      Compression compression) -> Result<std::unique_ptr<FileRecords>> {
    std::string path = bytes.path();
    DOVETAIL_ASSIGN(auto lines, open_scanned(std::move(bytes), compression, LineScanner(max)));
    return std::make_unique<LineExamples>(std::move(path), std::move(lines), max);
  };
  opener.schema = [] { return Schema{.columns = {{.name = kText, .dtype = Dtype::bytes}}}; };
  return opener;
}

}  // namespace dovetail::detail
