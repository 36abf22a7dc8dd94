// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dovetail/source_options.h>

namespace dovetail::detail {

/// The format that a file name implies, or `detect`: `.tar`, `.csv`, `.tsv`, `.jsonl`, `.ndjson`,
/// `.dvt`, perhaps with `.gz`, `.zst`, `.bz2` or `.xz`; `.tgz`, `.tzst`, `.tbz2`, `.txz`; `.mds`;
/// those of TFRecords. All of these in either case. Also names such as `.rec` and `-idx3-ubyte`.
SourceFormat format_of_name(std::string_view path);

/// The format that the name of a single file implies: as `format_of_name`, but `.json` implies JSON
/// too, and the numbers of a shard alone imply nothing, because files of every kind have them.
SourceFormat format_promised_by(std::string_view path);

/// The compression that a name implies, or `none`: `.gz`, `.zst`, `.bz2`, `.xz`, `.tgz` and
/// similar; for TFRecords also `.gzip`, `.zlib` and `.zz`. An empty file is complete in Snappy's
/// framing, so its suffix implies nothing.
Compression compression_promised_by(std::string_view path);

/// The name without `.gz`, `.zst`, `.bz2` or `.xz`.
std::string_view without_compression(std::string_view path);

/// Whether a file of this name accompanies files of the format without records of its own: `.idx`
/// and `.lst` beside `.rec`, `.dvi` and `.idx` beside TFRecords.
bool is_sidecar(std::string_view path, SourceFormat of);

/// Name of a file that is unlinked at once.
inline constexpr std::string_view kUnnamed = "dovetail-unnamed";

/// Possible names of the labels beside images such as `x-images-idx3-ubyte`, compressed or not;
/// empty for other names.
std::vector<std::string> labels_of_images(const std::string& path);

/// Whether the name implies tabs: `.tsv`, perhaps with a compression.
bool has_tsv_name(std::string_view path);

}  // namespace dovetail::detail
