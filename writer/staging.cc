// SPDX-License-Identifier: Apache-2.0
#include "writer/staging.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "format/guard_memory.h"
#include "format/layout.h"
#include "format/staging_names.h"
#include "format/try.h"
#include "writer/target.h"

namespace dovetail::detail {

namespace {

// Another process may create and remove the folder between any two calls.
constexpr int kTries = 20;

std::string staging_path(const std::string& target) {
  return target + std::string(format::kStagingSuffix);
}

std::string replaced_path(const std::string& target) {
  return target + std::string(format::kReplacedSuffix);
}

bool is_missing(const Error& error) {
  return error.code() == boost::system::errc::no_such_file_or_directory;
}

Error not_ours(const std::string& path) {
  return Error(Errc::already_exists, "it was not made by a dataset writer and blocks one; move it elsewhere")
      .in_file(path);
}

Error not_published(int reason, const std::string& target) {
  return Error::from_errno(reason, "the new dataset cannot replace this folder; move or remove it").in_file(target);
}

// Returns the inode number, which identifies a folder within its parent even after a rename; empty
// if there is no such folder. The device number is left out, because it may change after a restart.
Result<std::string> identity_of(const OutputFolder& parent, const std::string& name) {
  struct stat status {};
  if (::fstatat(parent.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return std::to_string(status.st_ino);
  }
  if (errno == ENOENT) return std::string();
  return Error::from_errno(errno, "cannot look for the folder").in_file(parent.path_of(name));
}

// Returns whether a folder is a complete dataset, or has the complete datasets of a split, with
// their manifests.
Result<bool> is_whole(const OutputFolder& folder, const DatasetNames& names) {
  if (names.folders.empty()) return folder.contains(format::kManifestName);
  for (const std::string& name : names.folders) {
    DOVETAIL_ASSIGN(const bool whole, folder.contains(name + '/' + format::kManifestName));
    if (!whole) return false;
  }
  return true;
}

// Removes the files of a dataset, but neither the lock nor foreign files. The manifest goes early,
// because shards alone may look like a smaller dataset. The first mark goes last, because it tells
// how the shards were made.
Result<void> remove_contents(const OutputFolder& folder) {
  DOVETAIL_ASSIGN(auto names, dataset_names(folder));
  std::vector<std::string> files(names.marks.rbegin(), names.marks.rend());
  const std::optional<std::string> last = files.empty() ? std::nullopt : std::optional(files.back());
  if (last) files.pop_back();
  files.emplace_back(format::kManifestName);
  files.insert(files.end(), names.files.begin(), names.files.end());
  for (const std::string& file : files) {
    DOVETAIL_TRY(folder.remove(file));
  }
  for (const std::string& name : names.folders) {
    DOVETAIL_ASSIGN(const auto output, folder.open_below(name));
    DOVETAIL_TRY(remove_contents(*output));
    DOVETAIL_TRY(folder.remove_folder(name));
  }
  return last ? folder.remove(*last) : Result<void>();
}

// Marks the folder as staged first: a half-removed folder must not look like a dataset.
Result<void> remove_dataset(const OutputFolder& parent, const std::string& name) {
  DOVETAIL_ASSIGN(const auto folder, parent.open_below(name));
  DOVETAIL_ASSIGN(auto mark, FileLock::take(*folder, format::kStagingLock, FileLock::Access::exclusive));
  DOVETAIL_TRY(folder->sync());
  DOVETAIL_TRY(remove_contents(*folder));
  DOVETAIL_TRY(folder->remove(format::kStagingLock));
  mark.release();
  return parent.remove_folder(name);
}

}  // namespace

Staging::Staging(std::string target, std::shared_ptr<OutputFolder> parent, std::shared_ptr<OutputFolder> folder,
                 FileLock lock, bool published)
    : target_(std::move(target)),
      absolute_(std::filesystem::absolute(target_).native()),
      parent_(std::move(parent)),
      folder_(std::move(folder)),
      lock_(std::move(lock)),
      published_(published) {}

Result<std::optional<Staging>> Staging::find_published(const std::string& target) {
  auto folder = OutputFolder::open(target);
  if (!folder && (is_missing(folder.error()) || folder.error().code() == boost::system::errc::not_a_directory)) {
    return std::nullopt;
  }
  if (!folder) return folder.error();
  DOVETAIL_ASSIGN(const bool has_lock, (*folder)->contains(format::kStagingLock));
  DOVETAIL_ASSIGN(const auto names, dataset_names(**folder));
  if (!has_lock && names.marks.empty()) return std::nullopt;
  DOVETAIL_ASSIGN(const bool whole, is_whole(**folder, names));
  if (!whole) {
    return Error(Errc::already_exists, "an unfinished dataset has the name of the target; rename it to " +
                                           staging_path(name_in_parent(target)) + " to continue it")
        .in_file(target);
  }
  DOVETAIL_TRY(check_staging_folder(**folder));  // do not trust the marks of another user
  DOVETAIL_ASSIGN(auto lock, FileLock::take(**folder, format::kStagingLock, FileLock::Access::exclusive));
  DOVETAIL_ASSIGN(auto parent, OutputFolder::open(parent_of(target)));
  Staging staging(target, std::move(parent), std::move(*folder), std::move(lock), true);
  DOVETAIL_ASSIGN(staging.replaced_, staging.lock_.read(staging.lock_path()));
  return staging;
}

// Returns nothing if another process has removed or renamed the folder meanwhile.
Result<std::optional<Staging>> Staging::lock_folder(const std::string& target, std::shared_ptr<OutputFolder> folder,
                                                    FileLock::Access access) {
  if (std::error_code failed; std::filesystem::is_symlink(folder->path(), failed)) return not_ours(folder->path());
  if (!folder->is_in_place()) return std::nullopt;
  DOVETAIL_TRY(check_staging_folder(*folder));
  DOVETAIL_ASSIGN(const auto names, folder->names());
  const bool staged = std::find(names.begin(), names.end(), format::kStagingLock) != names.end();
  if (!staged && !names.empty()) return not_ours(folder->path());
  DOVETAIL_ASSIGN(auto parent, OutputFolder::open(parent_of(target)));  // before a lock that must be removed
  auto lock = FileLock::take(*folder, format::kStagingLock, access);
  if (!lock && is_missing(lock.error())) return std::nullopt;
  if (!lock) return lock.error();
  if (!folder->is_in_place()) {
    // The folder may be the target by now.
    if (lock->created() && lock->make_exclusive()) (void)folder->remove(format::kStagingLock);
    return std::nullopt;
  }
  Staging staging(target, std::move(parent), std::move(folder), std::move(*lock), false);
  auto ready = staging.restore_replaced();
  if (ready && !staged) ready = staging.take_on_permissions();
  if (ready) ready = staging.folder_->sync();  // a crash must not leave files without the lock
  if (ready) return staging;
  staging.remove_if_empty();
  return ready.error();
}

// The folder becomes the target. So only users who may see the target may see its files.
Result<void> Staging::take_on_permissions() const {
  struct stat status {};
  if (::fstatat(parent_->descriptor(), name_in_parent(target_).c_str(), &status, 0) == 0) {
    // Only root may give a folder to another user. A process that cannot set the group removes the
    // group's permissions.
    const uid_t owner = ::geteuid() == 0 ? status.st_uid : static_cast<uid_t>(-1);
    const bool owned = ::fchown(folder_->descriptor(), owner, status.st_gid) == 0;
    const mode_t mode = status.st_mode & (owned ? 07777 : 07777 & ~(S_IRWXG | S_ISGID));
    if (::fchmod(folder_->descriptor(), mode | S_IRWXU) != 0) {
      return Error::from_errno(errno, "cannot set the permissions").in_file(folder_->path());
    }
  }
  return {};
}

Result<Staging> Staging::open(const std::string& path, FileLock::Access access, const Overwrite& overwrite) {
  constexpr std::chrono::milliseconds kPause{100};
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  DOVETAIL_ASSIGN(const auto target, resolve_target(path));
  Error last(Errc::busy);
  for (int tries = 1; tries <= kTries; ++tries) {
    auto published = find_published(target);
    if (!published && published.error().is(Errc::busy) && access == FileLock::Access::shared &&
        std::chrono::steady_clock::now() < patience) {
      std::this_thread::sleep_for(kPause);  // another part is removing the replaced dataset
      --tries;
      continue;
    }
    if (!published) return published.error();
    if (*published) return std::move(**published);
    DOVETAIL_TRY(check_target(target, overwrite));
    auto folder = OutputFolder::create(staging_path(target));
    if (!folder && folder.error().code() == boost::system::errc::not_a_directory) return not_ours(staging_path(target));
    if (!folder && !is_missing(folder.error())) return folder.error();
    if (!folder) {
      last = folder.error();
      continue;
    }
    auto locked = lock_folder(target, *folder, access);
    if (!locked || !*locked) (*folder)->remove_created();
    // The folder may be an old dataset that another process has just exchanged. The next try then
    // finds the reason at the target.
    if (!locked && (tries > 1 || !locked.error().is(Errc::already_exists))) return locked.error();
    if (!locked) {
      last = locked.error();
    } else if (*locked) {
      const auto still = check_target(target, overwrite);  // a process may have put a dataset back there
      if (still) return std::move(**locked);
      (*locked)->remove_if_empty();
      return still.error();
    }
  }
  return last.path().empty() ? last.in_file(staging_path(target)) : last;
}

Result<std::optional<Staging>> Staging::find(const std::string& path) {
  DOVETAIL_ASSIGN(const auto target, resolve_target(path));
  DOVETAIL_ASSIGN(auto published, find_published(target));
  if (published) return published;
  auto folder = OutputFolder::open(staging_path(target));
  if (!folder && is_missing(folder.error())) return std::nullopt;
  if (!folder) return folder.error();
  DOVETAIL_ASSIGN(const auto names, (*folder)->names());
  if (names.empty()) return std::nullopt;
  return lock_folder(target, std::move(*folder), FileLock::Access::exclusive);
}

Result<Staging> Staging::begin(const std::string& target, const Overwrite& overwrite) {
  for (;;) {
    DOVETAIL_ASSIGN(auto staging, open(target, FileLock::Access::exclusive, overwrite));
    if (staging.is_published()) {
      DOVETAIL_TRY(staging.tidy());
      continue;
    }
    const auto names = dataset_names(*staging.folder_);
    if (names && !names->marks.empty()) {
      return Error(Errc::already_exists, "a conversion is unfinished here; finish it, or remove the folder")
          .in_file(staging.folder_->path());
    }
    const auto cleared = names ? staging.clear() : names.error();
    if (cleared) return staging;
    staging.remove_if_empty();
    return cleared.error();
  }
}

Result<std::shared_ptr<OutputFolder>> Staging::output(const std::string& name) const {
  if (name.empty()) return folder_;
  DOVETAIL_ASSIGN(const bool there, folder_->contains(name));
  DOVETAIL_ASSIGN(const bool is_folder, folder_->has_folder(name));
  if (there && !is_folder) return not_ours(folder_->path_of(name));
  return folder_->create_below(name);
}

// A process may have been killed between the two renames of `rename_to_target`.
Result<void> Staging::restore_replaced() const {
  const std::string name = name_in_parent(target_);
  DOVETAIL_ASSIGN(const auto there, identity_of(*parent_, name));
  DOVETAIL_ASSIGN(const auto aside, identity_of(*parent_, replaced_path(name)));
  if (!there.empty() || aside.empty()) return {};
  DOVETAIL_ASSIGN(const auto replaced, lock_.read(lock_path()));
  if (aside != replaced) return {};
  const int parent = parent_->descriptor();
  if (::renameat(parent, replaced_path(name).c_str(), parent, name.c_str()) == 0 || errno == ENOENT) return {};
  return Error::from_errno(errno, "cannot restore the dataset that was being replaced").in_file(target_);
}

std::string Staging::lock_path() const {
  return folder_->path_of(format::kStagingLock);
}

// Records the replaced folder, so that after a kill the next process knows which folder to remove.
Result<void> Staging::note_replaced(bool replaces) {
  replaced_.clear();
  if (replaces) {
    DOVETAIL_ASSIGN(replaced_, identity_of(*parent_, name_in_parent(target_)));
  }
  return lock_.write(replaced_, lock_path());
}

Result<void> Staging::rename_to_target(bool replaces) {
  const int parent = parent_->descriptor();
  const std::string name = name_in_parent(target_);
  const std::string staged = staging_path(name);
  const std::string aside = replaced_path(name);
  struct stat ours {};
  struct stat there {};
  if (::fstat(folder_->descriptor(), &ours) != 0 ||
      ::fstatat(parent, staged.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 || ours.st_dev != there.st_dev ||
      ours.st_ino != there.st_ino) {
    return Error(Errc::file_changed, "the folder was moved while the dataset was written in it")
        .in_file(folder_->path());
  }
  DOVETAIL_TRY(note_replaced(replaces));
  if (!replaces) {
    if (::renameat(parent, staged.c_str(), parent, name.c_str()) == 0) return {};
    return not_published(errno, target_);
  }
  if (::renameat2(parent, staged.c_str(), parent, name.c_str(), RENAME_EXCHANGE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return not_published(errno, target_);
  if (::renameat(parent, name.c_str(), parent, aside.c_str()) != 0) {
    const bool in_the_way = errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR;
    return in_the_way ? not_ours(replaced_path(target_)) : not_published(errno, target_);
  }
  if (::renameat(parent, staged.c_str(), parent, name.c_str()) == 0) return {};
  const int reason = errno;
  (void)::renameat(parent, aside.c_str(), parent, name.c_str());
  return not_published(reason, target_);
}

Result<void> Staging::publish(const Overwrite& overwrite) {
  DOVETAIL_TRY(folder_->sync());
  DOVETAIL_ASSIGN(const bool replaces, check_target(absolute_, overwrite));
  std::string path = target_;
  DOVETAIL_TRY(rename_to_target(replaces));
  published_ = true;
  folder_->moved_to(std::move(path));
  return parent_->sync();
}

Result<void> Staging::tidy() noexcept {
  try {
    // Without this sync, a crash could bring the old dataset back under its name, without its
    // files.
    auto done = parent_->sync();
    if (done) done = remove_replaced();
    if (done) done = remove_marks();
    if (done) return done;
    const Error& error = done.error();
    return Error(error.code(), "the new dataset is in its place, but this cannot be removed: " + error.detail())
        .in_file(error.path());
  } catch (const std::bad_alloc&) {
    return out_of_memory({});
  }
}

Result<void> Staging::remove_replaced() const {
  const std::string name = name_in_parent(target_);
  if (replaced_.empty()) return {};
  for (const std::string& path : {staging_path(name), replaced_path(name)}) {
    DOVETAIL_ASSIGN(const auto there, identity_of(*parent_, path));
    if (there != replaced_) continue;
    DOVETAIL_TRY(remove_dataset(*parent_, path));
    return parent_->sync();  // a crash must not leave some of its files without the marks
  }
  return {};
}

Result<void> Staging::remove_marks() {
  DOVETAIL_ASSIGN(const auto names, dataset_names(*folder_));
  DOVETAIL_TRY(folder_->remove(format::kStagingLock));
  for (auto mark = names.marks.rbegin(); mark != names.marks.rend(); ++mark) {
    DOVETAIL_TRY(folder_->remove(*mark));
  }
  lock_.release();  // NFS keeps a removed file that is open under another name
  return {};
}

Result<void> Staging::clear() const {
  DOVETAIL_ASSIGN(const auto names, dataset_names(*folder_));
  return names.foreign.empty() ? remove_contents(*folder_) : not_ours(names.foreign);
}

void Staging::remove() noexcept {
  try {
    if (!published_ && clear()) remove_if_empty();
  } catch (const std::bad_alloc&) {
    return;  // the next process that writes there removes the files
  }
}

void Staging::remove_if_empty() noexcept {
  try {
    // A replaced dataset may lie aside. Put it back while there is a lock: no other process would
    // do so later.
    if (published_ || !lock_.make_exclusive() || !restore_replaced()) return;
    const auto names = dataset_names(*folder_);
    if (!names || !names->marks.empty() || !names->files.empty() || !names->foreign.empty()) return;
    for (const std::string& output : names->folders) {
      if (!folder_->remove_folder(output)) return;
    }
    (void)folder_->remove(format::kStagingLock);
    lock_.release();  // NFS keeps a removed file that is open under another name, and so the folder
    (void)parent_->remove_folder(staging_path(name_in_parent(target_)));
    folder_->remove_created();
  } catch (const std::bad_alloc&) {
    return;
  }
}

}  // namespace dovetail::detail
