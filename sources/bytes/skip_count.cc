// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/skip_count.h"

#include <algorithm>

namespace dovetail::detail {

namespace {

bool same(const Error& a, const Error& b) {
  return a.code() == b.code() && a.offset() == b.offset() && a.detail() == b.detail() && a.path() == b.path();
}

}  // namespace

void SkipTally::add(std::uint64_t place, const SkippedRecord& record, bool named) {
  count_ += record.records;
  if (named) name(place, record);
}

void SkipTally::add(const SkipTally& other) {
  count_ += other.count_;
  for (const Named& each : other.named_) name(each.place, each.record);
}

void SkipTally::name(std::uint64_t place, const SkippedRecord& record) {
  for (Named& each : named_) {
    if (!same(each.record.error, record.error)) continue;
    each.record.records += record.records;
    return;  // equal errors come from one block, so the first place suffices
  }
  if (named_.size() == kShown && place >= named_.back().place) return;
  const auto behind = std::upper_bound(named_.begin(), named_.end(), place,
                                       [](std::uint64_t wanted, const Named& each) { return wanted < each.place; });
  named_.insert(behind, {place, record});
  if (named_.size() > kShown) named_.pop_back();
}

std::vector<SkippedRecord> SkipTally::first() const {
  std::vector<SkippedRecord> records;
  for (const Named& each : named_) records.push_back(each.record);
  return records;
}

void ShareSkips::add(std::uint64_t share, std::uint64_t place, const SkippedRecord& record) {
  SkipTally& tally = shares_[share];
  const std::size_t before = tally.named();
  // At least `kShown` named records come before an unnamed record of a later share.
  tally.add(place, record, named_ < SkipTally::kShown || before != 0);
  named_ += tally.named() - before;
}

SkipTally ShareSkips::take(std::uint64_t share) {
  SkipTally taken;
  while (!shares_.empty() && shares_.begin()->first <= share) {
    named_ -= shares_.begin()->second.named();
    if (shares_.begin()->first == share) taken = std::move(shares_.begin()->second);
    shares_.erase(shares_.begin());
  }
  return taken;
}

}  // namespace dovetail::detail
