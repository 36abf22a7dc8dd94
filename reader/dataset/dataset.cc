// SPDX-License-Identifier: Apache-2.0
#include <dovetail/dataset.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <dovetail/convert.h>

#include "format/guard_memory.h"
#include "format/layout.h"
#include "format/structures.h"
#include "format/text/class_names.h"
#include "format/text/json_remedy.h"
#include "format/try.h"
#include "reader/dataset/listing.h"
#include "reader/dataset/manifest.h"
#include "reader/dataset/parallel.h"
#include "reader/dataset/paths.h"
#include "reader/dataset/shard_ends.h"
#include "reader/dataset/shard_file.h"
#include "reader/dataset/shard_numbers.h"
#include "reader/dataset/tfrecord_sidecar.h"
#include "reader/plan/hash_words.h"

namespace dovetail {

struct Dataset::State {
  /// One of several datasets that were joined.
  struct Part {
    Dataset dataset;
    std::uint32_t first_shard = 0;
  };

  /// The names that a dataset gives to the numbers of its classes, and which dataset.
  struct Classes {
    std::string text;  ///< Of `kClassesKey`; empty if there are none.
    std::string path;
  };

  /// Of the first shard, or as joined. Damage is reported when records are read.
  static Classes classes_of(const Dataset& dataset);
  /// Labels are numbers, so joined datasets must number their classes alike.
  /// Errors: `invalid_option`.
  Result<void> add_classes(const Dataset& dataset);
  /// Adds the next shard to the list and to `into`. Errors: `bad_length`.
  Result<void> add(const ShardInfo& shard, DatasetShape& into);
  /// The part that holds a shard; null if this dataset was not joined.
  const Part* part_of(std::uint32_t shard) const noexcept;

