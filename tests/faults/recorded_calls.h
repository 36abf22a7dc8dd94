// SPDX-License-Identifier: Apache-2.0
// What a writer asks the system for, recorded while it is really done, and what a crash at any
// moment could leave of it. The program is linked with --wrap for each of the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dovetail::test {

/// A file or folder has a number, whatever its names are; 0 is the folder that is recorded.
using Node = std::size_t;
/// What the names in each folder stand for.
using Names = std::map<std::pair<Node, std::string>, Node>;

/// One call that succeeded.
struct RecordedCall {
  enum class Kind : std::uint8_t { change_names, write, sync, sync_folder };
  struct Change {
    Node folder = 0;
    std::string name;
    std::optional<Node> node;  ///< Nothing where the name is gone.
  };
  Kind kind = Kind::change_names;
  Node node = 0;      ///< That is written or synced.
  std::string bytes;  ///< That were written behind the others, or in their place.
  bool in_place = false;
  std::vector<Change> changes;  ///< Of names: all happen, or none.
};

/// Calls, and what was there before them, durably.
struct Recording {
  struct Content {
    bool is_folder = false;
    std::string bytes;  ///< Of a folder its number in the file system.
  };
  std::vector<Content> nodes;  ///< Those that the calls made, too: without bytes.
  Names names;
  std::vector<RecordedCall> calls;
};

/// The calls on files and folders below `folder` that `work` makes, on all its threads, in an order
/// in which they could have been made one by one. Syncing is recorded only.
Recording record_calls(const std::string& folder, const std::function<void()>& work);

/// Files by path, as a crash may leave them; of a folder the path ends with a slash, and in the
/// place of bytes is its number in the file system that was recorded.
using LeftFiles = std::map<std::string, std::string>;

/// What may be there after a crash behind the first `count` calls. Bytes that were not synced are
/// there, are not, or half of them are; changes of names that were not synced, in whichever of
/// their folders, have all happened, or none, or only the first ones, or only one of them.
std::vector<LeftFiles> left_by_crash(const Recording& recording, std::size_t count);

}  // namespace dovetail::test
