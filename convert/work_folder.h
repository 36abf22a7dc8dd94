// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/error.h>

#include "convert/facts.h"
#include "convert/target_lock.h"
#include "format/process_mark.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

inline constexpr std::uint32_t kMaxParts = 100'000;  // five digits

/// The hidden folder in which a part of a conversion keeps what it has finished: `.dovetail-part-IIIII-of-NNNNN` in the
/// target. It holds the shards, `conversion` (the facts), `lock`, and once the part is whole its manifest,
/// `part-IIIII-of-NNNNN.dvt`. Once the datasets are whole, `conversion` is called `.merged` until all is removed.
///
/// Ownership: one process at a time, by a lock on a file, which the system lets go with the process.
/// Threads:   const calls may run concurrently.
class WorkFolder {
 public:
  /// Makes or opens it, and sweeps away what is left of others that were being removed. Errors: `busy` where another process has it,
  /// or for longer than `patience` a lock on the target; `already_exists` where it is a link; `state_mismatch` where the target holds
  /// one of another number of parts; the system's.
  static Result<WorkFolder> create(const std::string& target, const ConvertPart& part,
                                   std::chrono::milliseconds patience = TargetLock::kPatience);
  /// Opens one that is there. Errors: as `create`.
  static Result<WorkFolder> open(const std::string& target, const ConvertPart& part);
  /// Opens one without taking its lock: for who has that already, or the target's and has seen that nobody has this one.
  static Result<WorkFolder> visit(const std::string& target, const ConvertPart& part);

  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&& other) noexcept;
  ~WorkFolder();

  const std::shared_ptr<OutputFolder>& folder() const noexcept { return folder_; }
  const ConvertPart& part() const noexcept { return part_; }
  /// The facts of the conversion that was begun here, or nothing.
  Result<std::optional<Facts>> facts() const;
  /// Errors: `invalid_option` for more than could be read again; the system's.
  Result<void> keep_facts(const Facts& facts) const;
  /// Makes the folder for the shards of a dataset; the one itself where the name is empty.
  Result<std::shared_ptr<OutputFolder>> output(const std::string& name) const;

  /// Says that the datasets which the part was converted for are whole, so that nothing here is needed any more. The facts become
  /// the mark.
  Result<void> mark_merged() const;
  /// These facts, or nothing where it does not say so.
  Result<std::optional<Facts>> merged() const;

  /// Whether nothing is in it but the lock.
  Result<bool> is_empty() const;
  /// Removes what a process that was killed has left half-written.
  Result<void> remove_partial_files() const;
  /// Removes what conversions make in it, but the lock. Errors: `already_exists` where there is anything else, before
  /// anything is removed.
  Result<void> clear() const;
  /// Removes what conversions make in it, then itself and what `create` made above it, as far as that is empty. Last call.
  void remove() noexcept;

 private:
  WorkFolder(std::shared_ptr<OutputFolder> folder, ConvertPart part, int lock);
  Result<std::optional<Facts>> read_facts(const char* name) const;
  static Result<std::shared_ptr<OutputFolder>> find(const std::string& target, const ConvertPart& part);
  static Result<WorkFolder> take(std::shared_ptr<OutputFolder> folder, const ConvertPart& part);
  static Result<WorkFolder> create_in(const std::shared_ptr<OutputFolder>& target, const ConvertPart& part,
                                      std::chrono::milliseconds patience);
  void let_go() noexcept;

  std::shared_ptr<OutputFolder> target_;  // what was made for it, nothing where it was there
  std::shared_ptr<OutputFolder> folder_;
  ConvertPart part_;
  ProcessMark process_;
  int lock_ = -1;  // none where it is only visited
};

/// `part-IIIII-of-NNNNN`.
std::string part_name(const ConvertPart& part);
/// Name of the manifest of a whole part, in its folder.
std::string part_manifest_name(const ConvertPart& part);
/// `.dovetail-part-IIIII-of-NNNNN`, and back.
std::string work_folder_name(const ConvertPart& part);
std::optional<ConvertPart> part_of_work_folder(std::string_view name);

}  // namespace dovetail::detail
