// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/example/example_encoder.h"
#include "format/try.h"

namespace dovetail::detail {

/// Builds Examples as records, one after the other.
///
/// Ownership: borrows bytes until `finish`; its result is valid until the next `finish`.
/// Errors:    `record_too_large`, without file and offset, if an Example exceeds the limit;
///            `invalid_option` for a name that is not UTF-8 or was added twice.
class ExampleBuilder {
 public:
  explicit ExampleBuilder(std::uint32_t max_record_bytes) : max_record_bytes_(max_record_bytes) {}

  void begin() noexcept { encoder_.clear(); }
  void add_bytes(std::string_view name, ByteView value) { encoder_.add_bytes(name, value); }
  void add_bytes(std::string_view name, std::span<const ByteView> values) { encoder_.add_bytes(name, values); }
  void add_int(std::string_view name, std::int64_t value) { encoder_.add_int(name, value); }
  void add_ints(std::string_view name, std::span<const std::int64_t> values) { encoder_.add_ints(name, values); }
  void add_float(std::string_view name, float value) { encoder_.add_float(name, value); }
  void add_floats(std::string_view name, std::span<const float> values) { encoder_.add_floats(name, values); }

  Result<ByteView> finish() {
    DOVETAIL_TRY(encoder_.encode(example_));
    if (example_.size() <= max_record_bytes_) return ByteView(example_);
    return Error(Errc::record_too_large, "the record has " + std::to_string(example_.size()) +
                                             " bytes as an Example; the limit is " + std::to_string(max_record_bytes_));
  }

 private:
  std::uint32_t max_record_bytes_;
  format::ExampleEncoder encoder_;
  std::vector<std::byte> example_;
};

}  // namespace dovetail::detail
