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

/// A dataset, or those of a split, on the way to their folder.
///
/// Everything is written under its final name in `TARGET.partial` beside the target. `publish` renames
/// that folder to the target in one step, so that a reader sees the old dataset or the new one and
/// never a part of either. A file `.dovetail-lock` in the folder says that it is staged; its lock, that
/// somebody works on it. Other names that begin with `.dovetail-` belong to the user of this class.
/// These marks stay until `tidy`: a target with marks was published by a process that was killed then.
///
/// Ownership: one process at a time with exclusive access. The destructor removes nothing.
/// Threads:   const calls may run concurrently.
class Staging {
 public:
  /// Creates `TARGET.partial`, or opens what an earlier process left there. Where that had published
  /// the target and not tidied it, opens the target instead: see `is_published`.
  /// Errors: `busy`; those of `check_target`; `already_exists` where something else is in the way; the
  ///         system's.
  static Result<Staging> open(const std::string& target, FileLock::Access access, const Overwrite& overwrite);
  /// The same, with exclusive access, for what is there already. Nothing where it is not.
  static Result<std::optional<Staging>> find(const std::string& target);
  /// The same, with exclusive access and empty: tidies what was published, and removes what a
  /// `DatasetWriter` left behind that was killed.
  /// Errors: as `open`; `already_exists` where a conversion is unfinished.
  static Result<Staging> begin(const std::string& target, const Overwrite& overwrite);

  /// The folder in which files are written: `TARGET.partial`, or the target once it is published.
  const std::shared_ptr<OutputFolder>& folder() const noexcept { return folder_; }
  /// Without slashes at its end; links are resolved.
  const std::string& target() const noexcept { return target_; }
  bool is_published() const noexcept { return published_; }
  /// The folder of a dataset of a split, which is created; the folder itself for an empty name.
  Result<std::shared_ptr<OutputFolder>> output(const std::string& name) const;

  /// Renames the folder to the target, durably. A dataset there is exchanged in the same step; where
  /// the file system cannot do that it is first renamed to `TARGET.replaced`, and for a moment there is
  /// no target. Needs: exclusive access; all files are synced.
  /// Errors: those of `check_target`; the system's. After one the target is as it was, or it is the new
  ///         one and perhaps not durable.
  Result<void> publish(const Overwrite& overwrite);
  /// Removes the dataset that was replaced, then the marks, the least of them by name last. Needs: it
  /// is published. Last call.
  Result<void> tidy() noexcept;

  /// Removes everything but the lock. Errors: `already_exists` where anything is foreign, before
  /// anything is removed; the system's.
  Result<void> clear() const;
  /// Removes everything and the folder, unless anything is foreign. Needs: exclusive access. Last call.
  void remove() noexcept;
  /// Removes the folder if nothing but the lock is in it and nobody else has access. Last call.
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
  std::string absolute_;  // the process may move to another folder
  std::shared_ptr<OutputFolder> parent_;
  std::shared_ptr<OutputFolder> folder_;
  std::string replaced_;  // which folder is to be removed
  FileLock lock_;
  bool published_;
};

}  // namespace dovetail::detail