  std::vector<Part> parts;
  std::string path;
  std::string folder;
  bool has_manifest = false;
  bool allow_outside = false;
  std::vector<ShardInfo> shards;
  std::vector<std::uint64_t> first_ids;  // of each shard, then the number of all records
  std::uint64_t raw_bytes = 0;
  std::shared_ptr<const DatasetShape> shape;
  Classes classes;  // of joined datasets
};

// Record ids stay below this limit, so that the arithmetic of plans cannot overflow.
static constexpr std::uint64_t kMaxRecords = std::uint64_t{1} << 55;

Result<void> Dataset::State::add(const ShardInfo& shard, DatasetShape& into) {
  const std::uint64_t records = first_ids.back();
  if (shard.records >= kMaxRecords - records || shard.raw_bytes > ~std::uint64_t{0} - raw_bytes) {
    return Error(Errc::bad_length,
                 "up to shard '" + shard.name + "' it has 2^55 records or 2^64 bytes, which is too many");
  }
  first_ids.push_back(records + shard.records);
  raw_bytes += shard.raw_bytes;
  into.shards.push_back({shard.records, shard.run_records, shard.raw_bytes});
  return {};
}

Dataset::State::Classes Dataset::State::classes_of(const Dataset& dataset) {
  if (!dataset.state_->parts.empty()) return dataset.state_->classes;
  if (dataset.shards().empty()) return {};
  const auto shard = detail::open_shard(dataset, 0);
  const auto metadata = shard ? shard->read_metadata() : Result<format::Metadata>(shard.error());
  if (!metadata) return {};
  const auto found = metadata->user.find(std::string(kClassesKey));
  return found == metadata->user.end() ? Classes() : Classes{found->second, dataset.path()};
}

Result<void> Dataset::State::add_classes(const Dataset& dataset) {
  Classes next = classes_of(dataset);
  if (next.text.empty()) return {};
  if (classes.text.empty()) {
    classes = std::move(next);
    return {};
  }
  const auto further = format::check_labels_agree(next.text, classes.text, classes.path);
  if (!further) return further.error().in_file(next.path);
  if (*further) classes = std::move(next);
  return {};
}

const Dataset::State::Part* Dataset::State::part_of(std::uint32_t shard) const noexcept {
  const auto after = std::upper_bound(parts.begin(), parts.end(), shard,
                                      [](std::uint32_t number, const Part& part) { return number < part.first_shard; });
  return after == parts.begin() ? nullptr : &*(after - 1);
}

namespace {

// Reading the ends of shards waits for storage, so more threads than cores help.
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
        DOVETAIL_ASSIGN(auto info, detail::read_shard_info(detail::join_path(listing.folder, listing.names[i])));
        infos[i] = std::move(info);
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
  DOVETAIL_ASSIGN(auto shards, detail::read_manifest(detail::join_path(folder, name), allow_outside));
  return ShardList{std::move(folder), true, std::move(shards)};
}

/// Of a folder, whose shards can be used without the manifest.
Error with_advice(const Error& error) {
  if (error.kind() != ErrorKind::damaged || error.is(Errc::unsupported_version)) return error;
  const Error advised(error.code(),
                      error.detail() + "; the shards may be good: `dovetail recover` makes a new dataset of them");
  return error.offset() ? advised.at(error.path(), *error.offset()) : advised.in_file(error.path());
}

Result<ShardList> list_shards(const std::string& path, const DatasetOptions& options) {
  DOVETAIL_ASSIGN(auto listing, detail::list_dataset(path));
  if (listing.kind == detail::Listing::Kind::file) {
    auto shard = detail::ShardFile::open(path);
    if (!shard) return detail::of_named_file(shard.error(), path);
    DOVETAIL_ASSIGN(auto metadata, shard->read_metadata());
    if (shard->header().shard_number == format::kTfrecordIndexShardNumber) return detail::is_index_only(path);
    if (metadata.record_type == format::kPartRecordType) return detail::is_part_manifest(path);
    if (!detail::is_manifest(metadata)) return ShardList{std::move(listing.folder), false, {shard->info()}};
    return from_manifest(std::move(listing.folder), listing.names.front(), options.allow_outside);
  }
  if (listing.kind == detail::Listing::Kind::manifest) {
    auto list = from_manifest(std::move(listing.folder), listing.names.front(), options.allow_outside);
    std::error_code ignored;
    if (list || !std::filesystem::is_directory(path, ignored)) return list;
    return with_advice(list.error());
  }
  DOVETAIL_ASSIGN(auto infos, read_infos(listing, options.threads));
  if (listing.kind == detail::Listing::Kind::files) {
    if (const auto wrong = detail::check_shard_numbers(listing.folder, infos); !wrong.empty()) return wrong.front();
  }
  return ShardList{std::move(listing.folder), false, std::move(infos)};
}

}  // namespace

