// SPDX-License-Identifier: Apache-2.0
// What features the Examples among some records have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include <dovetail/bytes.h>

#include "format/example/example_wire.h"

namespace dovetail::tools {

/// Counts the features of records that are looked at. Everything in a record is hostile: names and values are escaped
/// and cut, and of more than 256 names the later ones are counted only.
class FeatureTable {
 public:
  static constexpr std::size_t kMostNames = 256;

  /// Counts an Example; other records are passed over.
  void add(ByteView record);

  std::uint64_t examples() const noexcept { return examples_; }
  /// How often a feature came whose name did not find room in the table.
  std::uint64_t left_out() const noexcept { return left_out_; }
  /// A row for each feature: name, list, records that have it, fewest and most values, and the values of one record.
  std::string html() const;

 private:
  struct Feature {
    std::set<format::FeatureKind> kinds;
    std::uint64_t records = 0;
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    std::string example;  // of the first record with values
  };

  std::map<std::string, Feature, std::less<>> features_;
  std::uint64_t examples_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace dovetail::tools
