// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

#include "convert/conversion_spec.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

inline constexpr std::uint32_t kMaxParts = 100'000;  // five digits

/// A part whose shards are all finished.
struct WholePart {
  ConversionSpec spec;
  DatasetId dataset_id;
  std::vector<std::vector<ShardInfo>> shards;  ///< By dataset.
};

/// The files in a staging folder that a part of a conversion has for itself, `.dovetail-part-IIIII-of-NNNNN.*`:
///
/// - `.conversion` has its spec,
/// - `.lock` is there while it is being converted,
/// - `.dvt` is its manifest, once all of its shards are finished.
class PartFiles {
 public:
  explicit PartFiles(const ConvertPart& part);

  /// The part that a name belongs to.
  static std::optional<ConvertPart> part_of(std::string_view name);

  std::string lock() const { return prefix_ + ".lock"; }
  std::string conversion() const { return prefix_ + ".conversion"; }
  std::string manifest() const { return prefix_ + ".dvt"; }
  /// Whether a name, also one of a file that is being written, is one of these.
  bool has(std::string_view name) const;

  /// Nothing where no conversion was begun. Errors: `bad_message`; the system's.
  Result<std::optional<ConversionSpec>> read_spec(const OutputFolder& folder) const;
  /// Errors: `invalid_option` for more than could be read again; the system's.
  Result<void> write_spec(std::shared_ptr<const OutputFolder> folder, const ConversionSpec& spec) const;

  /// Writes the manifest: a Dovetail shard. Its first record is the spec; then follow for each dataset
  /// the number of its shards as text and an entry for each, as in a manifest.
  Result<void> write(const OutputFolder& folder, const WholePart& part, Codec codec) const;
  /// Nothing where the part is not whole. Errors: `bad_message` and those of `RecordReader`.
  Result<std::optional<WholePart>> read(const OutputFolder& folder) const;

 private:
  std::string prefix_;
};

/// Parts of another number would hold other ranges of the same shards.
/// Errors: `state_mismatch` naming a file of such a part.
Result<void> check_counts(const OutputFolder& folder, const std::vector<std::string>& names, const ConvertPart& part);

/// Shards of part `number` of `parts`: [result, result of number + 1).
std::uint32_t first_shard_of(std::uint32_t number, std::uint32_t parts, std::uint32_t shards) noexcept;

/// Number of shards of each dataset, all parts together. Nothing where the spec is damaged.
std::optional<std::uint32_t> shards_of(const ConversionSpec& spec) noexcept;

/// Names of the datasets of a split; one empty name where there is none.
std::vector<std::string> names_of_outputs(const ConversionSpec& spec);

}  // namespace dovetail::detail
