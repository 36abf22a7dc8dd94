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
#include <dovetail/convert.h>
#include <dovetail/error.h>
#include <dovetail/record_source.h>

#include "sources/bytes/skip_count.h"

namespace dovetail::detail {

/// A source of a conversion, as it was when the conversion began.
struct LineSource : ConvertedSource {
  std::uint64_t files = 0;
  std::uint64_t before = 0;  ///< Input bytes of the sources before it.
  std::uint64_t bytes = 0;
  // Copied into the dataset.
  std::string record_type = {};
  std::map<std::string, std::string> metadata = {};
  std::optional<Schema> schema = {};
};

/// The sources of a conversion laid end to end: one line of input bytes, on which every record has
/// a position.
///
/// Threads: const calls may run concurrently.
class InputLine {
 public:
  static constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

  /// Folders with labels share one numbering of the classes of all of them, unless numbers are
  /// given. CSV files of all sources have the same columns and types.
  /// Errors: as `RecordSource::open`; `empty_input` without sources; `invalid_option` for sources
  ///         of different formats, and for datasets and shards of different classes;
  ///         `malformed_input` for sources with different columns.
  static Result<InputLine> open(const std::vector<std::string>& paths, const SourceOptions& options);

  const std::vector<LineSource>& sources() const noexcept { return sources_; }
  const SourceOptions& options() const noexcept { return options_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t files() const noexcept { return files_; }

  /// Beginning of share `number` of `shares`: its records are those at [begin_of(number),
  /// begin_of(number + 1)). A record with b of t bytes before it belongs to share b * shares / t,
  /// and to the last share if b = t.
  std::uint64_t begin_of(std::uint64_t number, std::uint64_t shares) const noexcept;
  /// The share of a position.
  std::uint64_t share_of(std::uint64_t place, std::uint64_t shares) const noexcept;

 private:
  void number_classes_alike();

  std::vector<LineSource> sources_;
  SourceOptions options_;
  std::uint64_t bytes_ = 0;
  std::uint64_t files_ = 0;
};

/// The skipped records that a cursor counts: those at [begin, end), by shares of the line.
struct SkipScope {
  std::uint64_t shares = 1;
  std::uint64_t begin = 0;
  std::uint64_t end = InputLine::kEnd;
};

/// Walks over the records of a line, forwards only.
///
/// Ownership: borrows the line; stays where it is. A record is valid until the next call that
///            moves.
/// Threads:   none; one thread at a time.
/// Errors:    as `RecordSource::next`, with file and offset; `file_changed` if a source differs
///            from the line's. The first is final.
class LineCursor {
 public:
  explicit LineCursor(const InputLine& line, const SkipScope& scope = {}) : line_(&line), scope_(scope) {}
  /// Polled while input is read: see `SourceOptions::cancelled`. Applies to sources opened later.
  void watch(std::function<bool()> cancelled) { cancelled_ = std::move(cancelled); }

  LineCursor(const LineCursor&) = delete;
  LineCursor& operator=(const LineCursor&) = delete;

  /// Moves to the first record at `place` or later; does nothing if the current one already is.
  /// Does not open files before it.
  Result<void> seek(std::uint64_t place);
  Result<void> advance();

  /// Whether there is a current record; none before the first `seek`.
  bool has_record() const noexcept { return record_.has_value(); }
  ByteView record() const noexcept { return *record_; }
  /// See `RecordSource::key`.
  std::string_view key() const noexcept { return source_->key(); }
  std::uint64_t place() const noexcept { return place_; }
  std::size_t source_number() const noexcept { return number_; }
  /// Input bytes of its source before it, and the number of earlier records of the source at the
  /// same position.
  std::uint64_t place_in_source() const noexcept { return place_ - line_->sources()[number_].before; }
  std::uint64_t ordinal() const noexcept { return ordinal_; }
  std::uint64_t line_bytes() const noexcept { return line_->bytes(); }
  /// Skipped records of a share that this cursor has read completely.
  SkipTally take_skips(std::uint64_t share) { return skips_.take(share); }
  const std::string& file() const noexcept { return source_->file(); }
  std::uint64_t offset() const noexcept { return source_->offset(); }
  /// See `RecordSource`.
  std::uint64_t line() const noexcept { return source_->line(); }
  std::string changed_number() const { return source_->changed_number(); }
  bool repeats_key() const noexcept { return source_->repeats_key(); }

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
