// SPDX-License-Identifier: Apache-2.0
#include "writer/output_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>

#include "format/address.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY;

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

// Some file systems (FUSE, CIFS) have no fsync for folders. There nothing can make the rename more
// durable.
Result<void> sync_folder(int descriptor, const char* path) {
  int failed = 0;
  do {
    failed = ::fsync(descriptor);
  } while (failed != 0 && errno == EINTR);
  if (failed == 0 || errno == EINVAL || errno == ENOTSUP) return {};
  return Error::from_errno(errno, "cannot sync the folder").in_file(path);
}

Result<void> sync_parent(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor folder = open_at(AT_FDCWD, parent.c_str(), kFolder);
  if (!folder) return Error::from_errno(errno, "cannot open the folder").in_file(parent);
  return sync_folder(folder.number(), parent.c_str());
}

/// Folders that were created. The destructor removes them unless they are taken over.
class MadeFolders {
 public:
  MadeFolders() = default;
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  ~MadeFolders() {
    for (auto it = paths_.rbegin(); it != paths_.rend(); ++it) ::rmdir(it->c_str());
  }

  /// Creates a folder. Returns false and sets `errno` on failure.
  bool make(const std::string& path) {
    paths_.push_back(path);  // first, because there may be no memory for it later
    if (::mkdir(path.c_str(), 0777) == 0) return true;
    const int reason = errno;
    paths_.pop_back();
    errno = reason;
    return false;
  }
  std::vector<std::string> take_over() noexcept { return std::exchange(paths_, {}); }

 private:
  std::vector<std::string> paths_;
};

Result<void> make_folders(const std::string& path, MadeFolders& made) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (made.make(part)) {
      DOVETAIL_TRY(sync_parent(part));
    } else if (errno != EEXIST && errno != EISDIR) {
      // Keep the system's reason for a path below a file or a read-only folder: opening the path
      // would only report "missing".
      const int reason = errno;
      struct stat status {};
      if (::stat(part.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
        return Error::from_errno(reason, "cannot create the folder").in_file(part);
      }
    }
    if (end == std::string::npos) return {};
  }
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

Result<std::shared_ptr<OutputFolder>> OutputFolder::open(const std::string& path) {
  const std::string shown = path.empty() ? "." : path;
  std::shared_ptr<OutputFolder> folder(new OutputFolder(path));
  folder->descriptor_ = open_at(AT_FDCWD, shown.c_str(), kFolder);
  if (!folder->descriptor_) return Error::from_errno(errno, "cannot open the folder").in_file(shown);
  return folder;
}

Result<std::shared_ptr<OutputFolder>> OutputFolder::create(const std::string& path) {
  const std::string folder = without_trailing_slashes(path);
  MadeFolders folders;
  if (!folder.empty()) {
    if (format::is_address(folder)) {
      return Error(Errc::invalid_option,
                   "this is a remote address, but datasets are written to local folders; give a folder, and copy that")
          .in_file(path);
    }
    DOVETAIL_TRY(make_folders(folder, folders));
  }
  Result<std::shared_ptr<OutputFolder>> opened = open(folder);
  if (opened) {
    for (const std::string& made : folders.take_over())
      (*opened)->created_.push_back(std::filesystem::absolute(made).native());
  }
  return opened;
}

Result<std::shared_ptr<OutputFolder>> OutputFolder::open_below(const std::string& name) const {
  std::shared_ptr<OutputFolder> folder(new OutputFolder(path_of(name)));
  folder->descriptor_ = open_at(descriptor(), name.c_str(), kFolder | O_NOFOLLOW);
  if (!folder->descriptor_) return Error::from_errno(errno, "cannot open the folder").in_file(folder->path_);
  return folder;
}

Result<std::shared_ptr<OutputFolder>> OutputFolder::create_below(const std::string& name) const {
  if (::mkdirat(descriptor(), name.c_str(), 0777) != 0 && errno != EEXIST) {
    return Error::from_errno(errno, "cannot create the folder").in_file(path_of(name));
  }
  return open_below(name);
}

std::string OutputFolder::path_of(const std::string& name) const {
  if (path_.empty()) return name;
  return path_.back() == '/' ? path_ + name : path_ + '/' + name;
}

Result<std::vector<std::string>> OutputFolder::names() const {
  // Open a new descriptor, because reading a folder moves the descriptor's position.
  Descriptor opened = open_at(descriptor(), ".", kFolder);
  const std::unique_ptr<DIR, CloseFolder> stream(opened ? ::fdopendir(opened.number()) : nullptr);
  if (stream == nullptr) return Error::from_errno(errno, "cannot list the folder").in_file(path_);
  (void)opened.release();  // it belongs to the stream now
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
    errno = 0;
  }
  const int reason = errno;
  if (reason != 0) return Error::from_errno(reason, "cannot list the folder").in_file(path_);
  return names;
}

Result<bool> OutputFolder::contains(const std::string& name) const {
  struct stat status {};
  if (::fstatat(descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  return Error::from_errno(errno, "cannot look for the file").in_file(path_of(name));
}

Result<void> OutputFolder::remove(const std::string& name) const {
  if (::unlinkat(descriptor(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return Error::from_errno(errno, "cannot remove the file").in_file(path_of(name));
}

bool OutputFolder::is_in_place() const noexcept {
  struct stat named {};
  struct stat opened {};
  const char* path = path_.empty() ? "." : path_.c_str();
  return ::lstat(path, &named) == 0 && ::fstat(descriptor(), &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

Result<bool> OutputFolder::has_folder(const std::string& name) const {
  struct stat status {};
  if (::fstatat(descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return S_ISDIR(status.st_mode);
  if (errno == ENOENT) return false;
  return Error::from_errno(errno, "cannot look for the folder").in_file(path_of(name));
}

Result<void> OutputFolder::remove_folder(const std::string& name) const {
  if (::unlinkat(descriptor(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return Error::from_errno(errno, "cannot remove the folder").in_file(path_of(name));
}

void OutputFolder::moved_to(std::string path) noexcept {
  path_ = std::move(path);
  created_.clear();
}

Result<void> OutputFolder::sync() const {
  // Allocates no memory: files may be published already.
  return sync_folder(descriptor(), path_.empty() ? "." : path_.c_str());
}

void OutputFolder::remove_created() noexcept {
  for (auto it = created_.rbegin(); it != created_.rend(); ++it) ::rmdir(it->c_str());
  created_.clear();
}

}  // namespace dovetail::detail
