// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "writer/descriptor.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

/// A file that appears under its name only when it is complete.
///
/// The bytes go to `.NAME.partial-PID-RANDOM` beside it. `commit` makes them durable and gives the
/// file its name. Any other end, such as the destructor, removes them, so only a crash leaves a
/// partial file. The partial name of a name of more than 200 bytes has only its beginning and end.
/// The file is locked (`flock`) while bytes are written, if the file system has locks.
///
/// Threads: none; one thread at a time.
/// Errors:  carry the path of the final file, and for writes the offset. The first error is final:
///          it removes the file, and every later call returns it again. The state of a file after a
///          failed write or sync is unknown.
/// Exception: if `commit` has replaced another file but cannot make the new name durable, the
/// complete file stays.
class OutputFile {
 public:
  static Result<OutputFile> create(std::shared_ptr<const OutputFolder> folder, const std::string& name);

  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  const std::string& name() const noexcept { return name_; }
  std::string path() const { return folder_->path_of(name_); }
  std::uint64_t size() const noexcept { return size_; }

  /// Appends all of `bytes`.
  Result<void> write(ByteView bytes);
  /// Makes the bytes durable and closes the file, so that many finished files need no descriptors.
  Result<void> sync();
  /// Gives a synced file its name, which becomes durable with a sync of the folder.
  /// Errors: `already_exists` unless `overwrite`. The file then stays synced, and can be published
  /// again.
  Result<void> publish(bool overwrite);
  /// Calls `sync` and `publish`, and syncs the folder.
  Result<void> commit(bool overwrite);
  /// Removes the file under its current name.
  void discard() noexcept;
  /// Gives up control of the file, which stays under its current name.
  void leave() noexcept;

 private:
  enum class State { writing, synced, published, gone };
  /// False for all states if moved from.
  bool is(State state) const noexcept { return folder_ != nullptr && state_ == state; }

  OutputFile(std::shared_ptr<const OutputFolder> folder, std::string name, std::string partial, Descriptor file);
  void start_writeback() noexcept;
  Error fail(Error error);
  Error failure_or_closed() const;

  std::shared_ptr<const OutputFolder> folder_;  // null if moved from
  std::string name_;
  std::string partial_;
  Descriptor file_;
  pid_t owner_;
  State state_ = State::writing;
  std::uint64_t size_ = 0;
  std::uint64_t writeback_ = 0;  // storage has been told to write the bytes before it
  std::optional<Error> failure_;
};

/// Returns the beginning of a file's partial names: `.NAME.partial-`.
std::string partial_name_begin(const std::string& name);
/// Returns a unique partial name: `.NAME.partial-PID-RANDOM`.
std::string random_partial_name(const std::string& name);

/// Renames within a folder. If the target exists, returns EEXIST. Returns 0 or an errno value.
int rename_without_replacing(int folder, const char* from, const char* to) noexcept;
/// The same by a hard link, for file systems whose rename cannot refuse to replace.
int link_without_replacing(int folder, const char* from, const char* to) noexcept;
/// The same for file systems that have no hard links either, such as mounted object stores. Looks
/// for the target first, so it may replace a file that another process creates at that moment.
int rename_where_none_is_seen(int folder, const char* from, const char* to) noexcept;

}  // namespace dovetail::detail
