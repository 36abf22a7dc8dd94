// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/tfrecord_sidecar.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <boost/system/errc.hpp>

#include "format/crc32c/crc32c.h"
#include "format/layout.h"
#include "format/text/shell_quoted.h"
#include "format/tfrecord/tfrecord_index.h"
#include "format/try.h"
#include "reader/dataset/block_loader.h"
#include "reader/dataset/paths.h"
#include "reader/dataset/shard_ends.h"
#include "reader/dataset/shard_file.h"

namespace dovetail::detail {

namespace {

Error stale(const InputFile& file, const std::string& what) {
  return Error(Errc::index_mismatch, "its index " + sidecar_path(file.path()) + " is stale: " + what +
                                         "; if the file is correct, run `dovetail index " +
                                         format::shell_path(file.path()) + "` again")
      .in_file(file.path());
}

Result<void> check_same_file(const InputFile& file, const format::TfrecordFacts& facts) {
  if (facts.info.file_bytes != file.size()) {
    return stale(file, "the file had " + std::to_string(facts.info.file_bytes) +
                           " bytes when it was indexed, and now has " + std::to_string(file.size()));
  }
  std::array<std::byte, format::kTfrecordEndBytes> bytes;
  const auto end = std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), file.size()));
  std::uint32_t crc = 0;
  for (const std::uint64_t offset : {std::uint64_t{0}, file.size() - end.size()}) {
    DOVETAIL_TRY(file.read(offset, end));
    crc = format::crc32c(end, crc);
  }
  if (crc != facts.ends_crc) return stale(file, "the file has changed");
  return {};
}

Result<format::TfrecordFacts> read_facts(const ShardFile& sidecar, BlockLoader& loader) {
  if (sidecar.info().records == 0) return Error(Errc::index_mismatch, "the index of the TFRecord file is empty");
  DOVETAIL_ASSIGN(auto records, loader.load(sidecar, 0));
  return format::decode_tfrecord_facts(records[0]);
}

Result<std::vector<format::IndexEntry>> read_blocks(const ShardFile& sidecar, const format::TfrecordFacts& facts,
                                                    BlockLoader& loader) {
  format::TfrecordIndexReader blocks(facts.info);
  for (std::size_t block = 0; block < sidecar.blocks().size(); ++block) {
    DOVETAIL_ASSIGN(auto records, loader.load(sidecar, block));
    for (std::uint32_t i = block == 0 ? 1 : 0; i < records.size(); ++i) {
      DOVETAIL_TRY(blocks.add(records[i]));
    }
  }
  return blocks.finish();
}

}  // namespace

std::string sidecar_path(const std::string& path) {
  return path + format::kTfrecordIndexSuffix;
}

bool has_sidecar(const std::string& path) noexcept {
  struct stat status {};
  return ::lstat(sidecar_path(path).c_str(), &status) == 0;
}

bool is_indexed_tfrecord(const std::string& path, const Error& not_a_shard) noexcept {
  return (not_a_shard.is(Errc::not_indexed) || not_a_shard.is(Errc::not_dovetail)) && has_sidecar(path);
}

Error of_lone_index(const std::string& path, const Error& error) {
  if (error.code() != boost::system::errc::no_such_file_or_directory || !has_sidecar(path)) return error;
  return Error(error.code(), "only its index " + sidecar_path(path) +
                                 " exists; restore the file, or remove the index if it is not needed")
      .in_file(path);
}

Result<TfrecordSidecar> read_sidecar(const InputFile& file, bool with_blocks) {
  const std::string path = sidecar_path(file.path());
  DOVETAIL_ASSIGN(auto shard, ShardFile::open(path));
  TfrecordSidecar sidecar;
  DOVETAIL_ASSIGN(auto metadata, shard.read_metadata());
  if (shard.framing() != Framing::blocks || shard.header().shard_number != format::kTfrecordIndexShardNumber ||
      metadata.record_type != format::kTfrecordIndexRecordType) {
    return Error(Errc::index_mismatch, "this is not the index of a TFRecord file").in_file(path);
  }
  BlockLoader loader;
  auto facts = read_facts(shard, loader);
  if (!facts) return facts.error().in_file(path);
  DOVETAIL_TRY(check_same_file(file, *facts));
  if (with_blocks) {
    auto blocks = read_blocks(shard, *facts, loader);
    if (!blocks) return blocks.error().in_file(path);
    sidecar.blocks = std::move(*blocks);
  }
  sidecar.facts = std::move(*facts);
  sidecar.facts.info.name = name_of(file.path());
  sidecar.metadata = std::move(metadata);
  sidecar.dataset_id = shard.header().dataset_id;
  return sidecar;
}

Result<void> check_in_its_place(const std::string& path) {
  if (path.ends_with(format::kShardSuffix) || !has_sidecar(path)) return {};
  return Error(Errc::index_mismatch, "this is a shard, but the index of a TFRecord is beside it; remove " +
                                         sidecar_path(path) + " to read the shard")
      .in_file(path);
}

Error is_index_only(const std::string& path) {
  return Error(Errc::unknown_format, "this is the index of the TFRecord file beside it; open that file").in_file(path);
}

Error is_part_manifest(const std::string& path) {
  return Error(Errc::unknown_format,
               "this is the manifest of a part of a conversion, not a shard; run `dovetail merge` when all parts are "
               "finished, or name the shards beside it with a pattern, 'shard-*.dvt'")
      .in_file(path);
}

Result<ShardInfo> read_shard_info(const std::string& path) {
  auto ends = read_shard_ends(path);
  if (!ends) {
    if (!is_indexed_tfrecord(path, ends.error())) return of_lone_index(path, ends.error());
    DOVETAIL_ASSIGN(auto file, InputFile::open(path));
    DOVETAIL_ASSIGN(auto sidecar, read_sidecar(file, false));
    return std::move(sidecar.facts.info);
  }
  DOVETAIL_TRY(check_in_its_place(path));
  if (ends->header.shard_number == format::kManifestShardNumber) {
    return Error(Errc::unknown_format, "this is a manifest, not a shard; open it by itself").in_file(path);
  }
  if (ends->header.shard_number == format::kTfrecordIndexShardNumber) return is_index_only(path);
  if (ends->header.shard_number == format::kPartShardNumber) return is_part_manifest(path);
  return ends->info();
}

}  // namespace dovetail::detail
