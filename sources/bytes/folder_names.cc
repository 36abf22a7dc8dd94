// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/folder_names.h"

#include <dirent.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "format/layout.h"
#include "format/staging_names.h"
#include "sources/bytes/names.h"
#include "writer/output_file.h"

namespace dovetail::detail {

Result<FolderNames> names_in(const std::string& folder) {
  DIR* opened = nullptr;
  do {
    opened = ::opendir(folder.c_str());
  } while (opened == nullptr && errno == EINTR);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opened, &::closedir);
  if (!stream) return Error::from_errno(errno, "cannot open the folder").in_file(folder);
  const std::string unnamed = partial_name_begin(std::string(kUnnamed));
  FolderNames found;
  bool has_manifest = false;
  std::string mark;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    std::string name = entry->d_name;
    has_manifest |= name == format::kManifestName;
    if (!name.starts_with('.')) {
      found.names.push_back(std::move(name));
    } else if (name != "." && name != "..") {
      ++found.hidden;
      const bool unfinished = format::is_partial_name(name) && !name.starts_with(unnamed);
      if (format::marks_staging(name)) {
        mark = std::move(name);
      } else if (unfinished && (found.unfinished.empty() || name < found.unfinished)) {
        found.unfinished = std::move(name);
      }
    }
    errno = 0;
  }
  if (errno != 0) return Error::from_errno(errno, "cannot list the folder").in_file(folder);
  // If there is a manifest, the mark is from a process that was killed after it had published the
  // dataset.
  if (!mark.empty() && !has_manifest) found.unfinished = std::move(mark);
  return found;
}

Result<struct stat> status_of(const std::string& path, bool follow) {
  struct stat status {};
  const int failed = follow ? ::stat(path.c_str(), &status) : ::lstat(path.c_str(), &status);
  if (failed != 0) return Error::from_errno(errno, "cannot examine the file").in_file(path);
  return status;
}

Result<void> check_no_dangling_link(const std::string& path) {
  if (!status_of(path, false)) return {};
  return Error::from_errno(ENOENT,
                           "a dangling link to a file that is read together with another; fetch its content, "
                           "as with `git annex get` or `dvc pull`, or remove it")
      .in_file(path);
}

}  // namespace dovetail::detail
