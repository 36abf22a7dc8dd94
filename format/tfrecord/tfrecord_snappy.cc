// SPDX-License-Identifier: Apache-2.0
#include "format/tfrecord/tfrecord_snappy.h"

#include <algorithm>

#include <snappy.h>

namespace dovetail::format {

void TfrecordSnappyEncoder::add(ByteView bytes, std::vector<std::byte>& out) {
  while (!bytes.empty()) {
    const ByteView part = bytes.first(std::min(bytes.size(), kTfrecordSnappyBlock - block_.size()));
    block_.insert(block_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (block_.size() == kTfrecordSnappyBlock) finish(out);
  }
}

void TfrecordSnappyEncoder::finish(std::vector<std::byte>& out) {
  if (block_.empty()) return;
  constexpr std::size_t kBlockLengthBytes = 4;
  const std::size_t begin = out.size();
  out.resize(begin + kBlockLengthBytes + snappy::MaxCompressedLength(block_.size()));
  std::size_t length = 0;
  snappy::RawCompress(reinterpret_cast<const char*>(block_.data()), block_.size(),
                      reinterpret_cast<char*>(out.data() + begin + kBlockLengthBytes), &length);
  for (std::size_t i = 0; i < kBlockLengthBytes; ++i)
    out[begin + i] = static_cast<std::byte>(length >> (24 - 8 * i) & 0xFF);
  out.resize(begin + kBlockLengthBytes + length);
  block_.clear();
}

}  // namespace dovetail::format
