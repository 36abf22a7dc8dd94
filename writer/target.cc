// SPDX-License-Identifier: Apache-2.0
#include "writer/target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "format/address.h"
#include "format/layout.h"
#include "format/staging_names.h"
#include "format/try.h"
#include "writer/dataset_files.h"
#include "writer/output_file.h"

namespace dovetail::detail {

namespace {

bool is_dataset_file(const std::string& name) {
  return name == format::kManifestName || shard_number_of(name) || format::is_partial_name(name);
}

Error subfolder_wanted(const std::string& target, const std::string& why) {
  return Error(Errc::invalid_option, why +
                                         "; a finished dataset replaces its folder in one step, so name a subfolder, "
                                         "such as " +
                                         (target.ends_with('/') ? target : target + '/') + "data")
      .in_file(target);
}

// Only statx reveals a bind mount of the same file system.
bool is_mount_point(const std::string& folder) noexcept {
  struct statx status {};
  return ::statx(AT_FDCWD, folder.c_str(), 0, 0, &status) == 0 &&
         (status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0 &&
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool is_working_directory(const std::string& folder) noexcept {
  struct stat named {};
  struct stat here {};
  return ::stat(folder.c_str(), &named) == 0 && ::stat(".", &here) == 0 && named.st_dev == here.st_dev &&
         named.st_ino == here.st_ino;
}

// A folder such as /tmp is sticky: users may not rename each other's files there.
bool is_of_another_user(const std::string& folder) {
  const std::string parent = parent_of(folder);
  struct stat above {};
  struct stat named {};
  if (::stat(parent.empty() ? "." : parent.c_str(), &above) != 0 || ::stat(folder.c_str(), &named) != 0) return false;
  return (above.st_mode & S_ISVTX) != 0 && named.st_uid != ::geteuid() && named.st_uid != above.st_uid;
}

// In a sticky folder, only root and its owner may rename every name.
bool may_rename_all(const std::string& folder) {
  const std::string parent = parent_of(folder);
  struct stat above {};
  return ::geteuid() == 0 ||
         (::stat(parent.empty() ? "." : parent.c_str(), &above) == 0 && above.st_uid == ::geteuid());
}

bool can_write(const std::string& folder) noexcept {
  return ::faccessat(AT_FDCWD, folder.empty() ? "." : folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

Result<void> check_renamable(const std::string& target, bool exists) {
  const int reason = can_write(parent_of(target)) || errno == ENOENT ? 0 : errno;
  if (!exists && reason != 0) return Error::from_errno(reason, "cannot create the folder").in_file(target);
  if (!exists) return {};
  // The root of a chroot is no mount point.
  if (target == "/") return subfolder_wanted(target, "this is the root folder");
  if (is_mount_point(target)) return subfolder_wanted(target, "this is a mount point");
  if (is_working_directory(target)) return subfolder_wanted(target, "this is the working directory");
  if (reason != 0) return subfolder_wanted(target, "the parent folder is not writable");
  if (is_of_another_user(target) && !may_rename_all(target))
    return subfolder_wanted(target, "only its owner may replace this folder");
  if (!can_write(target)) return Error::from_errno(errno, "cannot remove the content of the folder").in_file(target);
  return {};
}

// Checks every dataset of a split: all of them will be replaced, with their content.
Result<void> check_datasets_of_split(const OutputFolder& folder, const DatasetNames& names,
                                     const Overwrite& overwrite) {
  for (const std::string& name : names.folders) {
    const std::string path = folder.path_of(name);
    const auto& replaced = overwrite.datasets;
    if (std::find(replaced.begin(), replaced.end(), name) == replaced.end()) {
      return Error(Errc::already_exists,
                   "it does not belong to what is written here, so it is not replaced; name another folder, or move it "
                   "elsewhere")
          .in_file(path);
    }
    if (is_mount_point(path)) return subfolder_wanted(path, "this is a mount point");
    if (!can_write(path)) return Error::from_errno(errno, "cannot remove the content of the folder").in_file(path);
  }
  return {};
}

}  // namespace

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_in_parent(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // the whole path if there is no slash
}

Result<DatasetNames> dataset_names(const OutputFolder& folder) {
  DatasetNames sorted;
  DOVETAIL_ASSIGN(auto names, folder.names());
  for (std::string& name : names) {
    if (name == format::kStagingLock) continue;
    if (name.starts_with(format::kPartPrefix)) {
      sorted.marks.push_back(std::move(name));
      continue;
    }
    if (is_dataset_file(name)) {
      sorted.files.push_back(std::move(name));
      continue;
    }
    bool is_folder = false;
    if (!name.starts_with('.')) {
      DOVETAIL_ASSIGN(is_folder, folder.has_folder(name));
    }
    if (!is_folder) {
      sorted.foreign = folder.path_of(name);
      continue;
    }
    DOVETAIL_ASSIGN(const auto inside, folder.open_below(name));
    DOVETAIL_ASSIGN(const auto below, inside->names());
    const auto foreign = std::find_if_not(below.begin(), below.end(), is_dataset_file);
    if (foreign != below.end()) sorted.foreign = inside->path_of(*foreign);
    sorted.folders.push_back(std::move(name));
  }
  std::sort(sorted.marks.begin(), sorted.marks.end());
  return sorted;
}

namespace {

Result<std::string> without_links(const std::string& path) {
  if (path.empty()) return Error(Errc::invalid_option, "folder = \"\": it must name a folder");
  if (format::is_address(path)) {
    return Error(Errc::invalid_option,
                 "this is a remote address, but datasets are written to local folders; give a folder, and copy that")
        .in_file(path);
  }
  std::string target = path;
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  const std::string name = name_in_parent(target);
  std::error_code failed;
  const bool is_link = std::filesystem::is_symlink(target, failed);
  if (!is_link && !name.empty() && name != "." && name != "..") return target;
  target = std::filesystem::canonical(target, failed).native();
  if (failed) return Error::from_errno(failed.value(), "cannot find the folder").in_file(path);
  return target;
}

}  // namespace

Result<std::string> resolve_target(const std::string& path) {
  constexpr std::size_t kMostBytes = 255 - format::kReplacedSuffix.size();  // bytes of a name
  DOVETAIL_ASSIGN(auto target, without_links(path));
  const std::string name = name_in_parent(target);
  if (name.ends_with(format::kStagingSuffix)) {
    return Error(Errc::invalid_option,
                 "this is the folder of an unfinished dataset; give the name that it will have, " +
                     std::string(format::target_of_staging(target)))
        .in_file(path);
  }
  if (name.size() > kMostBytes) {
    return Error(Errc::invalid_option,
                 "a dataset is written in a folder with a longer name, and this name has more than " +
                     std::to_string(kMostBytes) + " bytes")
        .in_file(path);
  }
  return target;
}

Result<void> check_staging_folder(const OutputFolder& folder) {
  if (!is_mount_point(folder.path()) && !is_of_another_user(folder.path())) return {};
  return Error(Errc::already_exists,
               "it is a mount point or belongs to another user, and a dataset must be written here; move it "
               "elsewhere")
      .in_file(folder.path());
}

Result<void> check_shard_target(const std::string& path, bool overwrite) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};  // creating the file will report the same error
  if (S_ISDIR(status.st_mode)) {
    return Error::from_errno(EISDIR, "this is a folder, but a shard is a file").in_file(path);
  }
  if (!overwrite) return Error(Errc::already_exists, "use overwrite (--overwrite) to replace it").in_file(path);
  return {};
}

Result<bool> check_target(const std::string& target, const Overwrite& overwrite) {
  struct stat status {};
  const bool exists = ::fstatat(AT_FDCWD, target.c_str(), &status, 0) == 0;
  if (!exists && errno != ENOENT) return Error::from_errno(errno, "cannot create the folder").in_file(target);
  if (exists && !S_ISDIR(status.st_mode)) {
    return Error(Errc::invalid_option, "this is a file, but a dataset is a folder; give another path").in_file(target);
  }
  DOVETAIL_TRY(check_renamable(target, exists));
  if (!exists) return false;
  DOVETAIL_ASSIGN(const auto folder, OutputFolder::open(target));
  DOVETAIL_ASSIGN(auto names, dataset_names(*folder));
  for (const std::string& name : names.folders) {
    DOVETAIL_ASSIGN(const bool whole, folder->contains(name + '/' + format::kManifestName));
    if (names.foreign.empty() && (!whole || !names.files.empty())) names.foreign = folder->path_of(name);
  }
  const bool holds_dataset = !names.files.empty() || !names.folders.empty();
  if (!names.foreign.empty()) {
    return Error(Errc::already_exists,
                 "it does not belong to the dataset, which needs a folder of its own; name a subfolder, "
                 "such as " +
                     folder->path_of("data") + ", or move this elsewhere")
        .in_file(names.foreign);
  }
  if (!holds_dataset) return false;
  if (overwrite.allowed) {
    DOVETAIL_TRY(check_datasets_of_split(*folder, names, overwrite));
    return true;
  }
  return Error(Errc::already_exists, "the folder holds a dataset; use overwrite (--overwrite) to replace it")
      .in_file(target);
}

}  // namespace dovetail::detail
