// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <dovetail/features.h>

#include "format/example/example_wire.h"
#include "reader/features/features_report.h"
#include "reader/features/json_example.h"
#include "reader/features/known_features.h"

namespace dovetail {

using detail::KnownFeature;

class FeatureCollector::Impl {
 public:
  explicit Impl(std::size_t memory_bytes) : known_(memory_bytes) {}

  void add(std::uint64_t id, ByteView record);
  void merge(const Impl& other);
  std::uint64_t records() const noexcept { return records_; }
  FeaturesReport report() const;

 private:
  /// A feature of the record that is looked at.
  struct Found {
    KnownFeature* known = nullptr;
    format::FeatureView view;
  };
  enum class Outcome { known, unknown_name, no_example };

  /// Errors: `bad_message`; nothing is counted then.
  Result<void> add_example(ByteView record, std::uint64_t priority);
  Outcome find_all(ByteView record, format::WireFault& fault);
  KnownFeature* expected(std::size_t place, std::string_view name);
  Result<void> add_with_new_names(ByteView record, std::uint64_t priority);
  void count(KnownFeature& known, const format::FeatureView& view, std::uint64_t priority);
  void note_other(std::uint64_t id, const Error& reason);

  detail::KnownFeatures known_;
  std::uint64_t records_ = 0;
  std::uint64_t examples_ = 0;
  std::uint64_t json_objects_ = 0;
  std::uint64_t first_other_id_ = ~std::uint64_t{0};
  std::optional<Error> first_other_;

  // Kept from record to record.
  std::uint64_t searches_ = 0;
  std::vector<Found> found_;
  std::vector<KnownFeature*> order_;  // the features of the last record, as they lie there
  format::ExampleFeatures parsed_;
  detail::JsonExample json_;
  detail::NumberPieces::Room room_;
};

void FeatureCollector::Impl::add(std::uint64_t id, ByteView record) {
  ++records_;
  const std::uint64_t priority = detail::mix_bits(id + 0x9E3779B97F4A7C15);
  const Result<void> added = add_example(record, priority);
  if (added) {
    ++examples_;
  } else if (const auto* const example = json_.encode(record); example && add_example(*example, priority)) {
    ++json_objects_;
  } else {
    note_other(id, added.error());
  }
}

Result<void> FeatureCollector::Impl::add_example(ByteView record, std::uint64_t priority) {
  format::WireFault fault;
  switch (find_all(record, fault)) {
    case Outcome::no_example:
      return format::example_error(record, fault);
    case Outcome::unknown_name:
      return add_with_new_names(record, priority);
    case Outcome::known:
      break;
  }
  if (found_.empty()) return Error(Errc::bad_message, "tf.train.Example: no feature in the record");
  for (const Found& found : found_) count(*found.known, found.view, priority);
  return {};
}

/// Finds all features before any is counted, as a fault may come behind them; of those with one name the last one counts.
FeatureCollector::Impl::Outcome FeatureCollector::Impl::find_all(ByteView record, format::WireFault& fault) {
  found_.clear();
  ++searches_;
  format::ExampleCursor cursor(record);
  ByteView entry;
  format::FeatureView view;
  for (std::size_t place = 0; cursor.next(entry); ++place) {
    if (!format::scan_entry(entry, view, fault)) return Outcome::no_example;
    KnownFeature* const known = expected(place, view.name);
    if (known == nullptr) return Outcome::unknown_name;
    if (known->search == searches_) {
      found_[known->place].view = view;
      continue;
    }
    known->search = searches_;
    known->place = found_.size();
    found_.push_back({known, view});
  }
  fault = cursor.fault();
  return fault.what == nullptr ? Outcome::known : Outcome::no_example;
}

/// Writers mostly have features in one order.
KnownFeature* FeatureCollector::Impl::expected(std::size_t place, std::string_view name) {
  if (place < order_.size() && order_[place]->name == name) [[likely]]
    return order_[place];
  KnownFeature* const known = known_.find(name);
  if (known == nullptr || place >= kMaxReportedFeatures) return known;
  if (place < order_.size()) {
    order_[place] = known;
  } else if (place == order_.size()) {
    order_.push_back(known);
  }
  return known;
}

Result<void> FeatureCollector::Impl::add_with_new_names(ByteView record, std::uint64_t priority) {
  if (auto parsed = parsed_.parse(record); !parsed) return parsed;
  order_.clear();  // a name that becomes known may push out another one
  // By rising name: one that is pushed out comes behind the present one, and was not counted for this record.
  for (const format::FeatureView& view : parsed_.all()) {
    if (KnownFeature* const known = known_.find_or_add(view.name)) count(*known, view, priority);
  }
  return {};
}

void FeatureCollector::Impl::count(KnownFeature& known, const format::FeatureView& view, std::uint64_t priority) {
  known_.state(known, static_cast<ValueKind>(view.kind)).add(view, priority, room_, known_.memory());
  known_.fit();
}

void FeatureCollector::Impl::note_other(std::uint64_t id, const Error& reason) {
  if (id >= first_other_id_) return;
  first_other_id_ = id;
  first_other_ = Error(reason.code(), "record " + std::to_string(id) + ": " + reason.detail());
}

void FeatureCollector::Impl::merge(const Impl& other) {
  order_.clear();
  known_.merge(other.known_);
  records_ += other.records_;
  examples_ += other.examples_;
  json_objects_ += other.json_objects_;
  if (other.first_other_id_ >= first_other_id_) return;
  first_other_id_ = other.first_other_id_;
  first_other_ = other.first_other_;
}

FeaturesReport FeatureCollector::Impl::report() const {
  FeaturesReport report;
  report.records = records_;
  report.examples = examples_;
  report.json_objects = json_objects_;
  report.first_other = first_other_;
  report.names_left_out = known_.names_left_out();
  for (const KnownFeature* const feature : known_.sorted()) {
    for (const auto& state : feature->kinds) {
      // One without a list counts as missing, where other records have it with one.
      const bool only = std::count(feature->kinds.begin(), feature->kinds.end(), nullptr) + 1 == 4;
      if (state && (state->kind() != ValueKind::none || only)) {
        report.features.push_back(state->report(feature->name));
      }
    }
  }
  detail::add_schema(report);
  return report;
}

FeatureCollector::FeatureCollector(std::size_t memory_bytes) : impl_(std::make_unique<Impl>(memory_bytes)) {}
FeatureCollector::FeatureCollector(FeatureCollector&&) noexcept = default;
FeatureCollector& FeatureCollector::operator=(FeatureCollector&&) noexcept = default;
FeatureCollector::~FeatureCollector() = default;

void FeatureCollector::add(std::uint64_t id, ByteView record) {
  impl_->add(id, record);
}
void FeatureCollector::merge(const FeatureCollector& other) {
  impl_->merge(*other.impl_);
}
std::uint64_t FeatureCollector::records() const noexcept {
  return impl_->records();
}
FeaturesReport FeatureCollector::report() const {
  return impl_->report();
}

}  // namespace dovetail
