// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <dovetail/features.h>

#include "format/example/entry_head.h"
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
  FeaturesReport report();

 private:
  /// A place among the features of a record.
  struct Place {
    KnownFeature* known = nullptr;  // the feature of the last record that had one here
    format::FeatureView view;
    format::EntryHead head;  // of the last entry here
  };

  /// Errors: `bad_message`; then nothing is counted.
  Result<void> add_example(ByteView record, std::uint64_t priority);
  /// False if it is not a JSON object. Errors: of such an object; then nothing is counted.
  Result<bool> add_json(ByteView record, std::uint64_t priority);
  bool find_all(ByteView record);
  std::size_t find_same(format::ExampleCursor& cursor, std::size_t place);
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
  std::uint64_t removals_ = 0;  // value of `removals()` when the known features of `places_` were valid
  std::vector<Place> places_;
  std::size_t found_ = 0;  // places of the current record
  format::ExampleFeatures parsed_;
};

/// Sets `schema` and `without_column` from the other members. Needs: features sorted by name.
void add_schema(FeaturesReport& report);

}  // namespace dovetail::detail
