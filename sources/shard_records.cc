// SPDX-License-Identifier: Apache-2.0
#include "sources/shard_records.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/record_reader.h>

#include "format/endian.h"
#include "format/text/json_remedy.h"
#include "format/try.h"
#include "sources/bytes/hashes.h"
#include "sources/openers.h"

namespace dovetail::detail {

namespace {

// Up to this many records are read and dropped instead of seeking to a block.
constexpr std::uint64_t kReadOn = 64;

/// The selected records of a shard.
struct Selection {
  ShardShare share;
  std::uint64_t bytes = 0;  // of the file, attributed to these records
  std::uint64_t first_id = 0;
  double sample = 1;
  std::uint64_t seed = 0;
  std::uint32_t max_record_bytes = 0;

  bool holds(std::uint64_t record) const { return sample >= 1 || is_sampled(first_id + record, sample, seed); }
};

/// The records of one shard. Does not read records outside the selection, except single records
/// between selected ones.
class ShardRecords final : public FileRecords {
 public:
  ShardRecords(RecordReader reader, std::string path, const Selection& selection)
      : reader_(std::move(reader)),
        path_(std::move(path)),
        selection_(selection),
        number_(selection.share.first),
        at_(number_) {}

  Result<std::optional<ByteView>> next() override {
    too_large_ = false;
    const std::uint64_t end = selection_.share.end;
    while (number_ < end && !selection_.holds(number_)) ++number_;
    at_ = std::min(number_, end);
    if (number_ >= end) {
      damage_.reset();
      return std::nullopt;
    }
    if (number_ < lost_end_) {
      ++number_;
      return *damage_;
    }
    damage_.reset();
    if (auto gone = go_to(number_); !gone) return fail(gone.error());
    auto record = reader_.next();
    if (!record) return fail(record.error());
    if (!*record) {
      return Error(Errc::index_mismatch, "the shard ends before the record that its footer counts").in_file(path_);
    }
    ++number_;
    if ((*record)->size() <= selection_.max_record_bytes) return record;
    too_large_ = true;
    return Error(Errc::record_too_large, "record " + std::to_string(at_) + " has " + std::to_string((*record)->size()) +
                                             " bytes; the limit is " + std::to_string(selection_.max_record_bytes))
        .at(path_, place().offset);
  }

  RecordPlace place() const override { return {offset_of(at_), consumed_before(at_)}; }
  bool goes_on() const override { return damage_ || too_large_; }
  bool jumps_over_damage() const override { return true; }

  Result<void> skip_to(std::uint64_t consumed) override {
    std::uint64_t low = number_;
    for (std::uint64_t high = std::max(low, selection_.share.end); low < high;) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (consumed_before(middle) < consumed) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    number_ = low;
    return {};
  }

 private:
  // Reports damage for each record of a block separately, so that ranges that share a block count
  // their own records.
  Error fail(const Error& error) {
    if (error.kind() != ErrorKind::damaged) return error;
    damage_ = error;
    lost_end_ = std::max(number_ + 1, reader_.skip_damage().end_record);
    ++number_;
    return error;
  }

  Result<void> go_to(std::uint64_t record) {
    const std::uint64_t at = reader_.position();
    if (record < at || record - at > kReadOn) return reader_.seek(record);
    for (std::uint64_t i = at; i < record; ++i) {
      if (auto dropped = reader_.next(); !dropped) {
        // Ignore damage in records that are not selected.
        if (dropped.error().kind() != ErrorKind::damaged) return dropped.error();
        return reader_.seek(record);
      }
    }
    return {};
  }

  // Counts by record number, not by place: the records of the range share its bytes evenly.
  std::uint64_t consumed_before(std::uint64_t record) const {
    const std::uint64_t records = std::max<std::uint64_t>(selection_.share.end - selection_.share.first, 1);
    const auto scaled = static_cast<unsigned __int128>(selection_.bytes) * (record - selection_.share.first) / records;
    return static_cast<std::uint64_t>(scaled);
  }

  std::uint64_t offset_of(std::uint64_t record) const {
    const std::vector<BlockInfo>& blocks = reader_.shard().blocks;
    const auto behind =
        std::upper_bound(blocks.begin(), blocks.end(), record,
                         [](std::uint64_t wanted, const BlockInfo& block) { return wanted < block.first_record; });
    return behind == blocks.begin() ? 0 : (behind - 1)->offset;
  }

