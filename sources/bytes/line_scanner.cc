// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/line_scanner.h"

#include <cstring>
#include <string>
#include <utility>

namespace dovetail::detail {

namespace {

ByteView without_return(ByteView line) noexcept {
  return !line.empty() && line.back() == std::byte{'\r'} ? line.first(line.size() - 1) : line;
}

}  // namespace

Error LineScanner::too_long() const {
  return Error(Errc::record_too_large,
               "line " + std::to_string(lines_) + " is longer than " + std::to_string(max_line_bytes_) + " bytes");
}

// Skips the rest of a line that was too long. Returns whether the line has ended in the current
// piece.
bool LineScanner::leave_line() noexcept {
  if (!leaving_) return true;
  const void* const newline = piece_.empty() ? nullptr : std::memchr(piece_.data(), '\n', piece_.size());
  leaving_ = newline == nullptr;
  const std::size_t left =
      leaving_ ? piece_.size() : static_cast<std::size_t>(static_cast<const std::byte*>(newline) - piece_.data()) + 1;
  piece_ = piece_.subspan(left);
  next_offset_ += left;
  return !leaving_;
}

Result<std::optional<ByteView>> LineScanner::next() {
  if (std::exchange(given_, false)) held_.clear();
  const bool left = leave_line();
  line_offset_ = next_offset_;
  if (!left || piece_.empty()) return std::nullopt;

  const void* const newline = std::memchr(piece_.data(), '\n', piece_.size());
  if (newline == nullptr) {
    const ByteView part = std::exchange(piece_, {});
    if (fits(part)) {
      held_.insert(held_.end(), part.begin(), part.end());
      return std::nullopt;
    }
    next_offset_ += held_.size() + part.size();
    held_.clear();
    leaving_ = true;
    Error error = too_long();
    ++lines_;
    return error;
  }
  ByteView line = piece_.first(static_cast<std::size_t>(static_cast<const std::byte*>(newline) - piece_.data()));
  piece_ = piece_.subspan(line.size() + 1);
  next_offset_ += held_.size() + line.size() + 1;
  if (!fits(line)) {
    held_.clear();
    Error error = too_long();
    ++lines_;
    return error;
  }
  if (!held_.empty()) {
    held_.insert(held_.end(), line.begin(), line.end());
    line = held_;
    given_ = true;
  }
  ++lines_;
  return without_return(line);
}

Result<std::optional<ByteView>> LineScanner::finish() {
  line_offset_ = next_offset_;
  if (given_ || held_.empty()) return std::nullopt;  // also if the rest of a line was skipped
  next_offset_ += held_.size();
  ++lines_;
  given_ = true;
  return without_return(held_);
}

}  // namespace dovetail::detail
