// SPDX-License-Identifier: Apache-2.0
#include "sources/csv_scanner.h"

#include <string>
#include <utility>

namespace dovetail::detail {

namespace {
constexpr std::byte kQuote{'"'};
constexpr std::byte kNewline{'\n'};
constexpr std::byte kReturn{'\r'};
}  // namespace

// Returns whether the row ends in the piece, and sets `at` to its newline.
bool CsvScanner::find_end(std::size_t& at) noexcept {
  for (at = 0; at < piece_.size(); ++at) {
    const std::byte byte = piece_[at];
    if (place_ == Place::quoted) {
      if (byte == kQuote) place_ = Place::quote;
      if (byte == kNewline) ++newlines_;
    } else if (byte == kNewline) {
      ++newlines_;
      place_ = Place::field_begin;
      return true;
    } else if (byte == delimiter_) {
      place_ = Place::field_begin;
    } else if (byte == kQuote && place_ != Place::plain) {
      place_ = Place::quoted;  // the field begins, or this is the second quote of a doubled one
    } else {
      place_ = Place::plain;
    }
  }
  return false;
}

Error CsvScanner::too_long() {
  held_.clear();
  goes_on_ = true;
  return Error(Errc::record_too_large, "row " + std::to_string(rows_++) + " is longer than " +
                                           std::to_string(max_row_bytes_) + " bytes; a quote that does not end?");
}

// Skips the rest of a row that was too long. Returns whether the row has ended in the current
// piece.
bool CsvScanner::leave_row() noexcept {
  if (!leaving_) return true;
  std::size_t end = 0;
  leaving_ = !find_end(end);
  const std::size_t left = leaving_ ? piece_.size() : end + 1;
  piece_ = piece_.subspan(left);
  next_offset_ += left;
  return !leaving_;
}

ByteView CsvScanner::give(ByteView row) noexcept {
  ++rows_;
  if (!row.empty() && row.back() == kReturn) row = row.first(row.size() - 1);
  return row;
}

Result<std::optional<ByteView>> CsvScanner::next() {
  goes_on_ = false;
  if (std::exchange(given_, false)) held_.clear();
  const bool left = leave_row();
  row_offset_ = next_offset_;
  if (!left) return std::nullopt;
  if (held_.empty()) row_line_ = newlines_ + 1;
  std::size_t end = 0;
  if (!find_end(end)) {
    const ByteView part = std::exchange(piece_, {});
    if (fits(part)) {
      held_.insert(held_.end(), part.begin(), part.end());
      return std::nullopt;
    }
    next_offset_ += held_.size() + part.size();
    leaving_ = true;
    return too_long();
  }
  ByteView row = piece_.first(end);
  piece_ = piece_.subspan(end + 1);
  next_offset_ += held_.size() + row.size() + 1;
  if (!fits(row)) return too_long();
  if (!held_.empty()) {
    held_.insert(held_.end(), row.begin(), row.end());
    row = held_;
    given_ = true;
  }
  return give(row);
}

Result<std::optional<ByteView>> CsvScanner::finish() {
  row_offset_ = next_offset_;
  if (given_ || held_.empty()) return std::nullopt;
  if (place_ == Place::quoted) {
    return Error(Errc::malformed_input, "row " + std::to_string(rows_) + ": the input ends in a quoted field");
  }
  next_offset_ += held_.size();
  given_ = true;
  return give(held_);
}

}  // namespace dovetail::detail
