// SPDX-License-Identifier: Apache-2.0
#include "sources/listing.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "format/layout.h"
#include "format/staging_names.h"
#include "format/text/shell_quoted.h"
#include "format/text/staging_advice.h"
#include "format/text/wildcard.h"
#include "format/try.h"
#include "sources/bytes/folder_names.h"
#include "sources/bytes/names.h"
#include "sources/bytes/source_file.h"
#include "sources/detect.h"
#include "sources/folder_format.h"
#include "sources/folder_notes.h"
#include "sources/foreign_formats.h"
#include "sources/left_out.h"
#include "sources/shard_records.h"
#include "writer/dataset_files.h"

namespace dovetail::detail {
namespace {

bool leads_nowhere(const Error& of_link) {
  const auto& code = of_link.code();
  return code == boost::system::errc::no_such_file_or_directory || code == boost::system::errc::not_a_directory ||
         code == boost::system::errc::too_many_symbolic_link_levels;
}

// Refuse the folder: the missing files would be left out silently.
Error unfinished_folder(const std::string& folder, const std::string& name) {
  const std::string shown = folder.size() == 1 ? folder : folder.substr(0, folder.rfind('/'));
  std::string why;
  if (format::marks_staging(name)) {
    const bool converted = name != format::kStagingLock;
    why = converted ? format::staging_advice(shown) : format::stopped_writer_advice(shown);
  } else if (format::final_name(name) == format::kManifestName || shard_number_of(format::final_name(name))) {
    why =
        "a dataset is being written here, or its writer was stopped; write it again, or save its intact records with "
        "`dovetail recover " +
        format::shell_path(shown) + " TARGET`";
  } else if (format::final_name(name).ends_with(format::kShardSuffix)) {
    why =
        "a shard is being written here, or its writer was stopped; write it again, or save its intact records with "
        "`dovetail recover " +
        format::shell_path(folder + name) + " TARGET.dvt`";
  } else {
    why =
        "this file is being written, or its writer was stopped, so more files may be missing; "
        "write all of them again (an export with --overwrite), or remove the .*.partial-* files if nothing is "
        "missing";
  }
  return Error(Errc::unfinished, why).in_file(folder + name);
}

Error holds_no_file(const std::string& path, const LeftOut& left_out) {
  const std::string what = to_string(left_out);
  std::string why = what.empty() ? "the folder has no file" : "the folder has only files that are left out: " + what;
  if (left_out.dangling != 0) {
    why += "; fetch the content of the links, as with `git annex get` or `dvc pull`";
  }
  return Error(Errc::empty_input, why).in_file(path);
}

Result<void> list_class(SourceListing& listing, const std::string& name, const SourceOptions& options);

// Adds the files in `below`, a path relative to the listing's folder that is empty or ends with a
// slash. Skips hidden names, such as .git and .DS_Store: programs create them, and they are no
// records.
Result<void> list_below(SourceListing& listing, const std::string& below, const SourceOptions& options) {
  DOVETAIL_ASSIGN(auto found, names_in(listing.folder + below));
  if (!found.unfinished.empty()) return unfinished_folder(listing.folder + below, found.unfinished);
  listing.left_out.hidden += found.hidden;
  for (const std::string& name : found.names) {
    const std::string relative = below + name;
    drop_matching(listing.unmatched, relative);
    // Collect indexes even if they are left out themselves.
    constexpr std::string_view kIndex = format::kTfrecordIndexSuffix;
    if (name.ends_with(kIndex)) listing.indexed.insert(relative.substr(0, relative.size() - kIndex.size()));
    auto status = status_of(listing.folder + relative, false);
    if (!status) return status.error();
    const bool is_folder = S_ISDIR(status->st_mode);
    LeaveReason reason = reason_to_leave(relative, is_folder, options);
    if (S_ISLNK(status->st_mode)) status = status_of(listing.folder + relative, true);
    if (!status) {
      const bool chosen = reason == nullptr || reason == &LeftOut::unlabelled;
      if (chosen && leads_nowhere(status.error())) reason = &LeftOut::dangling;
      if (reason == nullptr) return status.error();
    } else if (S_ISDIR(status->st_mode) ? !is_folder : reason == nullptr && !S_ISREG(status->st_mode)) {
      reason = &LeftOut::special;  // links to folders are not followed, so there are no cycles
    }
    if (reason != nullptr) {
      ++(listing.left_out.*reason);
      const bool folder = status && S_ISDIR(status->st_mode);
      if (!folder && (reason == &LeftOut::dangling || reason == &LeftOut::special)) listing.absent.push_back(relative);
      continue;
    }
    if (is_folder) {
      const bool is_class = options.labels && below.empty();
      auto listed = is_class ? list_class(listing, name, options) : list_below(listing, relative + '/', options);
      if (!listed) return listed;
      continue;
    }
    listing.files.push_back({relative, static_cast<std::uint64_t>(status->st_size)});
  }
  return {};
}

// Lists the files of a class. An empty class is an error: leaving it out would renumber the classes
// behind it. Patterns that exclude all its files exclude the class. But dangling links mean files
// that are wanted and were not fetched.
Result<void> list_class(SourceListing& listing, const std::string& name, const SourceOptions& options) {
  const LeftOut before = std::exchange(listing.left_out, {});
  const std::size_t files = listing.files.size();
  DOVETAIL_TRY(list_below(listing, name + '/', options));
  const bool excluded = listing.left_out.excluded != 0 && listing.left_out.dangling == 0;
  if (listing.files.size() == files && !excluded) {
    const Error none = holds_no_file(listing.folder + name, listing.left_out);
    return Error(none.code(), none.detail() + "; with labels it is a class, so remove the folder or --exclude it")
        .in_file(none.path());
  }
  listing.left_out += before;
  return {};
}

Error packed_already(const std::string& path) {
  return Error(Errc::unknown_format, "this is a Dovetail shard or dataset, so it is already packed").in_file(path);
}

constexpr std::string_view kMdsIndexName = "index.json";
constexpr std::uint64_t kMaxMdsIndexBytes = std::uint64_t{1} << 30;

bool is_missing(const Error& error) {
  return error.code() == boost::system::errc::no_such_file_or_directory;
}

// Returns whether this file is there and begins like the index of an MDS folder.
Result<bool> begins_as_mds_index(const std::string& path) {
  auto file = SourceFile::open(path);
  if (!file && is_missing(file.error())) return false;
  if (!file) return file.error();
  std::string begin(kMdsIndexBegin, '\0');
  DOVETAIL_ASSIGN(const auto read, file->peek(std::as_writable_bytes(std::span(begin))));
  return looks_like_mds_index(std::string_view(begin).substr(0, read));
}

// Returns the text of a folder's index.json, or nothing if there is none.
Result<std::optional<std::string>> read_index(const std::string& path) {
  auto file = SourceFile::open(path);
  if (!file && is_missing(file.error())) return std::nullopt;
  if (!file) return file.error();
  if (file->size() > kMaxMdsIndexBytes) return std::nullopt;
  std::string text(static_cast<std::size_t>(file->size()), '\0');
  DOVETAIL_ASSIGN(auto read, file->read(std::as_writable_bytes(std::span(text))));
  text.resize(read);
  return std::optional(std::move(text));
}

// Decompressed shards may lie beside an index that lists compressed ones. The decompressed file is
// preferred if both exist.
Result<ListedFile> choose_mds_file(MdsShard& shard, const std::string& folder, const std::string& index) {
  if (shard.packed) {
    if (status_of(folder + shard.raw.name, true)) shard.packed.reset();
  }
  const auto compression = compression_of(shard);
  if (!compression) {
    return Error(Errc::unknown_format, "MDS index: the shard " + shard.raw.name + " is compressed by \"" +
                                           shard.packing +
                                           "\"; only gz, bz2 and zstd are supported, so decompress it first")
        .in_file(index);
  }
  DOVETAIL_ASSIGN(auto status, status_of(folder + shard.stored().name, true));
  return ListedFile{shard.stored().name, static_cast<std::uint64_t>(status.st_size), *compression};
}

// Returns the shards that the index of an MDS folder lists, or nothing if the folder is not MDS.
Result<std::optional<SourceListing>> list_mds(const std::string& folder, SourceFormat wanted) {
  SourceListing listing;
  listing.format = SourceFormat::mds;
  listing.folder = folder;
  const std::string path = folder + std::string(kMdsIndexName);
  if (wanted == SourceFormat::detect) {
    DOVETAIL_ASSIGN(const bool begins, begins_as_mds_index(path));
    if (!begins) return std::nullopt;
  }
  DOVETAIL_ASSIGN(auto text, read_index(path));
  if (!text) return Error(Errc::unknown_format, "an MDS folder must have an index.json").in_file(folder);
  auto index = parse_mds_index(*text, path);
  if (!index) return index.error();
  for (MdsShard& shard : index->shards) {
    DOVETAIL_ASSIGN(auto file, choose_mds_file(shard, folder, path));
    listing.files.push_back(std::move(file));
  }
  if (listing.files.empty()) return Error(Errc::empty_input, "the index lists no shard").in_file(path);
  listing.mds = std::make_shared<MdsIndex>(std::move(*index));
  return std::optional(std::move(listing));
}

// The index of an MDS folder lists its shards. Other signs of missing files are still errors, as in
// every other folder.
Result<void> check_beside_mds(const std::string& folder, SourceFormat wanted) {
  DOVETAIL_ASSIGN(auto found, names_in(folder));
  if (!found.unfinished.empty()) return unfinished_folder(folder, found.unfinished);
  if (wanted != SourceFormat::detect) return {};
  SourceListing others;
  others.folder = folder;
  for (std::string& name : found.names) others.files.push_back({std::move(name), 0});
  return check_no_index_alone(others);
}

Result<SourceListing> list_folder(const std::string& path, const SourceOptions& options) {
  const SourceFormat wanted = options.format;
  SourceListing listing;
  listing.folder = path.ends_with('/') ? path : path + '/';
  if (wanted == SourceFormat::detect || wanted == SourceFormat::mds) {
    DOVETAIL_ASSIGN(auto mds, list_mds(listing.folder, wanted));
    if (mds) {
      DOVETAIL_TRY(check_beside_mds(listing.folder, wanted));
      return std::move(*mds);
    }
  }
  listing.unmatched = options.include;
  listing.unmatched.insert(listing.unmatched.end(), options.exclude.begin(), options.exclude.end());
  DOVETAIL_TRY(list_below(listing, "", options));
  if (listing.files.empty()) return holds_no_file(path, listing.left_out);
  std::sort(listing.files.begin(), listing.files.end(),
            [](const ListedFile& a, const ListedFile& b) { return a.name < b.name; });
  DOVETAIL_TRY(choose_format(listing, wanted, path));
  listing.notes = notes_on_files(listing);
  return listing;
}

// Such an index is one line of JSON, but it holds no records.
Result<void> check_no_mds_index(const std::string& path) {
  if (path.substr(path.rfind('/') + 1) != kMdsIndexName) return {};
  DOVETAIL_ASSIGN(const bool begins, begins_as_mds_index(path));
  if (!begins) return {};
  return Error(Errc::unknown_format, "this is the index of an MDS folder; give the folder that holds it").in_file(path);
}

Result<SourceListing> list_file(const std::string& path, SourceFormat wanted) {
  if (wanted == SourceFormat::folder) {
    return Error(Errc::unknown_format, "this is a file, but the format needs a folder").in_file(path);
  }
  if (wanted == SourceFormat::detect || wanted == SourceFormat::mds) {
    DOVETAIL_TRY(check_no_mds_index(path));
  }
  DOVETAIL_ASSIGN(auto file, SourceFile::open(path));
  DOVETAIL_ASSIGN(auto kind, detect_file(file, wanted));
  SourceListing listing;
  listing.format = kind.format;
  listing.compression = kind.compression;
  listing.files.push_back({path, file.size()});
  return listing;
}

Error to_be_recovered(const Error& damaged) {
  return Error(damaged.code(), damaged.detail() + "; `dovetail recover " + format::shell_path(damaged.path()) +
                                   " TARGET` saves the intact records of a shard")
      .in_file(damaged.path());
}

Error renamed_shards(const std::string& path) {
  return Error(Errc::unknown_format,
               "its files have names of shards in capitals, or of compressed shards; a shard must be NAME.dvt: rename "
               "them, "
               "decompress them, or give --from folder to take every file as a record")
      .in_file(path);
}

// A shard with a damaged beginning is recognised by its name or its end, as `Dataset::open` does. A
// shard cut within its first bytes is recognised only by its name, because texts may begin with the
// same bytes.
Error of_unknown_file(const Error& unknown, const std::string& path) {
  const auto dataset = Dataset::open(path);
  if (dataset) return unknown;
  const Error& error = dataset.error();
  const bool cut = error.is(Errc::unfinished) && path.ends_with(format::kShardSuffix);
  return cut || error.is(Errc::not_dovetail) ? to_be_recovered(error) : unknown;
}

// The shell has not expanded this pattern: it was in quotes, or matches nothing. The library
// expands only patterns of datasets.
Result<SourceListing> list_pattern(const std::string& path, const SourceOptions& options, const Error& absent) {
  const std::string advice =
      "leave patterns of other files to the shell, without quotes, or to glob.glob in Python, and check that they "
      "match some";
  if (options.format != SourceFormat::detect && options.format != SourceFormat::dovetail) {
    return Error(absent.code(), "no such file; " + advice).in_file(path);
  }
  auto listing = list_dataset(path, options);
  if (listing) return listing;
  const Error& error = listing.error();
  if (error.is(Errc::not_dovetail) && error.path().ends_with(format::kShardSuffix)) return to_be_recovered(error);
  if (error.is(Errc::not_dovetail) && error.path().ends_with(format::kTfrecordIndexSuffix)) return error;
  const bool other = error.is(Errc::not_indexed) || error.is(Errc::not_dovetail) || error.is(Errc::foreign_file);
  if (!other) return error;
  return Error(Errc::unknown_format,
               "a quoted pattern must match Dovetail shards, but " + error.path() + " is not one; " + advice)
      .in_file(path);
}

}  // namespace

Result<SourceListing> list_source(const std::string& path, const SourceOptions& options) {
  const SourceFormat wanted = options.format;
  const bool may_be_dataset = wanted == SourceFormat::detect || wanted == SourceFormat::dovetail;
  auto status = status_of(path, true);
  Result<SourceListing> listing = status ? Result<SourceListing>(SourceListing{}) : status.error();
  if (!status) {
    if (auto address = advice_on_address(path)) return Error(Errc::unknown_format, *address).in_file(path);
    if (format::has_wildcard(path)) listing = list_pattern(path, options, status.error());
  } else if (S_ISDIR(status->st_mode)) {
    const bool packed = status_of(path + '/' + format::kManifestName, true).has_value();
    if (packed && !may_be_dataset) return packed_already(path);
    if (!packed && wanted != SourceFormat::dovetail) listing = list_folder(path, options);
    if (listing && (packed || wanted == SourceFormat::dovetail || listing->format == SourceFormat::dovetail)) {
      const bool named_shards = listing->format == SourceFormat::dovetail;
      listing = list_dataset(path, options);
      if (named_shards && !listing && listing.error().is(Errc::empty_input)) return renamed_shards(path);
    }
  } else {
    listing = list_file(path, wanted);
    if (!listing && may_be_dataset && listing.error().is(Errc::unknown_format)) {
      return of_unknown_file(listing.error(), path);
    }
    if (listing && listing->format == SourceFormat::dovetail) listing = list_dataset(path, options);
  }
  if (!listing) return listing;
  for (const ListedFile& file : listing->files) listing->bytes += file.size;
  return listing;
}

}  // namespace dovetail::detail
