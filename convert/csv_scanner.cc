// SPDX-License-Identifier: Apache-2.0
#include "convert/csv_scanner.h"

#include <string>
#include <utility>

namespace dovetail::detail {

namespace {
constexpr std::byte kQuote{'"'};
constexpr std::byte kNewline{'\n'};
constexpr std::byte kReturn{'\r'};
}  // namespace

// Whether the row ends in the piece, and where its newline is.
bool CsvScanner::find_end(std::size_t& at) noexcept {
  for (at = 0; at < piece_.size(); ++at) {
    const std::byte byte = piece_[at];
    if (place_ == Place::quoted) {
      if (byte == kQuote) place_ = Place::quote;
    } else if (byte == kNewline) {
      place_ = Place::field_begin;
      return true;
    } else if (byte == delimiter_) {
      place_ = Place::field_begin;
    } else if (byte == kQuote && place_ != Place::plain) {
      place_ = Place::quoted;  // the field begins, or a quote in it is doubled
    } else {
      place_ = Place::plain;
    }
  }
  return false;
}

Result<void> CsvScanner::hold(ByteView part) {
  if (part.size() > max_row_bytes_ - held_.size()) {
    return Error(Errc::record_too_large, "row " + std::to_string(rows_) + " is longer than " +
                                             std::to_string(max_row_bytes_) + " bytes; a quote that does not end?");
  }
  held_.insert(held_.end(), part.begin(), part.end());
  return {};
}

ByteView CsvScanner::give(ByteView row) noexcept {
  ++rows_;
  if (!row.empty() && row.back() == kReturn) row = row.first(row.size() - 1);
  return row;
}

Result<std::optional<ByteView>> CsvScanner::next() {
  row_offset_ = next_offset_;
  if (std::exchange(given_, false)) held_.clear();
  std::size_t end = 0;
  if (!find_end(end)) {
    if (auto held = hold(std::exchange(piece_, {})); !held) return held.error();
    return std::nullopt;
  }
  ByteView row = piece_.first(end);
  piece_ = piece_.subspan(end + 1);
  if (!held_.empty() || row.size() > max_row_bytes_) {
    if (auto held = hold(row); !held) return held.error();
    row = held_;
    given_ = true;
  }
  next_offset_ += row.size() + 1;
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
