// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/listing.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "format/address.h"
#include "format/layout.h"
#include "format/staging_names.h"
#include "format/text/lower_case.h"
#include "format/text/set_name.h"
#include "format/text/shell_quoted.h"
#include "format/text/staging_advice.h"
#include "format/text/wildcard.h"
#include "format/tfrecord/tfrecord_name.h"
#include "format/try.h"
#include "reader/dataset/glob.h"
#include "reader/dataset/paths.h"
#include "reader/dataset/shard_ends.h"

namespace dovetail::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexSuffix = format::kTfrecordIndexSuffix;

bool is_index_name(std::string_view path) {
  return path.ends_with(kIndexSuffix);
}

bool is_manifest_name(std::string_view path) {
  return name_of(path) == format::kManifestName;
}

/// Whether an entry of this name makes its folder a dataset, finished or not.
bool marks_dataset(std::string_view name) {
  return format::final_name(name) == format::kManifestName || format::marks_staging(name);
}

/// Whether a conversion writes in this folder. Others that write are `DatasetWriter` and `recover`.
bool has_conversion(const std::string& folder) {
  std::error_code failure;
  const fs::directory_iterator end;
  for (fs::directory_iterator it(folder, failure); !failure && it != end; it.increment(failure)) {
    if (format::final_name(it->path().filename().native()).starts_with(format::kPartPrefix)) return true;
  }
  return false;
}

/// `folder` was to be opened; `staged` is the staging folder, which may be the folder above it.
Error unfinished_dataset(const std::string& folder, const std::string& staged) {
  const bool converted = has_conversion(folder) || has_conversion(join_path(folder, ".."));
  const std::string advice = converted ? format::staging_advice(staged) + "; `dovetail recover " +
                                             format::shell_path(folder) + " DST` saves its records"
                                       : format::stopped_writer_advice(folder);
  return Error(Errc::unfinished, advice).in_file(folder);
}

/// The error for a file that has the name of a TFRecord, but holds a shard, an index or a manifest.
Error no_tfrecord(const std::string& path) {
  return Error(
             Errc::malformed_input,
             "its name is that of a TFRecord, but it is a shard, a manifest or an index of Dovetail; put the TFRecord "
             "back, or give this file another name")
      .in_file(path);
}

/// For the name of a shard that was changed to capitals, or that got the suffix of a compressed
/// file: the name in lower case, without that suffix. Empty for other names.
std::string altered_shard_name(std::string_view name) {
  const bool packed = format::cut_packing(name);
  std::string lower = format::lower_case(name);
  if (packed && format::set_name(name_of(lower)) == std::string(format::kShardPrefix) + '#')
    lower += format::kShardSuffix;
  return lower.ends_with(format::kShardSuffix) ? lower : std::string();
}

/// A shard that was compressed or renamed among others would be left out silently.
Result<void> check_names_of_shards(const std::string& folder, const std::vector<std::string>& names,
                                   const std::vector<std::string>& others) {
  std::set<std::string> there;
  for (const std::string& name : names) there.insert(format::lower_case(name));
  for (const std::string& name : others) {
    const std::string shard = altered_shard_name(name);
    if (shard.empty() || there.empty() || there.contains(shard)) continue;
    return Error(Errc::not_dovetail,
                 "its name is that of a shard in capitals, or of a compressed shard; rename it, "
                 "decompress it, or move it elsewhere")
        .in_file(join_path(folder, name));
  }
  return {};
}

Error renamed_shard(const std::string& path) {
  return Error(Errc::not_dovetail,
               "this shard is not named NAME.dvt, unlike others beside it; rename it, or move it elsewhere")
      .in_file(path);
}

/// Among shards or indexed TFRecords, a TFRecord without an index was added later, or its index is
/// lost. Among indexed TFRecords, a file that cannot be examined may be one.
Result<void> check_all_indexed(const std::string& folder, std::vector<std::string>& indexes,
                               const std::vector<std::string>& others) {
  std::sort(indexes.begin(), indexes.end());
  std::set<std::string> sets;
  for (const std::string& name : indexes) sets.insert(format::set_name(name));
  for (const std::string& name : others) {
    if (std::binary_search(indexes.begin(), indexes.end(), name)) continue;
    const std::string path = join_path(folder, name);
    const bool of_set = sets.contains(format::set_name(name));
    std::error_code refused;
    const bool special = !fs::is_regular_file(path, refused) && !refused;
    if (special && !of_set && !format::has_tfrecord_name(name)) continue;
    auto ends = read_shard_ends(path);
    if (ends && format::has_tfrecord_name(name)) return no_tfrecord(path);
    if (ends && name_of(name).starts_with(format::kShardPrefix)) return renamed_shard(path);
    if (ends) continue;  // a shard by another name; such files are ignored
    const Error& error = ends.error();
    const bool unknown = error.kind() == ErrorKind::io && !indexes.empty();
    const bool absent = error.code() == boost::system::errc::no_such_file_or_directory;
    if (absent && !of_set && !format::has_tfrecord_name(name)) continue;  // a dangling link
    if (error.is(Errc::not_indexed) || unknown || format::has_tfrecord_name(name)) return error;
    if (!of_set) continue;
    return Error(error.code(), error.detail() +
                                   "; files beside it, whose names differ in numbers only, are indexed "
                                   "TFRecords")
        .in_file(path);
  }
  return {};
}

