// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/identity.h>
#include <dovetail/plan.h>
#include <dovetail/schema.h>
#include <dovetail/shard_info.h>

namespace dovetail {

class Dataset;

namespace detail {
std::optional<std::pair<Dataset, std::uint32_t>> part_of(const Dataset& joined, std::uint32_t shard);
Result<std::string> checked_shard_path(const Dataset& dataset, std::uint32_t shard);
}  // namespace detail

/// How a dataset is opened.
struct DOVETAIL_EXPORT DatasetOptions {
  /// Lets a manifest name files outside its own folder. Default off.
  bool allow_outside = false;
  /// Threads that read trailers if there is no manifest; 0 (default) chooses.
  unsigned threads = 0;
};

/// Ordered shards, and what is known of each without reading records.
///
/// Ownership: a value; copies share the list.
/// Threads:   const calls may run concurrently.
class DOVETAIL_EXPORT Dataset {
 public:
  /// Opens a shard, a folder with a manifest, a manifest, or a glob (`*`, `?` and `[...]`). A
  /// TFRecord file with an index beside it (`index_tfrecord`, tfrecord_index.h) is a shard like any
  /// other.
  ///
  /// - A manifest is trusted here. Its shards are checked against it when they are opened for
  ///   reading. A file named `manifest.dvt` must be a manifest.
  /// - Without a manifest, shards are taken in bytewise order of their relative paths, and the tail
  ///   of each is read. This holds for globs and folders.
  /// - Without a manifest, the shards of one dataset in a folder must have the numbers 0, 1, 2, ...
  ///   in this order, unless only one of them is there. A glob may name any files.
  ///
  /// Errors: `empty_input`; `several_datasets` for a folder without a manifest above folders that
  ///         have manifests; `missing_shard`; `misplaced_shard`; `not_indexed` for a TFRecord
  ///         without an index; `foreign_file` for a file of another format; `outside_dataset`;
  ///         anything damaged; the system's.
  static Result<Dataset> open(const std::string& path, const DatasetOptions& options = {});

  /// Concatenates datasets: their shards, and so their ids, follow in the order given. A plan reads
  /// the result as one dataset, or mixes its sources with `PlanOptions::mix`. Datasets that were
  /// joined before count as one source each.
  /// Errors: `empty_input` without datasets; `bad_length` for more than 2^55 records or 2^32 shards
  ///         in total; `invalid_option` for two datasets whose metadata gives different names to the
  ///         numbers of classes (`kClassesKey`, convert.h).
  /// Cost:   reads the metadata of the first shard of each dataset. If that does not open, the
  ///         dataset counts as one without names of classes.
  static Result<Dataset> join(std::span<const Dataset> datasets);

  /// The path given to `open`; for joined datasets that of the first one.
  const std::string& path() const noexcept;
  /// Whether the list came from a manifest; for joined datasets, whether all did.
  bool has_manifest() const noexcept;
  std::span<const ShardInfo> shards() const noexcept;
  /// Path of the file of a shard.
  std::string shard_path(std::uint32_t shard) const;
  std::uint64_t records() const noexcept;
  std::uint64_t raw_bytes() const noexcept;
  /// Identifies the content: covers the fingerprint, record count and run length of every shard, in
  /// order.
  Hash128 fingerprint() const noexcept;
  /// Shard and record of a dataset id. Needs: `id < records()`.
  struct Place {
    std::uint32_t shard = 0;
    std::uint64_t record = 0;
  };
  Place locate(std::uint64_t id) const;
  /// The schema in the metadata of the first shard that can be opened: how the writer of the
  /// records described their features. Cost: reads that metadata.
  /// Errors: `invalid_option` if the metadata has no schema; the error of the first shard if none
  ///         opens.
  Result<Schema> schema() const;
  /// The input of `Plan::make`.
  std::shared_ptr<const DatasetShape> shape() const noexcept;

 private:
  friend std::optional<std::pair<Dataset, std::uint32_t>> detail::part_of(const Dataset& joined, std::uint32_t shard);
  friend Result<std::string> detail::checked_shard_path(const Dataset& dataset, std::uint32_t shard);
  struct DOVETAIL_HIDDEN State;
  explicit Dataset(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace dovetail