Dataset::Dataset(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<Dataset> Dataset::open(const std::string& path, const DatasetOptions& options) {
  return detail::guard_memory(path, [&]() -> Result<Dataset> {
    DOVETAIL_ASSIGN(auto list, list_shards(path, options));

    auto state = std::make_shared<State>();
    state->path = path;
    state->folder = std::move(list.folder);
    state->has_manifest = list.has_manifest;
    state->allow_outside = options.allow_outside;
    state->shards = std::move(list.shards);

    auto shape = std::make_shared<DatasetShape>();
    shape->shards.reserve(state->shards.size());
    state->first_ids.reserve(state->shards.size() + 1);
    state->first_ids.push_back(0);
    for (const ShardInfo& shard : state->shards) {
      if (auto added = state->add(shard, *shape); !added) return added.error().in_file(path);
    }
    shape->fingerprint = fingerprint_of(state->shards);
    state->shape = std::move(shape);
    return Dataset(std::move(state));
  });
}

Result<Dataset> Dataset::join(std::span<const Dataset> datasets) {
  if (datasets.empty()) return Error(Errc::empty_input, "no dataset is given");
  return detail::guard_memory(datasets.front().path(), [&]() -> Result<Dataset> {
    auto state = std::make_shared<State>();
    auto shape = std::make_shared<DatasetShape>();
    state->path = datasets.front().path();
    state->has_manifest = true;
    state->first_ids.push_back(0);
    for (const Dataset& dataset : datasets) {
      const std::size_t first = state->shards.size();
      if (dataset.shards().size() >= std::numeric_limits<std::uint32_t>::max() - first) {
        return Error(Errc::bad_length, "together the datasets have 2^32 shards or more").in_file(dataset.path());
      }
      DOVETAIL_TRY(state->add_classes(dataset));
      state->parts.push_back({dataset, static_cast<std::uint32_t>(first)});
      shape->source_shards.push_back(static_cast<std::uint32_t>(dataset.shards().size()));
      state->has_manifest = state->has_manifest && dataset.has_manifest();
      for (const ShardInfo& shard : dataset.shards()) {
        state->shards.push_back(shard);
        if (auto added = state->add(shard, *shape); !added) return added.error().in_file(dataset.path());
      }
    }
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

Result<Schema> Dataset::schema() const {
  return detail::guard_memory(path(), [&]() -> Result<Schema> {
    std::optional<Error> first_error;
    for (std::uint32_t number = 0; number < shards().size(); ++number) {
      auto shard = detail::open_shard(*this, number);
      auto metadata = shard ? shard->read_metadata() : Result<format::Metadata>(shard.error());
      if (!metadata) {
        if (!first_error) first_error = metadata.error();
        continue;
      }
      if (metadata->schema.empty()) {
        return Error(Errc::invalid_option,
                     "its metadata names no columns; give them, such as \"image:u8[28,28,1], label:i64\"; dovetail "
                     "inspect --features prints them, dovetail convert --schema infer stores them; if the records are "
                     "JSON, " +
                         std::string(format::kJsonRemedy))
            .in_file(shard_path(number));
      }
      auto schema = parse_schema(metadata->schema);
      return schema ? std::move(schema) : schema.error().in_file(shard_path(number));
    }
    return first_error.value_or(Error(Errc::empty_input, "the dataset has no shard").in_file(path()));
  });
}

std::string Dataset::shard_path(std::uint32_t shard) const {
  if (const State::Part* const part = state_->part_of(shard))
    return part->dataset.shard_path(shard - part->first_shard);
  return detail::join_path(state_->folder, state_->shards[shard].name);
}

Dataset::Place Dataset::locate(std::uint64_t id) const {
  // Finds the last shard that begins at or before the id. It is never an empty shard: the next
  // shard begins at the same id.
  const auto next = std::upper_bound(state_->first_ids.begin(), state_->first_ids.end(), id);
  const auto shard = static_cast<std::size_t>(next - state_->first_ids.begin()) - 1;
  return {static_cast<std::uint32_t>(shard), id - state_->first_ids[shard]};
}

namespace detail {

std::optional<std::pair<Dataset, std::uint32_t>> part_of(const Dataset& joined, std::uint32_t shard) {
  const Dataset::State::Part* const part = joined.state_->part_of(shard);
  if (part == nullptr) return std::nullopt;
  return std::pair(part->dataset, shard - part->first_shard);
}

Result<std::string> checked_shard_path(const Dataset& dataset, std::uint32_t shard) {
  const Dataset::State& state = *dataset.state_;
  if (const Dataset::State::Part* const part = state.part_of(shard)) {
    return checked_shard_path(part->dataset, shard - part->first_shard);
  }
  if (state.has_manifest && !state.allow_outside) {
    DOVETAIL_TRY(check_inside(state.folder, state.shards[shard].name));
  }
  return dataset.shard_path(shard);
}

Result<ShardFile> open_shard(const Dataset& dataset, std::uint32_t shard) {
  if (const auto part = part_of(dataset, shard)) return open_shard(part->first, part->second);
  DOVETAIL_ASSIGN(auto path, checked_shard_path(dataset, shard));
  auto file = ShardFile::open(path, &dataset.shards()[shard]);
  if (!file && file.error().is(Errc::manifest_mismatch) && !dataset.has_manifest()) {
    return Error(Errc::file_changed, "the shard changed after the dataset was opened").in_file(path);
  }
  return file;
}

}  // namespace detail

}  // namespace dovetail
