// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dovetail/bytes.h>

namespace dovetail::detail {

/// A hash of the bytes of a file, in the form of MosaicML's index.
class ContentHash {
 public:
  virtual ~ContentHash() = default;
  virtual void add(ByteView bytes) noexcept = 0;
  /// Hash of the bytes so far, in lower-case hexadecimal digits.
  virtual std::string hex() const = 0;
};

/// `xxh32`, `xxh64`, `xxh3_64`, `xxh128` or `xxh3_128`; null for other names.
std::unique_ptr<ContentHash> make_content_hash(std::string_view name);

}  // namespace dovetail::detail
