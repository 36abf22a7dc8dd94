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

/// The recovery of one shard, in three steps: find the blocks, decode them, report.
class ShardRecovery {
 public:
  /// Finds the blocks. `entry` is the shard's manifest entry, and `file_id` the id known from
  /// elsewhere. Without both, the file's own id counts.
  /// Errors: `not_dovetail` if nothing is found; `manifest_mismatch` if the file is another packing
  /// than that of `entry`; those of `scan_shard`.
  static Result<ShardRecovery> find(const std::string& path, const ShardInfo* entry,
                                    std::optional<std::uint64_t> file_id, const CheckedBytes& checked);

  const std::optional<format::Metadata>& metadata() const noexcept { return metadata_; }
  /// The largest codec of all blocks: zstd before Snappy before none.
  Codec codec() const noexcept;
  bool has_records() const noexcept;
  /// The shard's facts from the manifest or the footer.
  const std::optional<ShardInfo>& content() const noexcept { return content_; }
  /// 0 if unknown.
  std::uint64_t run_records() const noexcept { return content_ ? content_->run_records : 0; }
  std::uint32_t shard_number() const noexcept { return scan_.shard_number(); }

  /// Passes the records to `sink`. Errors: those of `decode_blocks`. Call it once.
  Result<void> decode(const BlockSink& sink, const CheckedBytes& checked);
  /// Adds the saved and the lost content to `report`. Lists regions while fewer than `most_regions`
  /// are listed.
  void tell(std::uint64_t most_regions, RecoverReport& report);

 private:
  explicit ShardRecovery(SalvageFile file) : file_(std::move(file)) {}
  Result<void> read_messages();
  /// Returns whether the file holds another packing of the shard than that of `entry`.
  bool is_refuted(const ShardInfo& entry) const;
  Result<std::optional<std::vector<std::byte>>> read_body(const FoundMessage& message);
  template <class Decode>
  auto read_message(std::optional<FoundMessage>& message, Decode&& decode)
      -> Result<std::optional<typename decltype(decode(ByteView()))::value_type>>;
  std::optional<std::uint64_t> expected_records(std::uint64_t at_least) const;
  std::vector<LostRange> contradictions(bool intact) const;

  SalvageFile file_;
  ShardScan scan_;
  const ShardInfo* entry_ = nullptr;
  std::optional<format::Metadata> metadata_;
  std::optional<ShardInfo> content_;  // from manifest or footer
  std::optional<ShardInfo> footer_;
  DecodedBlocks decoded_;
};

/// Compares by the footer: returns whether a shard with the file id of `entry` belongs to another
/// packing with the same dataset id.
bool holds_other_records(const ShardInfo& footer, const ShardInfo& entry) noexcept;
/// Copies record type, schema and the user's pairs into a writer's options. Leaves out a schema
/// that cannot be parsed, and returns an error for it.
Result<void> keep_metadata(const format::Metadata& metadata, WriterOptions& options);

}  // namespace dovetail::detail
