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

Error LineScanner::refuse() {
  held_.clear();
  ++lines_;
  return Error(Errc::record_too_large,
               "line " + std::to_string(lines_) + " is longer than " + std::to_string(max_line_bytes_) + " bytes");
}

// A line may be one byte longer than the limit while its '\r' is not cut off.
bool LineScanner::fits(ByteView part) const noexcept {
  return part.size() <= std::size_t{max_line_bytes_} + 1 - held_.size();
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
    leaving_ = true;
    return refuse();
  }
  ByteView line = piece_.first(static_cast<std::size_t>(static_cast<const std::byte*>(newline) - piece_.data()));
  piece_ = piece_.subspan(line.size() + 1);
  next_offset_ += held_.size() + line.size() + 1;
  if (!fits(line)) return refuse();
  if (!held_.empty()) {
    held_.insert(held_.end(), line.begin(), line.end());
    line = held_;
    given_ = true;
  }
  line = without_return(line);
  if (line.size() > max_line_bytes_) return refuse();
  ++lines_;
  return line;
}

Result<std::optional<ByteView>> LineScanner::finish() {
  line_offset_ = next_offset_;
  if (given_ || held_.empty()) return std::nullopt;  // also if the rest of a line was skipped
  next_offset_ += held_.size();
  const ByteView line = without_return(held_);
  if (line.size() > max_line_bytes_) return refuse();
  ++lines_;
  given_ = true;
  return line;
}

}  // namespace dovetail::detail
