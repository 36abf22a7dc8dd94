// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

namespace dovetail::detail {

/// The kind of the values of an MDS column.
enum class MdsKind : std::uint8_t { bytes, int_le, uint_le, float_le };

/// A column of MosaicML's shards.
struct MdsColumn {
  std::string name;
  std::string encoding;               ///< Such as "jpeg", "int" or "ndarray:float32:2,3".
  std::optional<std::uint32_t> size;  ///< Size of a value in bytes, if all have the same.
  MdsKind kind = MdsKind::bytes;      ///< Numbers have a size of 1, 2, 4 or 8 bytes.

  friend bool operator==(const MdsColumn&, const MdsColumn&) = default;
};

/// A file, as listed in the index.
struct MdsFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::vector<std::pair<std::string, std::string>> hashes = {};  ///< Name, such as "xxh64", and hexadecimal digits.
};

/// One shard, as listed in the index.
struct MdsShard {
  MdsFile raw;
  std::optional<MdsFile> packed = {};  ///< Set if the shard is compressed.
  std::string packing = {};            ///< How: "zstd:7".
  std::uint32_t samples = 0;
  std::vector<MdsColumn> columns = {};

  const MdsFile& stored() const noexcept { return packed ? *packed : raw; }
};

/// Empty for a compression that is not supported.
std::optional<Compression> compression_of(const MdsShard& shard) noexcept;

/// The `index.json` of an MDS folder.
struct MdsIndex {
  std::vector<MdsShard> shards;
};

/// The number of bytes that `looks_like_mds_index` looks at.
inline constexpr std::size_t kMdsIndexBegin = 4096;

/// Whether a text begins like the index of an MDS folder, so that a fault in the rest is an error.
bool looks_like_mds_index(std::string_view text);

/// Errors: `malformed_input` for anything but an index; `unknown_format` for shards of another
///         kind; `outside_dataset` for a name that leads out of the folder. All name the file
///         `path`.
Result<MdsIndex> parse_mds_index(std::string_view text, const std::string& path);

/// The columns in a shard's own copy of its description (`column_names` and so on); empty if that
/// is invalid.
std::optional<std::vector<MdsColumn>> parse_mds_columns(std::string_view text);

}  // namespace dovetail::detail
