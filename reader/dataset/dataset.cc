// SPDX-License-Identifier: Apache-2.0
#include <dovetail/dataset.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "format/layout.h"
#include "reader/dataset/guard_memory.h"
#include "reader/dataset/listing.h"
#include "reader/dataset/manifest.h"
#include "reader/dataset/parallel.h"
#include "reader/dataset/paths.h"
#include "reader/dataset/shard_ends.h"
#include "reader/dataset/shard_file.h"
#include "reader/plan/hash_words.h"

namespace dovetail {

struct Dataset::State {
  std::string path;
  std::string folder;
  bool has_manifest = false;
  bool allow_outside = false;
  std::vector<ShardInfo> shards;
  std::vector<std::uint64_t> first_ids;  // of each shard, and the number of all records
  std::uint64_t raw_bytes = 0;
  std::shared_ptr<const DatasetShape> shape;
};

namespace {

// Record ids of a dataset stay below this, so that the arithmetic of plans has room.
constexpr std::uint64_t kMaxRecords = std::uint64_t{1} << 55;

// Reading trailers waits for storage, not for cores.
constexpr unsigned kTailThreads = 16;

Hash128 fingerprint_of(const std::vector<ShardInfo>& shards) {
  std::vector<std::uint64_t> words;
  words.reserve(1 + 3 * shards.size());
  words.push_back(shards.size());
  for (const ShardInfo& shard : shards) {
    words.insert(words.end(), {shard.records, shard.run_records, shard.fingerprint});
  }
  return detail::hash_words(words);
}

Result<std::vector<ShardInfo>> read_infos(const detail::Listing& listing, unsigned threads) {
  if (listing.names.size() >= std::numeric_limits<std::uint32_t>::max()) {
    return Error(Errc::bad_length, "too many shards").in_file(listing.folder);
  }
  std::vector<ShardInfo> infos(listing.names.size());
  auto done =
      detail::for_each_index(infos.size(), threads == 0 ? kTailThreads : threads, [&](std::size_t i) -> Result<void> {
        auto ends = detail::read_shard_ends(detail::join_path(listing.folder, listing.names[i]));
        if (!ends) return ends.error();
        if (ends->header.shard_number == format::kManifestShardNumber) {
          return Error(Errc::unknown_format, "this is a manifest, not a shard; open it by itself")
              .in_file(ends->file.path());
        }
        infos[i] = ends->info();
        infos[i].name = listing.names[i];
        return {};
      });
  if (!done) return done.error();
  return infos;
}

struct ShardList {
  std::string folder;
  bool has_manifest = false;
  std::vector<ShardInfo> shards;
};

Result<ShardList> from_manifest(std::string folder, const std::string& name, bool allow_outside) {
  auto shards = detail::read_manifest(detail::join_path(folder, name), allow_outside);
  if (!shards) return shards.error();
  return ShardList{std::move(folder), true, std::move(*shards)};
}

Result<ShardList> list_shards(const std::string& path, const DatasetOptions& options) {
  auto listing = detail::list_dataset(path);
  if (!listing) return listing.error();
  if (listing->kind == detail::Listing::Kind::file) {
    auto shard = detail::ShardFile::open(path);
    if (!shard) return shard.error();
    auto metadata = shard->read_metadata();
    if (!metadata) return metadata.error();
    if (!detail::is_manifest(*metadata)) return ShardList{std::move(listing->folder), false, {shard->info()}};
    listing->kind = detail::Listing::Kind::manifest;
  }
  if (listing->kind == detail::Listing::Kind::manifest) {
    return from_manifest(std::move(listing->folder), listing->names.front(), options.allow_outside);
  }
  auto infos = read_infos(*listing, options.threads);
  if (!infos) return infos.error();
  return ShardList{std::move(listing->folder), false, std::move(*infos)};
}

}  // namespace

Dataset::Dataset(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<Dataset> Dataset::open(const std::string& path, const DatasetOptions& options) {
  return detail::guard_memory(path, [&]() -> Result<Dataset> {
    auto list = list_shards(path, options);
    if (!list) return list.error();

    auto state = std::make_shared<State>();
    state->path = path;
    state->folder = std::move(list->folder);
    state->has_manifest = list->has_manifest;
    state->allow_outside = options.allow_outside;
    state->shards = std::move(list->shards);

    auto shape = std::make_shared<DatasetShape>();
    shape->shards.reserve(state->shards.size());
    state->first_ids.reserve(state->shards.size() + 1);
    std::uint64_t records = 0;
    for (const ShardInfo& shard : state->shards) {
      state->first_ids.push_back(records);
      if (shard.records >= kMaxRecords - records || shard.raw_bytes > ~std::uint64_t{0} - state->raw_bytes) {
        return Error(Errc::bad_length, "up to shard '" + shard.name + "' it would hold 2^55 records or 2^64 bytes")
            .in_file(path);
      }
      records += shard.records;
      state->raw_bytes += shard.raw_bytes;
      shape->shards.push_back({shard.records, shard.run_records, shard.raw_bytes});
    }
    state->first_ids.push_back(records);
    shape->fingerprint = fingerprint_of(state->shards);
    state->shape = std::move(shape);
    return Dataset(std::move(state));
  });
}

const std::string& Dataset::path() const noexcept {
  return state_->path;
}
bool Dataset::has_manifest() const noexcept {
  return state_->has_manifest;
}
std::span<const ShardInfo> Dataset::shards() const noexcept {
  return state_->shards;
}
std::uint64_t Dataset::records() const noexcept {
  return state_->first_ids.back();
}
std::uint64_t Dataset::raw_bytes() const noexcept {
  return state_->raw_bytes;
}
Hash128 Dataset::fingerprint() const noexcept {
  return state_->shape->fingerprint;
}
std::shared_ptr<const DatasetShape> Dataset::shape() const noexcept {
  return state_->shape;
}

std::string Dataset::shard_path(std::uint32_t shard) const {
  return detail::join_path(state_->folder, state_->shards[shard].name);
}

Dataset::Place Dataset::locate(std::uint64_t id) const {
  // The last shard that begins at or before the id; it is never an empty one, which the next begins with.
  const auto next = std::upper_bound(state_->first_ids.begin(), state_->first_ids.end(), id);
  const auto shard = static_cast<std::size_t>(next - state_->first_ids.begin()) - 1;
  return {static_cast<std::uint32_t>(shard), id - state_->first_ids[shard]};
}

namespace detail {

Result<std::string> checked_shard_path(const Dataset& dataset, std::uint32_t shard) {
  const Dataset::State& state = *dataset.state_;
  if (state.has_manifest && !state.allow_outside) {
    if (auto inside = check_inside(state.folder, state.shards[shard].name); !inside) return inside.error();
  }
  return dataset.shard_path(shard);
}

Result<ShardFile> open_shard(const Dataset& dataset, std::uint32_t shard) {
  auto path = checked_shard_path(dataset, shard);
  if (!path) return path.error();
  auto file = ShardFile::open(*path, &dataset.shards()[shard]);
  if (!file && file.error().is(Errc::manifest_mismatch) && !dataset.has_manifest()) {
    return Error(Errc::file_changed, "it is not the shard that the dataset was opened with").in_file(*path);
  }
  return file;
}

}  // namespace detail

}  // namespace dovetail
