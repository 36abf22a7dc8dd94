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

/// What the index beside a TFRecord file says of it.
struct TfrecordSidecar {
  format::TfrecordFacts facts;
  format::Metadata metadata;
  DatasetId dataset_id;
  std::vector<format::IndexEntry> blocks;  ///< Where they were asked for.
};

/// Where the index of a TFRecord file lies.
std::string sidecar_path(const std::string& path);
/// Whether there is something at that place.
bool has_sidecar(const std::string& path) noexcept;

/// Whether what could not be opened as a shard, for this reason, is to be opened as a TFRecord file with an index.
bool is_indexed_tfrecord(const std::string& path, const Error& not_a_shard) noexcept;

/// The error of opening a file, with what to do where the file is gone and an index of it is there.
Error of_lone_index(const std::string& path, const Error& error);

/// Reads the index of a TFRecord file, and checks that the file's size, first and last bytes are those that were indexed.
/// Errors: `index_mismatch` where they are not, or where the index is something else; those of reading a shard, with the path of the index; the system's.
Result<TfrecordSidecar> read_sidecar(const InputFile& file, bool with_blocks);

/// For a file that is a shard. Errors: `index_mismatch` where its name is not that of one and the index of a TFRecord lies
/// beside it: then it has taken the place of that TFRecord.
Result<void> check_in_its_place(const std::string& path);

/// The error for an index where a shard is wanted.
Error is_index_only(const std::string& path);
/// The error for the manifest of a part of a conversion.
Error is_part_manifest(const std::string& path);

/// What a manifest would say of a shard or of an indexed TFRecord file. Errors: those of `read_shard_ends` and
/// `read_sidecar`; `unknown_format` for manifests and indexes.
Result<ShardInfo> read_shard_info(const std::string& path);

}  // namespace dovetail::detail
