// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <dovetail/error.h>

#include "format/process_mark.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

/// Keeps conversions from beginning in a target while it lives: `flock` on the folder. Conversions hold it for the time of a look
/// at the target, merging as long as it lasts. Where the file system has no locks, or as NFS none on folders, it keeps nobody away.
///
/// Ownership: one process at a time, which loses it when it ends.
class TargetLock {
 public:
  /// For looks of thousands of processes that begin at once, each of which lists the target.
  static constexpr std::chrono::milliseconds kPatience = std::chrono::minutes(1);

  /// Errors: `busy` where others have it for longer than `patience`; the system's.
  static Result<TargetLock> take(const std::string& target, std::chrono::milliseconds patience = kPatience);
  static Result<TargetLock> take(std::shared_ptr<OutputFolder> folder, std::chrono::milliseconds patience = kPatience);

  TargetLock(TargetLock&&) noexcept = default;
  TargetLock& operator=(TargetLock&&) = delete;
  ~TargetLock();

  const OutputFolder& folder() const noexcept { return *folder_; }

 private:
  explicit TargetLock(std::shared_ptr<OutputFolder> folder) : folder_(std::move(folder)) {}

  std::shared_ptr<OutputFolder> folder_;
  ProcessMark process_;
};

/// Whether a process that lives holds a lock (`flock`) on a file. No where the file system has none.
bool is_held(const OutputFolder& folder, const std::string& file) noexcept;

}  // namespace dovetail::detail
