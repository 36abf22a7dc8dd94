// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dovetail/source_options.h>

namespace dovetail::detail {

/// The format that files of this name have, or `detect` where a name says nothing: `.tar`, `.csv`, `.tsv`, `.jsonl`,
/// `.ndjson`, `.dvt`, perhaps with `.gz`, `.zst`, `.bz2` or `.xz`; `.tgz`, `.tzst`, `.tbz2`, `.txz`; `.mds`; those of
/// TFRecords; all these in capitals or not; and `.rec`, `-idx3-ubyte` and the like.
SourceFormat format_of_name(std::string_view path);

/// What the name of a single file promises: as `format_of_name`, but `.json` promises JSON too, and the numbers of a shard alone
/// nothing, because files of every kind have them.
SourceFormat format_promised_by(std::string_view path);

/// The compression that a name promises, or `none`: `.gz`, `.zst`, `.bz2`, `.xz`, `.tgz` and the
/// like; of TFRecords also `.gzip`, `.zlib` and `.zz`. In Snappy's framing an empty file is a whole
/// one, so its name promises nothing.
Compression compression_promised_by(std::string_view path);

/// Whether a file of this name goes with those of the format, and holds no records itself: `.idx` and `.lst` beside
/// `.rec`, `.dvi` and `.idx` beside TFRecords.
bool is_sidecar(std::string_view path, SourceFormat of);

/// Names a file that loses its name at once: nobody misses what is in it.
inline constexpr std::string_view kUnnamed = "dovetail-unnamed";

/// The names that the labels of images may have, beside `x-images-idx3-ubyte` and the like, compressed or not; none for
/// other names.
std::vector<std::string> labels_of_images(const std::string& path);

/// Whether tabs are to be expected: `.tsv`, perhaps with a compression.
bool has_tsv_name(std::string_view path);

}  // namespace dovetail::detail
