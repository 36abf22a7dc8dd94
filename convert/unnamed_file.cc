// SPDX-License-Identifier: Apache-2.0
#include "convert/unnamed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace dovetail::detail {

namespace {

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
  // Not every file system has files without a name. One that loses its name at once is nearly the same.
  const std::string name = ".spill.partial-" + std::to_string(::getpid());
  descriptor = open_in(folder, name.c_str(), O_CREAT | O_EXCL);
  if (descriptor < 0) return Error::from_errno(errno, "cannot create the file").in_file(folder.path_of(name));
  ::unlinkat(folder.descriptor(), name.c_str(), 0);
  return descriptor;
}

}  // namespace dovetail::detail
