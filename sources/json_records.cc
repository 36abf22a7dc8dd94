// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "format/text/json_check.h"
#include "format/text/json_members.h"
#include "format/text/number_text.h"
#include "format/text/utf8.h"
#include "format/try.h"
#include "sources/bytes/line_scanner.h"
#include "sources/changed_number.h"
#include "sources/example_builder.h"
#include "sources/number_columns.h"
#include "sources/openers.h"
#include "sources/scanned_file.h"

namespace dovetail::detail {

namespace {

/// Makes Examples from objects. The result is valid until the next call.
class JsonExample {
 public:
  explicit JsonExample(const SourceOptions& options) : columns_(options.schema), builder_(options.max_record_bytes) {}

  /// Errors: without file and offset.
  Result<ByteView> make(std::string_view line) {
    builder_.begin();
    texts_.clear();
    fits_ = {};
    changed_.clear();
    const auto add = [&](std::string_view name, const format::JsonValues& values) {
      std::visit([&](const auto& list) { add_list(name, list); }, values);
    };
    DOVETAIL_ASSIGN(const bool made, format::for_each_member(as_bytes(line), add));
    DOVETAIL_TRY(fits_);
    if (made) return builder_.finish();
    return Error(Errc::malformed_input, "not a JSON object of up to 32 levels, which an Example needs");
  }

  const ChangedNumber& changed() const noexcept { return changed_; }

 private:
  void add_list(std::string_view name, const std::vector<std::int64_t>& list) { builder_.add_ints(name, list); }
  void add_list(std::string_view name, const std::vector<double>& list) {
    for (const double value : list) changed_.look_at(name, value);
    std::vector<float> floats(list.size());
    std::transform(list.begin(), list.end(), floats.begin(), [](double value) { return static_cast<float>(value); });
    builder_.add_floats(name, floats);
  }
  void add_list(std::string_view name, const std::vector<ByteView>& list) {
    if (fits_) fits_ = columns_.check_text(name, list.front(), kind_of(as_chars(list.front())));
    // The builder borrows the texts, but the object that holds them ends here.
    std::vector<ByteView> kept;
    kept.reserve(list.size());
    for (const ByteView text : list) kept.push_back(as_bytes(texts_.emplace_back(as_chars(text))));
    builder_.add_bytes(name, kept);
  }

  // JSON of other kinds becomes a text, too: see `format::for_each_member`.
  static std::string_view kind_of(std::string_view text) {
    if (text.starts_with('[')) return "a list of lists or of several kinds, or a string";
    const auto number = format::parse_number<std::uint64_t>(text);
    const bool large = number && *number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return large ? "a number beyond int64, or a string" : "a string";
  }

  NumberColumns columns_;
  ChangedNumber changed_;
  Result<void> fits_;  // the columns of the schema
  ExampleBuilder builder_;
  std::deque<std::string> texts_;
};

class JsonLines final : public FileRecords {
 public:
  JsonLines(std::string path, std::unique_ptr<ScannedFile<LineScanner>> lines, const SourceOptions& options)
      : path_(std::move(path)), lines_(std::move(lines)) {
    if (options.records == RecordForm::example) example_.emplace(options);
  }

  Result<std::optional<ByteView>> next() override {
    for (;;) {
      malformed_ = false;
      auto line = lines_->next();
      if (!line || !*line) return line;
      std::string_view text = as_chars(**line);
      if (number() == 1) text = format::without_byte_order_mark(text);
      if (text.find_first_not_of(" \t\r") == std::string_view::npos) {
        ++ignored_;
        continue;
      }
      if (const auto fault = format::check_json(text)) {
        malformed_ = true;
        return Error(Errc::malformed_input, "line " + std::to_string(number()) + ", byte " +
                                                std::to_string(fault->offset) + ": not JSON: " + fault->reason)
            .at(path_, place().offset);
      }
      if (!example_) return as_bytes(text);
      auto made = example_->make(text);
      if (made) return *made;
      malformed_ = true;
      return Error(made.error().code(), "line " + std::to_string(number()) + ": " + made.error().detail())
          .at(path_, place().offset);
    }
  }

  RecordPlace place() const override { return lines_->place(); }
  std::uint64_t line() const override { return number(); }
  std::string changed_number() const override { return example_ ? example_->changed().to_text() : std::string(); }
  bool goes_on() const override { return malformed_ || lines_->goes_on(); }
  std::uint64_t ignored() const override { return ignored_; }

 private:
  // Of the current line, from 1 like line numbers of editors.
  std::uint64_t number() const noexcept { return lines_->scanner().records(); }

  std::string path_;
  std::unique_ptr<ScannedFile<LineScanner>> lines_;
  std::optional<JsonExample> example_;
  std::uint64_t ignored_ = 0;
  bool malformed_ = false;  // only the current line is malformed
};

}  // namespace

FileOpener make_json_opener(const SourceOptions& options) {
  const auto open = [&options](std::size_t /*file*/, SourceFile bytes,
                               Compression compression) -> Result<std::unique_ptr<FileRecords>> {
    std::string path = bytes.path();
    DOVETAIL_ASSIGN(auto lines, open_scanned(std::move(bytes), compression, LineScanner(options.max_record_bytes)));
    return std::make_unique<JsonLines>(std::move(path), std::move(lines), options);
  };
  return {.open = open, .makes_examples = options.records == RecordForm::example};
}

}  // namespace dovetail::detail
