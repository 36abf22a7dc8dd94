// SPDX-License-Identifier: Apache-2.0
#include "inspect/record_picker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "format/try.h"

namespace dovetail::inspect {

namespace {

// Enough for the shards of interleaved rows. One more closes all of them.
constexpr std::size_t kMaxOpened = 64;

}  // namespace

void RecordPicker::count_block(Opened& opened, std::uint64_t record) {
  const std::vector<BlockInfo>& blocks = opened.reader.shard().blocks;
  const auto after = std::upper_bound(blocks.begin(), blocks.end(), record,
                                      [](std::uint64_t place, const BlockInfo& b) { return place < b.first_record; });
  if (after == blocks.begin()) return;
  const auto block = static_cast<std::size_t>(after - blocks.begin()) - 1;
  if (block != opened.block) bytes_read_ += blocks[block].stored_bytes;
  opened.block = block;
}

Result<ByteView> RecordPicker::read(const Dataset::Place& place) {
  auto found = opened_.find(place.shard);
  if (found == opened_.end()) {
    if (opened_.size() == kMaxOpened) opened_.clear();
    DOVETAIL_ASSIGN(RecordReader reader, RecordReader::open(dataset_, place.shard));
    found = opened_.emplace(place.shard, Opened{.reader = std::move(reader)}).first;
  }
  RecordReader& reader = found->second.reader;
  DOVETAIL_TRY(reader.seek(place.record));
  count_block(found->second, place.record);
  DOVETAIL_ASSIGN(const std::optional<ByteView> bytes, reader.next());
  if (!bytes.has_value()) {
    return Error(Errc::index_mismatch, "the shard ends before the record that its footer counts")
        .in_file(dataset_.shard_path(place.shard));
  }
  return *bytes;
}

}  // namespace dovetail::inspect
