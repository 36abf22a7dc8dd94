// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <dovetail/error.h>
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
struct DatasetOptions {
  /// Lets a manifest name files outside its own folder.
  bool allow_outside = false;
  /// Threads that read trailers where there is no manifest; 0 chooses.
  unsigned threads = 0;
};

/// Ordered shards, and what is known of each without reading records.
///
/// Ownership: a value; copies share the list.
/// Threads:   const calls may run concurrently.
class Dataset {
 public:
  /// Opens a shard, a folder with a manifest, a manifest, or a glob (`*`, `?` and `[...]`). A TFRecord file with an index
  /// beside it (`index_tfrecord`, tfrecord_index.h) is a shard like any other.
  ///
  /// A manifest is believed here: its shards are checked against it when they are opened for reading. A file named
  /// `manifest.dvt` has to be one. Without a manifest, the shards of a glob or a folder are taken in bytewise order of
  /// their relative paths, and the tail of each is read. In a folder the shards of one dataset must have the numbers 0, 1,
  /// 2, ... in this order, unless only one of them is there. A glob may name any files.
  /// Errors: `empty_input`, `several_datasets` for a folder without a manifest above ones that have theirs,
  ///         `missing_shard`, `misplaced_shard`, `not_indexed` for a TFRecord without an index, `foreign_file`
  ///         for a file of another format, `outside_dataset`, anything damaged, or the system's.
  static Result<Dataset> open(const std::string& path, const DatasetOptions& options = {});

  /// Lays datasets end to end: their shards, and so their ids, in the order given. A plan reads the whole as one dataset,
  /// or mixes its sources with `PlanOptions::mix`. Datasets that were joined before count as one source each.
  /// Errors: `empty_input` without datasets; `bad_length` for more than 2^55 records or 2^32 shards together.
  static Result<Dataset> join(std::span<const Dataset> datasets);

  /// As given to `open`; of joined datasets the first one's.
  const std::string& path() const noexcept;
  /// Whether the list came from a manifest; of joined datasets, whether all did.
  bool has_manifest() const noexcept;
  std::span<const ShardInfo> shards() const noexcept;
  /// Where the file of a shard lies.
  std::string shard_path(std::uint32_t shard) const;
  std::uint64_t records() const noexcept;
  std::uint64_t raw_bytes() const noexcept;
  /// Names the content: it covers the fingerprint, record count and run length of every shard, in order.
  Hash128 fingerprint() const noexcept;
  /// Shard and record of a dataset id. Needs: `id < records()`.
  struct Place {
    std::uint32_t shard = 0;
    std::uint64_t record = 0;
  };
  Place locate(std::uint64_t id) const;
  /// The columns that the metadata names, of the first shard that can be opened: what the writer of the records said of their
  /// features. Cost: reads that metadata. Errors: `invalid_option` where it names none; that of the first shard where none opens.
  Result<Schema> schema() const;
  /// What plans are made of.
  std::shared_ptr<const DatasetShape> shape() const noexcept;

 private:
  friend std::optional<std::pair<Dataset, std::uint32_t>> detail::part_of(const Dataset& joined, std::uint32_t shard);
  friend Result<std::string> detail::checked_shard_path(const Dataset& dataset, std::uint32_t shard);
  struct State;
  explicit Dataset(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace dovetail
