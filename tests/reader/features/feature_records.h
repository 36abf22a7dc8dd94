// SPDX-License-Identifier: Apache-2.0
// Records with features, and reports as texts that can be compared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/features.h>

namespace dovetail::test {

/// A tf.train.Example, built feature by feature.
class ExampleRecord {
 public:
  ExampleRecord ints(std::string_view name, const std::vector<std::int64_t>& values) const;
  ExampleRecord floats(std::string_view name, const std::vector<float>& values) const;
  ExampleRecord texts(std::string_view name, const std::vector<std::string>& values) const;
  /// A feature without a list.
  ExampleRecord none(std::string_view name) const;
  std::string bytes() const;

 private:
  ExampleRecord with(std::string_view name, const std::string& feature) const;
  std::string entries_;
};

/// Every field of a report, numbers to the last bit.
std::string all_of(const FeaturesReport& report);

/// The report of some records, whose ids are their places.
FeaturesReport report_of(const std::vector<std::string>& records);

/// Statistics of the only feature of that name. Fails the test and gives an empty one where there
/// is none.
FeatureStats feature(const FeaturesReport& report, std::string_view name);

/// Examples with features of many shapes, the same for the same seed: labels, ids, weights with
/// values that are not finite, texts, lists of all lengths, features that are missing, without a
/// list or of changing kinds, and records that are no Examples.
std::vector<std::string> random_records(std::uint64_t seed, std::size_t count);

}  // namespace dovetail::test
