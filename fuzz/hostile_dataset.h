// SPDX-License-Identifier: Apache-2.0
// Small datasets of every layout on disk, and changes to their files that an input asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/support.h"
#include "tests/support/sample_shards.h"

namespace dovetail::fuzz {

/// How the records of a dataset look and lie.
enum class Layout : std::uint8_t {
  snappy,    ///< Of different sizes, compressed; one shard is empty.
  fixed,     ///< Of one size, stored, so that they are scattered into their rows.
  large,     ///< Each in a block of its own, so that it is read straight into its row.
  examples,  ///< Of tf.train.Example, for columns; some do not fit them.
  tfrecord,  ///< TFRecord files with indexes, without a manifest.
};
inline constexpr unsigned kLayouts = 5;

/// The columns that the records of `Layout::examples` have.
inline constexpr const char* kExampleColumns = "image:u8[4], label:i64, tokens:i32[*], weight:f32=1, tags:bytes[*]=[]";

/// A dataset whose files are changed and put back.
class HostileDataset {
 public:
  /// Writes it into the scratch folder. Throws where that fails.
  explicit HostileDataset(Layout layout);

  /// The files as they were written.
  void restore();

  /// Makes the changes that an input asks for. Whether records may have come to be with good
  /// checksums that were not written at their place.
  bool change(Input& input, bool with_manifest);
  /// Whether any file may be another one than was written.
  bool changed() const noexcept;

  Layout layout() const noexcept { return layout_; }
  bool has_manifest() const noexcept { return layout_ != Layout::tfrecord; }
  /// What `Dataset::open` takes: the manifest, or a glob of the shards.
  std::string path(bool with_manifest) const;
  /// The record that was written at a place of a file; nothing where there was none.
  const std::string* written(const std::string& path, std::uint64_t record) const;

 private:
  struct File {
    std::string path;
    std::string bytes;
    test::Records records;             // none in manifests and indexes
    std::vector<std::size_t> anchors;  // where structures begin
    bool tfrecord = false;
    bool changed = false;
  };
  void keep(const std::string& path, test::Records records = {});
  void write_dataset(const std::vector<test::Records>& shards);
  void write_tfrecords(const std::vector<test::Records>& shards);
  /// Whether bytes of one file came into another.
  bool edit(Input& input, std::vector<std::optional<std::string>>& files);

  Layout layout_;
  std::string folder_;
  std::vector<File> files_;
};

/// The one of this layout in the process, as it was written.
HostileDataset& hostile_dataset(unsigned layout);

}  // namespace dovetail::fuzz