  RecordReader reader_;
  std::string path_;
  Selection selection_;
  std::uint64_t number_;         // number of the next record in the shard
  std::uint64_t at_;             // number of the current record
  std::optional<Error> damage_;  // of the current record, and of all up to `lost_end_`
  std::uint64_t lost_end_ = 0;
  bool too_large_ = false;
};

}  // namespace

bool is_sampled(std::uint64_t id, double fraction, std::uint64_t seed) noexcept {
  std::array<std::byte, sizeof(id)> bytes;
  format::store_le(bytes.data(), id);
  // A double holds the upper 53 bits exactly.
  return static_cast<double>(keyed_hash(bytes, seed) >> 11) * 0x1p-53 < fraction;
}

Result<SourceListing> list_dataset(const std::string& path, const SourceOptions& options) {
  DOVETAIL_ASSIGN(auto dataset, Dataset::open(path));
  if (!(options.sample > 0 && options.sample <= 1)) {
    return Error(Errc::invalid_option, "sample = " + std::to_string(options.sample) + ": it must be above 0, up to 1");
  }
  const std::uint64_t end = std::min(options.end.value_or(dataset.records()), dataset.records());
  SourceListing listing;
  listing.format = SourceFormat::dovetail;
  std::uint64_t begin = 0;  // id of the shard's first record
  for (std::uint32_t i = 0; i < dataset.shards().size(); ++i) {
    const ShardInfo& shard = dataset.shards()[i];
    const ShardShare share{i, std::min(std::max(options.first, begin) - begin, shard.records),
                           std::min(std::max(end, begin) - begin, shard.records)};
    begin += shard.records;
    if (share.first >= share.end) continue;
    const auto bytes = static_cast<unsigned __int128>(shard.file_bytes) * (share.end - share.first) / shard.records;
    listing.files.push_back({dataset.shard_path(i), static_cast<std::uint64_t>(bytes)});
    listing.shares.push_back(share);
  }
  if (listing.files.empty()) {
    return Error(Errc::empty_input, "none of the " + std::to_string(dataset.records()) + " records is in the range")
        .in_file(path);
  }
  listing.dataset = std::move(dataset);
  return listing;
}

Result<FileOpener> make_shard_opener(const SourceListing& listing, const SourceOptions& options) {
  if (options.records == RecordForm::example) {
    return Error(Errc::invalid_option,
                 "records of a dataset are taken unchanged; --records example does not apply; for features of JSON, " +
                     std::string(format::kJsonRemedy))
        .in_file(listing.dataset->path());
  }
  DOVETAIL_ASSIGN(const auto first, RecordReader::open(*listing.dataset, listing.shares.front().shard));
  const ShardDescription& shard = first.shard();
  FileOpener opener{.record_type = shard.record_type, .metadata = shard.metadata};
  if (!shard.schema.empty()) {
    auto schema = parse_schema(shard.schema);
    if (!schema) return schema.error().in_file(listing.path_of(0));
    opener.schema = [parsed = std::move(*schema)] { return std::optional(parsed); };
  }
  std::vector<std::uint64_t> first_ids = {0};  // id of the first record of each shard
  for (const ShardInfo& info : listing.dataset->shards()) first_ids.push_back(first_ids.back() + info.records);
  opener.open = [&listing, &options, first_ids = std::move(first_ids)](
                    std::size_t file, SourceFile bytes, Compression /*none*/) -> Result<std::unique_ptr<FileRecords>> {
    const ShardShare& share = listing.shares[file];
    DOVETAIL_ASSIGN(auto reader, RecordReader::open(*listing.dataset, share.shard));
    const Selection selection{share,          listing.files[file].size, first_ids[share.shard],
                              options.sample, options.sample_seed,      options.max_record_bytes};
    return std::make_unique<ShardRecords>(std::move(reader), bytes.path(), selection);
  };
  return opener;
}

Result<std::unique_ptr<FileRecords>> open_indexed_tfrecord(const SourceFile& file, std::uint32_t max_record_bytes) {
  DOVETAIL_ASSIGN(const auto dataset, Dataset::open(file.path()));
  DOVETAIL_ASSIGN(auto reader, RecordReader::open(dataset, 0));
  const Selection all{.share = {0, 0, dataset.records()}, .bytes = file.size(), .max_record_bytes = max_record_bytes};
  return std::unique_ptr<FileRecords>(std::make_unique<ShardRecords>(std::move(reader), file.path(), all));
}

}  // namespace dovetail::detail
