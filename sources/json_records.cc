// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "format/text/json_check.h"
#include "format/text/json_members.h"
#include "format/text/number_text.h"
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
    texts_.release();
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
    floats_.resize(list.size());
    std::transform(list.begin(), list.end(), floats_.begin(), [](double value) { return static_cast<float>(value); });
    builder_.add_floats(name, floats_);
  }
  void add_list(std::string_view name, const std::vector<ByteView>& list) {
    if (fits_) fits_ = columns_.check_text(name, list.front(), kind_of(as_chars(list.front())));
    // The builder borrows the texts, but the object that holds them ends here.
    kept_.clear();
    for (const ByteView text : list) {
      auto* const to = static_cast<std::byte*>(texts_.allocate(text.size(), 1));
      std::copy(text.begin(), text.end(), to);
      kept_.emplace_back(to, text.size());
    }
    builder_.add_bytes(name, kept_);
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
  std::vector<float> floats_;
  std::vector<ByteView> kept_;
  std::array<std::byte, 16384> first_texts_;
  std::pmr::monotonic_buffer_resource texts_{first_texts_.data(), first_texts_.size()};
};

class JsonLines final : public FileRecords {
 public:
  JsonLines(std::string path, std::unique_ptr<ScannedFile<LineScanner>> lines, const SourceOptions& options)
      : path_(std::move(path)), lines_(std::move(lines)) {
    if (options.records == RecordForm::example) example_.emplace(options);
  }

  Result<std::optional<ByteView>> next() override {
    malformed_ = false;
    auto line = next_line();
    if (!line || !*line) return line;
    const std::string_view text = as_chars(**line);
    std::optional<Error> refused;
    if (example_) {
      auto made = example_->make(text);
      if (made) return *made;
      refused = made.error();
    }
    if (const auto fault = format::check_json(text)) {
      return malformed(make_error_code(Errc::malformed_input),
                       ", byte " + std::to_string(fault->offset) + ": not JSON: " + fault->reason);
    }
    if (refused) return malformed(refused->code(), ": " + refused->detail());
    return as_bytes(text);
  }

  /// Lines are not parsed only to be skipped.
  Result<void> skip_to(std::uint64_t consumed) override { return lines_->skip_to(consumed); }
  bool jumps_over_damage() const override { return true; }

  RecordPlace place() const override { return lines_->place(); }
  std::uint64_t line() const override { return number(); }
  std::string changed_number() const override { return example_ ? example_->changed().to_text() : std::string(); }
  bool goes_on() const override { return malformed_ || lines_->goes_on(); }
  std::uint64_t ignored() const override { return ignored_; }

 private:
  /// The next line that is not blank.
  Result<std::optional<ByteView>> next_line() {
    for (;; ++ignored_) {
      auto line = lines_->next();
      if (!line || !*line) return line;
      if (as_chars(**line).find_first_not_of(" \t\r") != std::string_view::npos) return line;
    }
  }

  Error malformed(const boost::system::error_code& code, const std::string& what) {
    malformed_ = true;
    return Error(code, "line " + std::to_string(number()) + what).at(path_, place().offset);
  }

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
