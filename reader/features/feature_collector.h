// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <dovetail/features.h>

#include "format/example/example_wire.h"
#include "reader/features/feature_numbers.h"
#include "reader/features/known_features.h"

namespace dovetail::detail {

/// The implementation of `FeatureCollector`. Threads that collect for a common collector use it as
/// well.
class Collector {
 public:
  /// `when_full` is called if features take more than `memory_bytes`, also in the middle of a
  /// record. It must clear the collector. By default the features shrink.
  explicit Collector(std::size_t memory_bytes, std::function<void(Collector&)> when_full = {})
      : known_(memory_bytes), when_full_(std::move(when_full)) {}

  void add(std::uint64_t id, ByteView record);
  void merge(const Collector& other);
  /// Forgets everything. The limits become those of `other`.
  void clear(const Collector& other);
  std::uint64_t records() const noexcept { return records_; }
  FeaturesReport report() const;

 private:
  /// A feature of the current record.
  struct Found {
    KnownFeature* known = nullptr;
    format::FeatureView view;
  };
  enum class Outcome { known, unknown_name, no_example };

  /// Errors: `bad_message`; then nothing is counted.
  Result<void> add_example(ByteView record, std::uint64_t priority);
  /// False if it is not a JSON object. Errors: of such an object; then nothing is counted.
  Result<bool> add_json(ByteView record, std::uint64_t priority);
  Outcome find_all(ByteView record, format::WireFault& fault);
  KnownFeature* expected(std::size_t place, std::string_view name);
  Result<void> add_with_new_names(ByteView record, std::uint64_t priority);
  template <class List>
  void count(KnownFeature* known, ValueKind kind, const List& list, std::uint64_t priority);
  void note_other(std::uint64_t id, const std::optional<Error>& reason);

  KnownFeatures known_;
  std::function<void(Collector&)> when_full_;
  std::uint64_t records_ = 0;
  std::uint64_t examples_ = 0;
  std::uint64_t json_objects_ = 0;
  std::uint64_t first_other_id_ = ~std::uint64_t{0};
  std::optional<Error> first_other_;

  std::uint64_t id_ = 0;  // of the current record

  // State that is kept from record to record.
  std::uint64_t searches_ = 0;
  std::uint64_t removals_ = 0;  // value of `removals()` when `order_` was valid
  std::vector<Found> found_;
  std::vector<KnownFeature*> order_;  // the features of the last record, in their order there
  format::ExampleFeatures parsed_;
};

/// Sets `schema` and `without_column` from the other members. Needs: features sorted by name.
void add_schema(FeaturesReport& report);

}  // namespace dovetail::detail
