// SPDX-License-Identifier: Apache-2.0
#include "reader/features/feature_collector.h"

#include <algorithm>
#include <span>

#include "format/text/json_members.h"
#include "format/try.h"

namespace dovetail {
namespace detail {

void Collector::add(std::uint64_t id, ByteView record) {
  ++records_;
  id_ = id;
  const std::uint64_t priority = mix_bits(id + 0x9E3779B97F4A7C15);
  const Result<void> added = add_example(record, priority);
  if (added) {
    ++examples_;
    return;
  }
  const Result<bool> json = add_json(record, priority);
  if (json && *json) {
    ++json_objects_;
  } else if (id < first_other_id_) {
    const Error& reason = json ? added.error() : json.error();
    note_other(id, Error(reason.code(), "record " + std::to_string(id) + ": " + reason.detail()));
  }
}

Result<void> Collector::add_example(ByteView record, std::uint64_t priority) {
  if (removals_ != known_.removals()) {
    places_.clear();
    removals_ = known_.removals();
  }
  if (!find_all(record)) {
    // The record has a new name, or is no Example.
    DOVETAIL_TRY(parsed_.parse(record));
    for (const format::FeatureView& view : parsed_.all()) {
      count(known_.find_or_add(view.name), static_cast<ValueKind>(view.kind), view, priority);
    }
    return {};
  }
  if (found_ == 0) return Error(Errc::bad_message, "tf.train.Example: no feature in the record");
  for (const auto& [known, view, head] : std::span(places_).first(found_)) {
    if (known == nullptr) continue;
    KnownFeature* const valid = removals_ == known_.removals() ? known : known_.find_or_add(view.name);
    count(valid, static_cast<ValueKind>(view.kind), view, priority);
  }
  return {};
}

Result<bool> Collector::add_json(ByteView record, std::uint64_t priority) {
  return format::for_each_member(record, [&](std::string_view name, const format::JsonValues& values) {
    constexpr std::array kKinds = {ValueKind::ints, ValueKind::floats, ValueKind::bytes};
    count(known_.find_or_add(name), kKinds[values.index()], values, priority);
  });
}

template <class List>
void Collector::count(KnownFeature* known, ValueKind kind, const List& list, std::uint64_t priority) {
  if (known == nullptr) return;
  FeatureState& state = known_.state(*known, kind);
  state.add(list, id_, priority, known_.memory());
  if (!known_.full()) [[likely]]
    return;
  if (when_full_) {
    when_full_(*this);
  } else {
    known_.shrink();
  }
}

/// Finds all features before any is counted, because a fault may follow later in the record.
/// Writers mostly store features in the same order, so it compares with the last record first.
/// Returns false unless the record is an Example whose names are all known.
bool Collector::find_all(ByteView record) {
  std::size_t place = 0;
  std::span<Place> places = places_;
  format::ExampleCursor cursor(record);
  format::WireFault fault;
  for (ByteView entry;; ++place) {
    place = find_same(cursor, place);
    if (!cursor.next(entry)) break;
    if (place == places.size()) {
      if (place == kMaxReportedFeatures) return false;  // or names that come again
      places_.emplace_back();
      places = places_;
    }
    auto& [known, view, head] = places[place];
    if (known != nullptr && format::scan_short(entry, known->name, view)) {
      head.keep(view);
    } else {
      head.forget();
      if (!format::scan_entry(entry, view, fault)) return false;
      if (known == nullptr || known->name != view.name) known = known_.find(view.name);
      if (known == nullptr) return false;
    }
    if (known->place == place) [[likely]]
      continue;
    // Of features with the same name, the last one counts.
    if (known->place < place && places[known->place].known == known) places[known->place].known = nullptr;
    known->place = place;
  }
  found_ = place;
  return cursor.fault().what == nullptr;
}

/// Finds the entries from `place` on that begin as those of the last record. Returns the place of
/// the next entry.
std::size_t Collector::find_same(format::ExampleCursor& cursor, std::size_t place) {
  // A local copy, which compilers keep in a register.
  const ByteView rest = cursor.rest();
  std::size_t found = 0;
  for (; place < places_.size(); ++place) {
    auto& [known, view, head] = places_[place];
    if (known == nullptr || known->place != place || !head.move(rest.subspan(found), view)) break;
    found += head.bytes();
  }
  cursor.skip(found);
  return place;
}

void Collector::note_other(std::uint64_t id, const std::optional<Error>& reason) {
  if (id >= first_other_id_) return;
  first_other_id_ = id;
  first_other_ = reason;
}

void Collector::merge(const Collector& other) {
  known_.merge(other.known_);
  records_ += other.records_;
  examples_ += other.examples_;
  json_objects_ += other.json_objects_;
  note_other(other.first_other_id_, other.first_other_);
}

void Collector::clear(const Collector& other) {
  known_.clear(other.known_.level());
  records_ = examples_ = json_objects_ = 0;
  first_other_id_ = ~std::uint64_t{0};
  first_other_.reset();
}

FeaturesReport Collector::report() {
  known_.shrink();
  FeaturesReport report;
  report.records = records_;
  report.examples = examples_;
  report.json_objects = json_objects_;
  report.first_other = first_other_;
  if (first_other_) report.first_other_record = first_other_id_;
  report.names_left_out = known_.names_left_out();
  for (const auto& [name, feature] : known_.by_name()) {
    for (const auto& state : feature->kinds) {
      // A feature without a list counts as missing if other records have it with a list.
      const bool only = std::count(feature->kinds.begin(), feature->kinds.end(), nullptr) + 1 == 4;
      if (state && (state->kind() != ValueKind::none || only)) {
        report.features.push_back(state->report(feature->name));
      }
    }
  }
  add_schema(report);
  return report;
}

}  // namespace detail

FeatureCollector::FeatureCollector(std::size_t memory_bytes)
    : impl_(std::make_unique<detail::Collector>(memory_bytes)) {}
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
