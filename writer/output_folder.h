// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dovetail/error.h>

namespace dovetail::detail {

/// An open folder in which files are made, renamed and removed by name, wherever the process itself moves to.
///
/// Ownership: shared by the files that are being made in it, so that many of them cost one descriptor.
/// Threads:   const calls may run concurrently.
class OutputFolder {
 public:
  /// Opens a folder; an empty path is the process's own. Errors: the system's.
  static Result<std::shared_ptr<OutputFolder>> open(const std::string& path);
  /// Opens a folder, and makes it and what is missing above it.
  static Result<std::shared_ptr<OutputFolder>> create(const std::string& path);

  /// Opens a folder in this one, which must be no link.
  Result<std::shared_ptr<OutputFolder>> open_below(const std::string& name) const;
  /// The same; makes it if nothing has the name.
  Result<std::shared_ptr<OutputFolder>> create_below(const std::string& name) const;

  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder();

  int descriptor() const noexcept { return descriptor_; }
  const std::string& path() const noexcept { return path_; }
  /// The path of a file in it, for messages.
  std::string path_of(const std::string& name) const;

  /// Names of everything in it, in no order.
  Result<std::vector<std::string>> names() const;
  /// Whether something of this name is there, be it a dangling link.
  Result<bool> contains(const std::string& name) const;
  /// Removes a file. One that is not there is no error.
  Result<void> remove(const std::string& name) const;
  /// Whether it lies where its path says, and not at the other end of a link.
  bool is_in_place() const noexcept;
  /// Whether a name in it is that of a folder, and of no link to one.
  Result<bool> has_folder(const std::string& name) const;
  /// Removes an empty folder. One that is not there is no error.
  Result<void> remove_folder(const std::string& name) const;
  /// Makes new and removed names durable.
  Result<void> sync() const;
  /// After the folder was renamed. What `create` made is kept from then on.
  void moved_to(std::string path) noexcept;
  /// Removes the folders that `create` made, as far as they are empty.
  void remove_created() noexcept;

 private:
  explicit OutputFolder(std::string path) : path_(std::move(path)) {}

  int descriptor_ = -1;
  std::string path_;
  std::vector<std::string> created_;  // outermost first
};

}  // namespace dovetail::detail
