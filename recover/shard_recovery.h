// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/record_writer.h>
#include <dovetail/recover.h>
#include <dovetail/shard_info.h>

#include "format/messages.h"
#include "recover/block_choice.h"
#include "recover/salvage_file.h"
#include "recover/shard_scan.h"

namespace dovetail::detail {

/// One shard that is being recovered: found, then written, then told about.
class ShardRecovery {
 public:
  /// Finds the blocks. `entry` is what a manifest says of the shard, and `file_id` what is known otherwise; without them
  /// the file id is the file's own.
  /// Errors: `not_dovetail` where nothing is found, `manifest_mismatch` where the file is another packing than that of `entry`,
  ///         those of `scan_shard`.
  static Result<ShardRecovery> find(const std::string& path, const ShardInfo* entry,
                                    std::optional<std::uint64_t> file_id, const CheckedBytes& checked);

  const std::optional<format::Metadata>& metadata() const noexcept { return metadata_; }
  /// Snappy if any block has it.
  Codec codec() const noexcept;
  bool has_records() const noexcept;
  /// What the manifest or the footer says of it.
  const std::optional<ShardInfo>& content() const noexcept { return content_; }
  /// 0 where it is not known.
  std::uint64_t run_records() const noexcept { return content_ ? content_->run_records : 0; }
  std::uint32_t shard_number() const noexcept { return scan_.shard_number(); }

  /// Gives the records to `sink`. Errors: those of `decode_blocks`. Call it once.
  Result<void> decode(const BlockSink& sink, const CheckedBytes& checked);
  /// Adds what was saved and what was not; lists regions as long as there are fewer than `most_regions`.
  void tell(std::uint64_t most_regions, RecoverReport& report);

 private:
  explicit ShardRecovery(SalvageFile file) : file_(std::move(file)) {}
  Result<void> read_messages();
  /// Whether the file holds another packing of the shard than `entry` tells of.
  bool is_refuted(const ShardInfo& entry) const;
  Result<std::optional<std::vector<std::byte>>> read_body(const FoundMessage& message);
  template <class Decode>
  auto read_message(std::optional<FoundMessage>& message, Decode&& decode)
      -> Result<std::optional<typename decltype(decode(ByteView()))::value_type>>;
  std::optional<std::uint64_t> expected_records(std::uint64_t at_least) const;

  SalvageFile file_;
  ShardScan scan_;
  const ShardInfo* entry_ = nullptr;
  std::optional<format::Metadata> metadata_;
  std::optional<ShardInfo> content_;  // by manifest or footer
  std::optional<ShardInfo> footer_;
  DecodedBlocks decoded_;
};

/// Whether a shard with the file id of `entry` is of another packing with the same dataset id, by its footer.
bool holds_other_records(const ShardInfo& footer, const ShardInfo& entry) noexcept;
/// `manifest_mismatch`, of such a shard.
Error refuted_shard();

/// Record type, schema and user's pairs into the options of a writer. A schema that cannot be read is left out, and told.
Result<void> keep_metadata(const format::Metadata& metadata, WriterOptions& options);

}  // namespace dovetail::detail
