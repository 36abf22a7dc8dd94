// SPDX-License-Identifier: Apache-2.0
#include "sources/stream_reader.h"

#include <algorithm>
#include <utility>

#include "format/try.h"

namespace dovetail::detail {

Result<StreamReader> StreamReader::open(SourceFile file, Compression compression) {
  std::string path = file.path();
  DOVETAIL_ASSIGN(auto stream, make_byte_stream(std::move(file), compression));
  return StreamReader(std::move(path), std::move(stream));
}

Result<bool> StreamReader::refill() {
  DOVETAIL_ASSIGN(auto piece, stream_->next());
  if (!piece) return false;
  piece_ = *piece;
  used_ = 0;
  return true;
}

Result<ByteView> StreamReader::take(std::uint64_t bytes) {
  if (rest().size() < bytes) {
    held_.clear();
    for (;;) {
      const ByteView part = rest().first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, rest().size())));
      if (!held_.empty() || part.size() < bytes) held_.insert(held_.end(), part.begin(), part.end());
      used_ += part.size();
      position_ += part.size();
      bytes -= part.size();
      if (bytes == 0) {
        if (held_.empty()) return part;
        return ByteView(held_);
      }
      DOVETAIL_ASSIGN(auto more, refill());
      if (!more) return ByteView(held_);
    }
  }
  const ByteView whole = rest().first(static_cast<std::size_t>(bytes));
  used_ += whole.size();
  position_ += bytes;
  return whole;
}

Result<void> StreamReader::skip(std::uint64_t bytes) {
  for (;;) {
    const std::size_t part = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, rest().size()));
    used_ += part;
    position_ += part;
    bytes -= part;
    if (bytes == 0) return {};
    DOVETAIL_ASSIGN(auto jumped, stream_->skip(bytes));
    position_ += jumped;
    bytes -= jumped;
    DOVETAIL_ASSIGN(auto more, refill());
    if (!more) return {};
  }
}

}  // namespace dovetail::detail
