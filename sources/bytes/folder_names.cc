// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/folder_names.h"

#include <cerrno>
#include <utility>

#include "format/layout.h"
#include "format/staging_names.h"
#include "format/try.h"
#include "sources/bytes/names.h"
#include "writer/output_file.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

Result<FolderNames> names_in(const std::string& folder) {
  DOVETAIL_ASSIGN(const auto opened, OutputFolder::open(folder));
  DOVETAIL_ASSIGN(auto names, opened->names());
  const std::string unnamed = partial_name_begin(std::string(kUnnamed));
  FolderNames found;
  bool has_manifest = false;
  std::string mark;
  for (std::string& name : names) {
    has_manifest |= name == format::kManifestName;
    if (!name.starts_with('.')) {
      found.names.push_back(std::move(name));
      continue;
    }
    ++found.hidden;
    const bool unfinished = format::is_partial_name(name) && !name.starts_with(unnamed);
    if (format::marks_staging(name)) {
      if (mark.empty() || mark == format::kStagingLock) mark = std::move(name);
    } else if (unfinished && (found.unfinished.empty() || name < found.unfinished)) {
      found.unfinished = std::move(name);
    }
  }
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
