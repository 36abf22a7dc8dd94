// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "writer/output_folder.h"

namespace dovetail::detail {

/// A file that appears under its name only when it is whole.
///
/// Bytes go to `.NAME.partial-PID-RANDOM` beside it. `commit` makes them durable and gives the file its name; anything
/// else, a destructor included, removes them. Only a crash leaves a partial file. Of a name of more than 200 bytes the partial
/// one has the beginning and the end. While bytes are written it is locked (`flock`), where the file system has locks.
///
/// Threads: none; one thread at a time.
/// Errors:  carry the path of the final file and for writes the offset. The first is final: it removes the file, and
///          every later call returns it again, because what a failed write or sync left behind cannot be known. Only a
///          whole file that `commit` has put in the place of another stays where its new name could not be made durable.
class OutputFile {
 public:
  static Result<OutputFile> create(std::shared_ptr<const OutputFolder> folder, const std::string& name);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  const std::string& name() const noexcept { return name_; }
  std::string path() const { return folder_->path_of(name_); }
  std::uint64_t size() const noexcept { return size_; }

  /// Appends all of `bytes`.
  Result<void> write(ByteView bytes);
  /// Makes the bytes durable and closes the file: many finished files need no descriptors.
  Result<void> sync();
  /// Gives a synced file its name; durable after a sync of the folder. Errors: `already_exists` unless `overwrite`; the file
  /// stays synced, and can be published again.
  Result<void> publish(bool overwrite);
  /// `sync`, `publish`, and a sync of the folder.
  Result<void> commit(bool overwrite);
  /// Removes the file, whichever name it has.
  void discard() noexcept;
  /// Has nothing more to do with the file, which stays under the name that it has.
  void leave() noexcept;

 private:
  enum class State { writing, synced, published, gone };

  OutputFile(std::shared_ptr<const OutputFolder> folder, std::string name, std::string partial, int descriptor);
  Error fail(Error error);
  Error failure_or_closed() const;
  void close_descriptor() noexcept;

  std::shared_ptr<const OutputFolder> folder_;
  std::string name_;
  std::string partial_;
  int descriptor_ = -1;
  pid_t owner_;
  State state_ = State::writing;
  std::uint64_t size_ = 0;
  std::optional<Error> failure_;
};

/// What begins the partial name of a file, whoever writes it: `.NAME.partial-`.
std::string partial_name_begin(const std::string& name);
/// One that nobody else has: `.NAME.partial-PID-RANDOM`.
std::string random_partial_name(const std::string& name);

/// In the names of files that are being written, before what makes them unique.
inline constexpr std::string_view kPartialMark = ".partial-";
/// Whether a writer that is at work, or was killed, has left a file under this name or path: `.NAME.partial-PID-RANDOM`.
bool is_partial_name(std::string_view path);
/// The name that such a file gets in the end; other names as they are. Of long ones the middle is missing.
std::string_view final_name(std::string_view name);

/// Renames within a folder; an existing target is EEXIST. Returns 0 or an errno value.
int rename_without_replacing(int folder, const char* from, const char* to) noexcept;
/// The same for file systems whose rename cannot refuse to replace: a hard link can.
int link_without_replacing(int folder, const char* from, const char* to) noexcept;
/// The same for those that have no hard links either, as object stores that are mounted: it looks first, and would replace
/// a file that another process makes just then.
int rename_where_none_is_seen(int folder, const char* from, const char* to) noexcept;

}  // namespace dovetail::detail
