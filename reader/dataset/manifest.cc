// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/manifest.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include <boost/system/errc.hpp>

#include <dovetail/record_reader.h>

#include "format/layout.h"
#include "format/shard_encoder.h"
#include "format/structures.h"
#include "format/try.h"
#include "reader/dataset/paths.h"
#include "reader/dataset/tfrecord_sidecar.h"

namespace dovetail::detail {
namespace {

bool leaves_folder(std::string_view name) {
  if (name.starts_with('/')) return true;
  while (!name.empty()) {
    const std::size_t slash = std::min(name.find('/'), name.size());
    if (name.substr(0, slash) == "..") return true;
    name.remove_prefix(std::min(slash + 1, name.size()));
  }
  return false;
}

std::string in_quotes(std::string_view name) {
  return "'" + std::string(name) + "'";
}

Error outside(const std::string& name, std::string_view how) {
  return Error(Errc::outside_dataset, "the manifest names " + in_quotes(name) + ", which " + std::string(how) +
                                          "; DatasetOptions::allow_outside permits it");
}

Result<void> check_entry(const ShardInfo& info, const DatasetId& dataset, std::uint32_t position, bool allow_outside) {
  const std::string entry = "entry " + std::to_string(position) + " (" + in_quotes(info.name) + ")";
  if (!allow_outside && leaves_folder(info.name)) return outside(info.name, "is not a path inside its folder");
  const std::uint64_t file_id = format::make_file_id(dataset, position);
  if (info.file_id == file_id) return {};
  const bool foreign = (info.file_id >> 32) != (file_id >> 32);
  return Error(Errc::manifest_mismatch,
               foreign ? entry + " is a shard of another dataset than the manifest's"
                       : entry + " is shard number " + std::to_string(info.file_id & 0xFFFFFFFFu) + " of the dataset");
}

struct FreeString {
  void operator()(char* text) const noexcept { std::free(text); }
};

Result<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, FreeString> real(::realpath(path.c_str(), nullptr));
  if (real == nullptr) return Error::from_errno(errno, "cannot open the file").in_file(path);
  return std::string(real.get());
}

}  // namespace

bool is_manifest(const format::Metadata& metadata) {
  return metadata.record_type == format::kManifestRecordType;
}

Result<std::vector<ShardInfo>> read_manifest(const std::string& path, bool allow_outside) {
  DOVETAIL_ASSIGN(auto reader, RecordReader::open(path));
  const ShardDescription& manifest = reader.shard();
  if (manifest.record_type != format::kManifestRecordType) {
    return Error(Errc::unknown_format,
                 "this is not a manifest: its records are of type " + in_quotes(manifest.record_type))
        .in_file(path);
  }
  if (manifest.info.max_record_bytes > format::kMaxManifestEntryBytes) {
    return Error(Errc::bad_length,
                 "an entry of the manifest has " + std::to_string(manifest.info.max_record_bytes) + " bytes")
        .in_file(path);
  }

  std::vector<ShardInfo> shards;
  format::RecordFingerprint fingerprint;
  while (true) {
    DOVETAIL_ASSIGN(auto record, reader.next());
    if (!record) break;
    fingerprint.add(*record);
    if (shards.size() == ~std::uint32_t{0}) return Error(Errc::bad_length, "too many shards").in_file(path);
    const auto position = static_cast<std::uint32_t>(shards.size());
    auto info = format::decode_shard_info(*record);
    if (!info) {
      return Error(info.error().code(), "entry " + std::to_string(position) + ": " + info.error().detail())
          .in_file(path);
    }
    if (auto good = check_entry(*info, manifest.dataset_id, position, allow_outside); !good) {
      return good.error().in_file(path);
    }
    shards.push_back(std::move(*info));
  }
  // If the disk has lost a write, index and entries may belong to an older manifest than the
  // footer.
  if (fingerprint.value() != manifest.info.fingerprint) {
    return Error(Errc::index_mismatch, "the entries do not match the footer").in_file(path);
  }
  return shards;
}

Result<void> check_inside(const std::string& folder, const std::string& name) {
  DOVETAIL_ASSIGN(auto inside, real_path(folder.empty() ? "." : folder));
  const std::string prefix = inside == "/" ? inside : inside + "/";
  for (const std::string& file : {name, sidecar_path(name)}) {
    const std::string path = join_path(folder, file);
    auto target = real_path(path);
    if (!target && file != name && target.error().code() == boost::system::errc::no_such_file_or_directory) continue;
    if (!target) return target.error();
    if (!target->starts_with(prefix)) {
      return outside(file, "is a link to " + *target + " outside its folder").in_file(path);
    }
  }
  return {};
}

}  // namespace dovetail::detail