/// The error for a folder without shards. Partial files in it mean that a writer was stopped before
/// it published any.
Error no_shards(const std::string& folder) {
  bool has_folders = false;
  std::error_code failure;
  const fs::directory_iterator end;
  for (fs::directory_iterator it(folder, failure); !failure && it != end; it.increment(failure)) {
    const std::string name = it->path().filename().native();
    std::error_code unknown;
    has_folders = has_folders || (!name.starts_with('.') && it->is_directory(unknown));
    if (!format::is_partial_name(name) || !format::final_name(name).ends_with(format::kShardSuffix)) continue;
    // Shards with numbers belong to one dataset. Others are datasets of their own, and `recover`
    // takes one dataset from a folder.
    const bool numbered = format::final_name(name).starts_with(format::kShardPrefix);
    const std::string saved =
        numbered ? format::shell_path(folder) + " TARGET" : format::shell_path(join_path(folder, name)) + " TARGET.dvt";
    return Error(Errc::unfinished, "a shard such as " + name +
                                       " is being written here, or its writer was stopped; write it again, or save its "
                                       "intact records with `dovetail recover " +
                                       saved + '`')
        .in_file(folder);
  }
  const std::string labels = has_folders ? ", with --labels if its folders are classes" : "";
  const std::string advice = "pack its content with `dovetail convert " + format::shell_path(folder) + " --to DIR`" +
                             labels + "; or index plain TFRecords with `dovetail index`";
  return Error(Errc::empty_input, "the folder has neither a manifest nor shards (*.dvt, indexed TFRecords); " + advice)
      .in_file(folder);
}

/// Fails if a writer was stopped after it published shards but before it published the manifest.
/// The manifest's partial file then remains.
Result<void> refuse_unfinished(const std::string& folder) {
  std::error_code failure;
  // The folder may be one dataset of a split that is being published.
  if (fs::exists(join_path(join_path(folder, ".."), format::kStagingLock), failure))
    return unfinished_dataset(folder, folder_of(folder.substr(0, folder.find_last_not_of('/') + 1)));
  const fs::directory_iterator end;
  for (fs::directory_iterator it(folder, failure); !failure && it != end; it.increment(failure)) {
    const std::string name = it->path().filename().native();
    if (format::marks_staging(name)) return unfinished_dataset(folder, folder);
    if (!format::is_partial_name(name) || format::final_name(name) != format::kManifestName) continue;
    return Error(Errc::unfinished, "a dataset is being written here, or its writer was stopped: the only manifest is " +
                                       name + "; write it again, or name the shards that you want with a pattern, " +
                                       shard_pattern(folder))
        .in_file(folder);
  }
  if (failure) return Error::from_errno(failure.value(), "cannot list the folder").in_file(folder);
  return {};
}

/// Without a manifest a folder is only a set of files. Datasets taken together so would hide
/// missing shards, and mix records that were kept apart.
Error several_datasets(const std::string& folder, const std::vector<std::string>& datasets) {
  constexpr std::size_t kNamed = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(datasets.size(), kNamed); ++i) {
    names += (i == 0 ? "'" : ", '") + datasets[i] + "'";
  }
  if (datasets.size() > kNamed) names += " and " + std::to_string(datasets.size() - kNamed) + " more";
  const std::string lie =
      datasets.size() == 1 ? "a dataset lies below it: " : std::to_string(datasets.size()) + " datasets lie below it: ";
  return Error(Errc::several_datasets, "the folder has no manifest of its own, and " + lie + names +
                                           "; give one of them, such as " + join_path(folder, datasets.front()))
      .in_file(folder);
}

Result<Listing> list_folder(const std::string& folder) {
  struct stat status {};
  // A dangling link counts as a manifest: opening it reports the reason, while reading the shards
  // without it would hide that.
  if (::lstat(join_path(folder, format::kManifestName).c_str(), &status) == 0) {
    return Listing{Listing::Kind::manifest, folder, {format::kManifestName}};
  }
  if (errno != ENOENT) return Error::from_errno(errno, "cannot look for a manifest").in_file(folder);

  DOVETAIL_TRY(refuse_unfinished(folder));
  DOVETAIL_ASSIGN(auto below, list_shards_below(folder));
  if (!below.datasets.empty()) return several_datasets(folder, below.datasets);
  if (below.shards.empty()) return no_shards(folder);
  return Listing{Listing::Kind::files, folder, std::move(below.shards)};
}

