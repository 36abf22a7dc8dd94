// SPDX-License-Identifier: Apache-2.0
#include "convert/listing.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "convert/detect.h"
#include "convert/source_file.h"
#include "format/layout.h"

namespace dovetail::detail {

namespace {

Result<struct stat> status_of(const std::string& path, bool follow) {
  struct stat status {};
  const int failed = follow ? ::stat(path.c_str(), &status) : ::lstat(path.c_str(), &status);
  if (failed != 0) return Error::from_errno(errno, "cannot look at the file").in_file(path);
  return status;
}

Result<std::vector<std::string>> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(folder.c_str()), &::closedir);
  if (!stream) return Error::from_errno(errno, "cannot open the folder").in_file(folder);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
    errno = 0;
  }
  if (errno != 0) return Error::from_errno(errno, "cannot list the folder").in_file(folder);
  return names;
}

// Adds the files in `below`, a path relative to the listing's folder that is empty or ends with a slash.
Result<void> list_below(SourceListing& listing, const std::string& below) {
  auto names = names_in(listing.folder + below);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    const std::string relative = below + name;
    auto status = status_of(listing.folder + relative, false);
    if (!status) return status.error();
    if (S_ISDIR(status->st_mode)) {
      if (auto listed = list_below(listing, relative + '/'); !listed) return listed;
      continue;
    }
    if (S_ISLNK(status->st_mode)) {
      // A link to a folder is not followed, and so cannot lead in circles; one that leads nowhere is an error.
      status = status_of(listing.folder + relative, true);
      if (!status) return status.error();
    }
    if (!S_ISREG(status->st_mode)) continue;
    listing.files.push_back({relative, static_cast<std::uint64_t>(status->st_size)});
  }
  return {};
}

// Decides what the files of a folder are, and leaves those that are wanted.
Result<void> choose_format(SourceListing& listing, SourceFormat wanted, const std::string& path) {
  const auto named = [](const ListedFile& file) { return has_tfrecord_name(file.name); };
  const auto tfrecords = static_cast<std::size_t>(std::count_if(listing.files.begin(), listing.files.end(), named));
  listing.format = wanted;
  if (wanted == SourceFormat::detect) {
    if (tfrecords != 0 && tfrecords != listing.files.size()) {
      return Error(Errc::unknown_format, std::to_string(tfrecords) + " of " + std::to_string(listing.files.size()) +
                                             " files have names of TFRecords; say --from tfrecord to read these, or "
                                             "--from folder to take every file as a record")
          .in_file(path);
    }
    listing.format = tfrecords != 0 ? SourceFormat::tfrecord : SourceFormat::folder;
  } else if (wanted == SourceFormat::tfrecord && tfrecords != 0) {
    std::erase_if(listing.files, [&](const ListedFile& file) { return !named(file); });
  }
  return {};
}

Result<SourceListing> list_folder(const std::string& path, SourceFormat wanted) {
  SourceListing listing;
  listing.folder = path.ends_with('/') ? path : path + '/';
  if (status_of(listing.folder + format::kManifestName, true)) return packed_already(path);
  if (auto listed = list_below(listing, ""); !listed) return listed.error();
  if (listing.files.empty()) return Error(Errc::empty_input, "the folder holds no file").in_file(path);
  if (auto chosen = choose_format(listing, wanted, path); !chosen) return chosen.error();
  std::sort(listing.files.begin(), listing.files.end(),
            [](const ListedFile& a, const ListedFile& b) { return a.name < b.name; });
  if (listing.files.front().name.ends_with(format::kShardSuffix)) {
    auto first = SourceFile::open(listing.path_of(0));
    if (!first) return first.error();
    auto shard = is_shard(*first);
    if (!shard) return shard.error();
    if (*shard) return packed_already(path);
  }
  return listing;
}

Result<SourceListing> list_file(const std::string& path, SourceFormat wanted) {
  if (wanted == SourceFormat::folder) {
    return Error(Errc::unknown_format, "a folder was asked for, and this is a file").in_file(path);
  }
  auto file = SourceFile::open(path);
  if (!file) return file.error();
  auto kind = detect_file(*file, wanted);
  if (!kind) return kind.error();
  SourceListing listing;
  listing.format = kind->format;
  listing.compression = kind->compression;
  listing.files.push_back({path, file->size()});
  return listing;
}

}  // namespace

Result<SourceListing> list_source(const std::string& path, SourceFormat wanted) {
  auto status = status_of(path, true);
  if (!status) return status.error();
  auto listing = S_ISDIR(status->st_mode) ? list_folder(path, wanted) : list_file(path, wanted);
  if (!listing) return listing;
  for (const ListedFile& file : listing->files) listing->bytes += file.size;
  return listing;
}

}  // namespace dovetail::detail
