// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/unnamed_file.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "sources/bytes/names.h"
#include "writer/output_file.h"

namespace dovetail::detail {

namespace {

constexpr int kNameAttempts = 16;

}  // namespace

Result<Descriptor> open_unnamed(const OutputFolder& folder) {
  Descriptor file = open_at(folder.descriptor(), ".", O_RDWR | O_TMPFILE, 0600);
  if (file) return file;
  // Not every file system has unnamed files. A file unlinked at once is nearly the same.
  if (errno == ENOSPC || errno == EDQUOT || errno == EROFS || errno == EACCES || errno == EMFILE || errno == ENFILE) {
    return Error::from_errno(errno, "cannot create a file").in_file(folder.path_of(""));
  }
  for (int attempt = 1;; ++attempt) {
    const std::string name = random_partial_name(std::string(kUnnamed));
    file = open_at(folder.descriptor(), name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file) {
      ::unlinkat(folder.descriptor(), name.c_str(), 0);
      return file;
    }
    if (errno == EEXIST && attempt < kNameAttempts) continue;
    return Error::from_errno(errno, "cannot create the file").in_file(folder.path_of(name));
  }
}

}  // namespace dovetail::detail