Result<Listing> list_glob(const std::string& pattern) {
  DOVETAIL_ASSIGN(auto found, expand_glob(pattern));
  const std::size_t matched = found.files.size();
  std::erase_if(found.files, [](const std::string& name) { return is_manifest_name(name) || is_index_name(name); });
  if (found.files.empty()) {
    return Error(Errc::empty_input,
                 matched == 0 ? "no file matches the pattern"
                              : "only manifests and indexes match the pattern; open a manifest, or its folder")
        .in_file(pattern);
  }
  return Listing{Listing::Kind::matches, std::move(found.folder), std::move(found.files)};
}

}  // namespace

Result<Listing> list_dataset(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return list_folder(path);
    const auto kind = is_manifest_name(path) ? Listing::Kind::manifest : Listing::Kind::file;
    return Listing{kind, folder_of(path), {name_of(path)}};
  }
  const int reason = errno;
  if (reason == ENOENT && format::is_address(path)) {
    return Error(Errc::unknown_format,
                 "this is a remote address, but datasets are read from local files; copy it here first")
        .in_file(path);
  }
  if ((reason == ENOENT || reason == ENOTDIR) && format::has_wildcard(path)) return list_glob(path);
  const std::size_t end = path.find_last_not_of('/');
  const std::string staged = path.substr(0, end == path.npos ? 0 : end + 1) + std::string(format::kStagingSuffix);
  if (reason == ENOENT && ::stat((staged + '/' + format::kStagingLock).c_str(), &status) == 0) {
    return unfinished_dataset(staged, staged);
  }
  return Error::from_errno(reason, "cannot open the dataset").in_file(path);
}

Result<FilesBelow> list_shards_below(const std::string& folder) {
  std::vector<std::string> names;
  std::vector<std::string> datasets;
  std::vector<std::string> indexes;  // names of TFRecord files that have an index
  std::vector<std::string> others;
  std::vector<std::string> pending = {""};
  const fs::directory_iterator end;
  while (!pending.empty()) {
    const std::string below = std::move(pending.back());
    pending.pop_back();
    const std::string listed = join_path(folder.empty() ? "." : folder, below);
    std::error_code failure;
    for (fs::directory_iterator it(listed, failure); !failure && it != end; it.increment(failure)) {
      const std::string name = it->path().filename().native();
      if (!below.empty() && marks_dataset(name) && (datasets.empty() || datasets.back() != below)) {
        datasets.push_back(below);
      }
      if (name.starts_with('.') || name == format::kManifestName) continue;
      std::error_code refused;
      std::error_code unknown;
      const fs::file_type type = it->symlink_status(refused).type();
      const bool of_shard = name.starts_with(format::kShardPrefix) && name.ends_with(format::kShardSuffix);
      if (of_shard && it->is_directory(unknown)) {
        return Error(Errc::not_dovetail, "this folder has the name of a shard; remove it, or rename it")
            .in_file(join_path(listed, name));
      }
      if (type == fs::file_type::directory) {
        pending.push_back(join_path(below, name));
      } else if (name.ends_with(format::kShardSuffix) && !it->is_directory(unknown)) {
        names.push_back(join_path(below, name));
      } else if (is_index_name(name)) {
        indexes.push_back(join_path(below, name.substr(0, name.size() - kIndexSuffix.size())));
      } else if (type == fs::file_type::none) {
        // The entry may be a folder of shards, or a TFRecord. Entries that look like shards are
        // listed instead, and opening them reports the reason.
        return Error::from_errno(refused.value(), "cannot examine it").in_file(join_path(listed, name));
      } else if (!it->is_directory(unknown)) {
        // A dangling link may be a TFRecord that was not fetched, and a FIFO may become one.
        others.push_back(join_path(below, name));
      }
    }
    if (failure) return Error::from_errno(failure.value(), "cannot list the folder").in_file(listed);
  }
  if (datasets.empty() && !(names.empty() && indexes.empty())) {
    DOVETAIL_TRY(check_names_of_shards(folder, names, others));
    DOVETAIL_TRY(check_all_indexed(folder, indexes, others));
  }
  // List an indexed TFRecord even if the file is missing: opening it reports that, while leaving it
  // out would hide records.
  names.insert(names.end(), indexes.begin(), indexes.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());  // a shard may have an index beside it
  std::sort(datasets.begin(), datasets.end());
  return FilesBelow{std::move(names), std::move(datasets)};
}

}  // namespace dovetail::detail
