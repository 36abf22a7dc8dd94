// SPDX-License-Identifier: Apache-2.0
// What tests of conversions in parts share.
#pragma once

#include <cstdint>
#include <string>

#include "tests/convert/conversions.h"

namespace dovetail::test {

/// The folder in which a part keeps what it has finished, behind the target.
inline std::string work_of(std::uint32_t part, std::uint32_t parts) {
  const auto digits = [](std::uint32_t n) { return std::to_string(100'000 + n).substr(1); };
  return "/.dovetail-part-" + digits(part) + "-of-" + digits(parts);
}

class PartsTest : public ConversionTest {
 protected:
  Result<ConvertReport> run_part(ConvertOptions options, std::uint32_t part, std::uint32_t parts) const {
    options.part = ConvertPart{part, parts};
    return convert(out_, options);
  }
  ConvertOptions ten_shards() { return options({put_tfrecords(4, 300, 31)}, 10); }
};

}  // namespace dovetail::test
