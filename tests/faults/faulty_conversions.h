// SPDX-License-Identifier: Apache-2.0
// Small conversions for the tests that make parts of them fail.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/convert/conversions.h"

namespace dovetail::test {

class FaultyConversionTest : public ConversionTest {
 protected:
  template <class Report>
  static Result<void> outcome(const Result<Report>& report) {
    return report ? Result<void>() : report.error();
  }
  ConvertOptions small(std::vector<std::string> sources, std::uint32_t shards) const {
    ConvertOptions wanted = options(std::move(sources), shards);
    wanted.writer.shard.block_bytes = 2048;
    return wanted;
  }
  /// Files below `out_`, if any.
  Files left() const { return std::filesystem::exists(out_) ? files_below(out_) : Files(); }
  /// Those whose path has no part that begins with a dot: nobody takes the others for finished ones.
  static Files visible(Files files) {
    std::erase_if(files, [](const auto& file) { return ("/" + file.first).find("/.") != std::string::npos; });
    return files;
  }
};

}  // namespace dovetail::test
