// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dovetail/error.h>

#include "writer/descriptor.h"

namespace dovetail::detail {

/// An open folder. Files are created, renamed and removed in it by name, even if the process
/// changes its working directory.
///
/// Ownership: the files being written in the folder share it, so that many files need one
/// descriptor.
/// Threads:   const calls may run concurrently.
class OutputFolder {
 public:
  /// Opens a folder. An empty path means the working directory. Errors: the system's.
  static Result<std::shared_ptr<OutputFolder>> open(const std::string& path);
  /// Opens a folder. Creates it and its missing parents first.
  static Result<std::shared_ptr<OutputFolder>> create(const std::string& path);

  /// Opens a folder in this one. It must not be a link.
  Result<std::shared_ptr<OutputFolder>> open_below(const std::string& name) const;
  /// The same. Creates the folder if nothing has the name.
  Result<std::shared_ptr<OutputFolder>> create_below(const std::string& name) const;

  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  int descriptor() const noexcept { return descriptor_.number(); }
  const std::string& path() const noexcept { return path_; }
  /// Returns the path of a file in the folder, for messages.
  std::string path_of(const std::string& name) const;

  /// Returns the names of all entries, in no particular order.
  Result<std::vector<std::string>> names() const;
  /// Returns whether an entry of this name exists, even a dangling link.
  Result<bool> contains(const std::string& name) const;
  /// Removes a file. A missing file is no error.
  Result<void> remove(const std::string& name) const;
  /// Returns whether the folder still lies at its path, and the path is not a link.
  bool is_in_place() const noexcept;
  /// Returns whether the name is that of a folder, and not of a link to a folder.
  Result<bool> has_folder(const std::string& name) const;
  /// Removes an empty folder. A missing folder is no error.
  Result<void> remove_folder(const std::string& name) const;
  /// Makes new and removed names durable.
  Result<void> sync() const;
  /// Call this after the folder was renamed. From then on, folders that `create` made are kept.
  void moved_to(std::string path) noexcept;
  /// Removes the folders that `create` made if they are empty.
  void remove_created() noexcept;

 private:
  explicit OutputFolder(std::string path) : path_(std::move(path)) {}

  Descriptor descriptor_;
  std::string path_;
  std::vector<std::string> created_;  // outermost first
};

}  // namespace dovetail::detail
