// SPDX-License-Identifier: Apache-2.0
#include "convert/line_scanner.h"

#include <cstring>
#include <string>
#include <utility>

namespace dovetail::detail {

Result<void> LineScanner::hold(ByteView part) {
  if (part.size() > max_line_bytes_ - held_.size()) {
    return Error(Errc::record_too_large,
                 "line " + std::to_string(lines_) + " is longer than " + std::to_string(max_line_bytes_) + " bytes");
  }
  held_.insert(held_.end(), part.begin(), part.end());
  return {};
}

Result<std::optional<ByteView>> LineScanner::next() {
  line_offset_ = next_offset_;
  if (std::exchange(given_, false)) held_.clear();
  if (piece_.empty()) return std::nullopt;

  const void* const newline = std::memchr(piece_.data(), '\n', piece_.size());
  if (newline == nullptr) {
    if (auto held = hold(std::exchange(piece_, {})); !held) return held.error();
    return std::nullopt;
  }
  ByteView line = piece_.first(static_cast<std::size_t>(static_cast<const std::byte*>(newline) - piece_.data()));
  piece_ = piece_.subspan(line.size() + 1);
  if (!held_.empty() || line.size() > max_line_bytes_) {
    if (auto held = hold(line); !held) return held.error();
    line = held_;
    given_ = true;
  }
  next_offset_ += line.size() + 1;
  ++lines_;
  return line;
}

Result<std::optional<ByteView>> LineScanner::finish() {
  line_offset_ = next_offset_;
  if (given_ || held_.empty()) return std::nullopt;
  next_offset_ += held_.size();
  ++lines_;
  given_ = true;
  return ByteView(held_);
}

}  // namespace dovetail::detail
