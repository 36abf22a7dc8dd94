// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/record_source.h>

#include "sources/bytes/skip_count.h"

namespace dovetail::detail {

/// A source of a conversion, as it was when the conversion began.
struct LineSource {
  std::string path;
  SourceFormat format = SourceFormat::detect;
  std::uint64_t files = 0;
  std::uint64_t before = 0;  ///< Input bytes of the sources before it.
  std::uint64_t bytes = 0;
  // What is carried on.
  std::string record_type = {};
  std::map<std::string, std::string> metadata = {};
  std::optional<Schema> schema = {};
  // What the report says of it.
  LeftOut left_out = {};
  std::vector<std::string> classes = {};
  std::vector<CsvColumn> columns = {};
  std::vector<std::string> unmatched = {};
};

/// The sources of a conversion laid end to end: one line of input bytes, on which every record has its place.
///
/// Threads: const calls may run concurrently.
class InputLine {
 public:
  static constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

  /// Folders with labels number their classes alike, if no numbers are given: those of all of them. CSV files of all sources
  /// have the same columns and types.
  /// Errors: as `RecordSource::open`; `empty_input` without sources; `invalid_option` for sources of other formats, and
  ///         for datasets and shards of other classes; `malformed_input` for sources with other columns.
  static Result<InputLine> open(const std::vector<std::string>& paths, const SourceOptions& options);

  const std::vector<LineSource>& sources() const noexcept { return sources_; }
  const SourceOptions& options() const noexcept { return options_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t files() const noexcept { return files_; }

  /// Where share `number` of `shares` begins: its records are those at [begin_of(number), begin_of(number + 1)). A
  /// record with b of t bytes before it belongs to share b * shares / t, the last one for b = t.
  std::uint64_t begin_of(std::uint64_t number, std::uint64_t shares) const noexcept;
  /// The share that a place is in.
  std::uint64_t share_of(std::uint64_t place, std::uint64_t shares) const noexcept;

 private:
  void number_classes_alike();

  std::vector<LineSource> sources_;
  SourceOptions options_;
  std::uint64_t bytes_ = 0;
  std::uint64_t files_ = 0;
};

/// Whose skipped records a cursor counts: those at [begin, end), by shares of the line.
struct SkipScope {
  std::uint64_t shares = 1;
  std::uint64_t begin = 0;
  std::uint64_t end = InputLine::kEnd;
};

/// Goes over the records of a line, forwards only.
///
/// Ownership: borrows the line; stays where it is. A record is valid until the next call that moves.
/// Threads:   none; one thread at a time.
/// Errors:    as `RecordSource::next`, with file and offset; `file_changed` where a source is not what the line knows.
///            The first is final.
class LineCursor {
 public:
  explicit LineCursor(const InputLine& line, const SkipScope& scope = {}) : line_(&line), scope_(scope) {}
  /// Asked while input is read: see `SourceOptions::cancelled`. For sources that are not open yet.
  void watch(std::function<bool()> cancelled) { cancelled_ = std::move(cancelled); }

  LineCursor(const LineCursor&) = delete;
  LineCursor& operator=(const LineCursor&) = delete;

  /// Goes to the first record whose place is at least `place`; nowhere where the present one's is. Files that lie
  /// before it are not opened.
  Result<void> seek(std::uint64_t place);
  Result<void> advance();

  /// Whether there is a record; none is before the first `seek`.
  bool has_record() const noexcept { return record_.has_value(); }
  ByteView record() const noexcept { return *record_; }
  /// See `RecordSource::key`.
  std::string_view key() const noexcept { return source_->key(); }
  std::uint64_t place() const noexcept { return place_; }
  std::size_t source_number() const noexcept { return number_; }
  /// Input bytes of its source before it, and how many records of the source with as many came before.
  std::uint64_t place_in_source() const noexcept { return place_ - line_->sources()[number_].before; }
  std::uint64_t ordinal() const noexcept { return ordinal_; }
  std::uint64_t line_bytes() const noexcept { return line_->bytes(); }
  /// What was left out of a share, all of which was sought and gone over by this cursor.
  SkipTally take_skips(std::uint64_t share) { return skips_.take(share); }
  const std::string& file() const noexcept { return source_->file(); }
  std::uint64_t offset() const noexcept { return source_->offset(); }

 private:
  Result<void> open_source();
  void leave_source() noexcept;

  const InputLine* line_;
  SkipScope scope_;
  ShareSkips skips_;
  std::function<bool()> cancelled_;
  std::size_t number_ = 0;
  std::optional<RecordSource> source_;
  std::optional<ByteView> record_;
  std::uint64_t place_ = 0;
  std::uint64_t ordinal_ = 0;
};

}  // namespace dovetail::detail
