// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <dovetail/error.h>

#include "writer/file_lock.h"
#include "writer/output_folder.h"
#include "writer/target.h"

namespace dovetail::detail {

/// A dataset, or the datasets of a split, before they are published.
///
/// Every file is written under its final name in `TARGET.partial` beside the target. `publish`
/// renames that folder to the target in one step. So a reader sees the old dataset or the new one,
/// and never a part of either.
/// The file `.dovetail-lock` in the folder marks it as staged. A lock on this file shows that a
/// process works on the folder. Other names that begin with `.dovetail-` belong to the user of this
/// class. These marks stay until `tidy`: if a target has marks, the process that published it was
/// killed before `tidy`.
///
/// Ownership: one process at a time has exclusive access. The destructor removes nothing.
/// Threads:   const calls may run concurrently.
class Staging {
 public:
  /// Creates `TARGET.partial`, or opens the folder that an earlier process left. If that process
  /// published the target but did not tidy it, opens the target instead: see `is_published`.
  /// Errors: `busy`; those of `check_target`; `already_exists` if something else has the name of
  /// the staging folder; the system's.
  static Result<Staging> open(const std::string& target, FileLock::Access access, const Overwrite& overwrite);
  /// Opens an existing folder with exclusive access. Returns nothing if there is none.
  static Result<std::optional<Staging>> find(const std::string& target);
  /// Opens the folder with exclusive access, and empty. Tidies a published target, and removes the
  /// files of a `DatasetWriter` that was killed.
  /// Errors: as `open`; `already_exists` if a conversion is unfinished.
  static Result<Staging> begin(const std::string& target, const Overwrite& overwrite);

  /// The folder in which files are written: `TARGET.partial`, or the target after `publish`.
  const std::shared_ptr<OutputFolder>& folder() const noexcept { return folder_; }
  /// The target's path without trailing slashes, links resolved.
  const std::string& target() const noexcept { return target_; }
  bool is_published() const noexcept { return published_; }
  /// Creates and opens the folder of one dataset of a split. Returns the staging folder itself for
  /// an empty name.
  Result<std::shared_ptr<OutputFolder>> output(const std::string& name) const;

  /// Renames the folder to the target, durably. An old dataset is exchanged in the same step. If
  /// the file system cannot exchange folders, the old dataset is first renamed to
  /// `TARGET.replaced`, and for a moment there is no target.
  /// Needs: exclusive access; all files are synced.
  /// Errors: those of `check_target`; the system's. After an error the target is the old one, or
  /// the new one, which may not be durable.
  Result<void> publish(const Overwrite& overwrite);
  /// Removes the replaced dataset, then the lock file, then the other marks in descending order of
  /// names. Needs: the dataset is published. Last call.
  Result<void> tidy() noexcept;

  /// Removes all files except the lock.
  /// Errors: `already_exists` if any file is foreign, and then removes nothing; the system's.
  Result<void> clear() const;
  /// Removes all files and the folder, unless any file is foreign. Needs: exclusive access. Last
  /// call.
  void remove() noexcept;
  /// Removes the folder if it holds only the lock and no other process has access. Last call.
  void remove_if_empty() noexcept;

 private:
  Staging(std::string target, std::shared_ptr<OutputFolder> parent, std::shared_ptr<OutputFolder> folder, FileLock lock,
          bool published);
  static Result<std::optional<Staging>> find_published(const std::string& target);
  static Result<std::optional<Staging>> lock_folder(const std::string& target, std::shared_ptr<OutputFolder> folder,
                                                    FileLock::Access access);
  Result<void> take_on_permissions() const;
  Result<void> restore_replaced() const;
  std::string lock_path() const;
  Result<void> note_replaced(bool replaces);
  Result<void> rename_to_target(bool replaces);
  Result<void> remove_replaced() const;
  Result<void> remove_marks();

  std::string target_;
  std::string absolute_;  // the process may change its working directory
  std::shared_ptr<OutputFolder> parent_;
  std::shared_ptr<OutputFolder> folder_;
  std::string replaced_;  // identity of the folder to remove
  FileLock lock_;
  bool published_;
};

}  // namespace dovetail::detail
