// SPDX-License-Identifier: Apache-2.0
// What tests of conversions in parts share.
#pragma once

#include <cstdint>
#include <string>

#include "tests/convert/conversions.h"

namespace dovetail::test {

/// What begins the names of a part's own files.
inline std::string part_prefix(std::uint32_t part, std::uint32_t parts) {
  const auto digits = [](std::uint32_t n) { return std::to_string(100'000 + n).substr(1); };
  return ".dovetail-part-" + digits(part) + "-of-" + digits(parts);
}

class PartsTest : public ConversionTest {
 protected:
  Result<ConvertReport> run_part(ConvertOptions options, std::uint32_t part, std::uint32_t parts) const {
    options.part = ConvertPart{part, parts};
    return convert(out_, options);
  }
  /// A file of a part, by its suffix.
  std::string part_file(std::uint32_t part, std::uint32_t parts, const std::string& suffix) const {
    return staged_ + '/' + part_prefix(part, parts) + suffix;
  }
  ConvertOptions ten_shards() { return options({put_tfrecords(4, 300, 31)}, 10); }
};

}  // namespace dovetail::test
