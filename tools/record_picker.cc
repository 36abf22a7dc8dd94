// SPDX-License-Identifier: Apache-2.0
#include "tools/record_picker.h"

#include <algorithm>
#include <utility>

namespace dovetail::tools {

namespace {

// Far below any limit of descriptors, and enough for the shards that interleaved rows come from.
constexpr std::size_t kMaxOpened = 64;

}  // namespace

void RecordPicker::make_room() {
  if (opened_.size() < kMaxOpened) return;
  const auto oldest = std::min_element(opened_.begin(), opened_.end(), [](const auto& a, const auto& b) {
    return a.second.last_use < b.second.last_use;
  });
  opened_.erase(oldest);
}

Result<ByteView> RecordPicker::read(const Dataset::Place& place) {
  auto found = opened_.find(place.shard);
  if (found == opened_.end()) {
    make_room();
    Result<RecordReader> reader = RecordReader::open(dataset_, place.shard);
    if (!reader) return reader.error();
    found = opened_.emplace(place.shard, Opened{std::move(*reader)}).first;
  }
  found->second.last_use = ++uses_;
  RecordReader& reader = found->second.reader;
  if (auto sought = reader.seek(place.record); !sought) return sought.error();
  const Result<std::optional<ByteView>> bytes = reader.next();
  if (!bytes) return bytes.error();
  if (!bytes->has_value()) {
    return Error(Errc::index_mismatch, "the shard ends before the record that its footer counts")
        .in_file(dataset_.shard_path(place.shard));
  }
  return **bytes;
}

}  // namespace dovetail::tools
