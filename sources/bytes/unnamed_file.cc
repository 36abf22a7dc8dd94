// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/unnamed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "sources/bytes/names.h"
#include "writer/output_file.h"

namespace dovetail::detail {

namespace {

constexpr int kNameAttempts = 16;

int open_in(const OutputFolder& folder, const char* name, int flags) {
  int descriptor = -1;
  do {
    descriptor = ::openat(folder.descriptor(), name, O_RDWR | O_CLOEXEC | flags, 0600);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

}  // namespace

Result<int> open_unnamed(const OutputFolder& folder) {
  int descriptor = open_in(folder, ".", O_TMPFILE);
  if (descriptor >= 0) return descriptor;
  // Not every file system has unnamed files. A file unlinked at once is nearly the same.
  if (errno == ENOSPC || errno == EDQUOT || errno == EROFS || errno == EACCES || errno == EMFILE || errno == ENFILE) {
    return Error::from_errno(errno, "cannot create a file").in_file(folder.path_of(""));
  }
  for (int attempt = 1;; ++attempt) {
    const std::string name = random_partial_name(std::string(kUnnamed));
    descriptor = open_in(folder, name.c_str(), O_CREAT | O_EXCL);
    if (descriptor >= 0) {
      ::unlinkat(folder.descriptor(), name.c_str(), 0);
      return descriptor;
    }
    if (errno == EEXIST && attempt < kNameAttempts) continue;
    return Error::from_errno(errno, "cannot create the file").in_file(folder.path_of(name));
  }
}

}  // namespace dovetail::detail
