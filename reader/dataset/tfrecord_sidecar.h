// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

#include "format/messages.h"
#include "format/structures.h"
#include "reader/storage/input_file.h"

namespace dovetail::detail {

/// The content of the index beside a TFRecord file.
struct TfrecordSidecar {
  format::TfrecordFacts facts;
  format::Metadata metadata;
  DatasetId dataset_id;
  std::vector<format::IndexEntry> blocks;  ///< Empty unless requested.
};

/// The path of the index of a TFRecord file.
std::string sidecar_path(const std::string& path);
/// Whether a file exists at that path.
bool has_sidecar(const std::string& path) noexcept;

/// Whether a file that could not be opened as a shard, for this reason, should be opened as a
/// TFRecord with an index.
bool is_indexed_tfrecord(const std::string& path, const Error& not_a_shard) noexcept;

/// The error of opening a file. Adds advice if the file is missing but its index exists.
Error of_lone_index(const std::string& path, const Error& error);

/// Reads the index of a TFRecord file, and checks that the file's size, first and last bytes are
/// those that were indexed.
/// Errors: `index_mismatch` if they are not, or if the index is another kind of file; those of
///         reading a shard, with the path of the index; those of the system.
Result<TfrecordSidecar> read_sidecar(const InputFile& file, bool with_blocks);

/// For a file that is a shard. Errors: `index_mismatch` if the file does not have the name of a
/// shard, and the index of a TFRecord lies beside it. The shard has then replaced that TFRecord.
Result<void> check_in_its_place(const std::string& path);

/// The error for an index in place of a shard.
Error is_index_only(const std::string& path);
/// The error for the manifest of a part of a conversion, in place of a shard.
Error is_part_manifest(const std::string& path);

/// The facts that a manifest has about a shard or an indexed TFRecord file.
/// Errors: those of `read_shard_ends` and `read_sidecar`; `unknown_format` for manifests and
///         indexes.
Result<ShardInfo> read_shard_info(const std::string& path);

}  // namespace dovetail::detail
