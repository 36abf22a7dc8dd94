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
  std::vector<std::vector<ShardInfo>> shards;  ///< Shards of each dataset.
};

/// The files of one part in a staging folder, `.dovetail-part-IIIII-of-NNNNN.*`:
///
/// - `.conversion` has its spec,
/// - `.lock` exists while it is being converted,
/// - `.dvt` is its manifest, when all its shards are finished.
class PartFiles {
 public:
  explicit PartFiles(const ConvertPart& part);

  /// The part that a name belongs to.
  static std::optional<ConvertPart> part_of(std::string_view name);

  std::string lock() const { return prefix_ + ".lock"; }
  std::string conversion() const { return prefix_ + ".conversion"; }
  std::string manifest() const { return prefix_ + ".dvt"; }
  /// Whether a name is one of these, or the partial file of one.
  bool has(std::string_view name) const;

  /// Empty if no conversion was begun. Errors: `bad_message`; the system's.
  Result<std::optional<ConversionSpec>> read_spec(const OutputFolder& folder) const;
  /// Errors: `invalid_option` if it is too long to be read again; the system's.
  Result<void> write_spec(std::shared_ptr<const OutputFolder> folder, const ConversionSpec& spec) const;

  /// Writes the manifest: a Dovetail shard. Its first record is the spec. For each dataset follow
  /// the number of its shards as text, and an entry per shard as in a manifest.
  Result<void> write(const OutputFolder& folder, const WholePart& part, Codec codec) const;
  /// Empty if the part is not complete. Errors: `bad_message` and those of `RecordReader`.
  Result<std::optional<WholePart>> read(const OutputFolder& folder) const;

 private:
  std::string prefix_;
};

/// Refuses parts of a conversion with another number of parts, which would have other ranges of the
/// same shards.
/// Errors: `state_mismatch`, naming a file of such a part.
Result<void> check_counts(const OutputFolder& folder, const std::vector<std::string>& names, const ConvertPart& part);

/// Shards of part `number` of `parts`: [result, result of number + 1).
std::uint32_t first_shard_of(std::uint32_t number, std::uint32_t parts, std::uint32_t shards) noexcept;

/// Number of shards of each dataset over all parts. Empty if the spec is damaged.
std::optional<std::uint32_t> shards_of(const ConversionSpec& spec) noexcept;

/// Names of the datasets of a split; one empty name if there is no split.
std::vector<std::string> names_of_outputs(const ConversionSpec& spec);

}  // namespace dovetail::detail
