// SPDX-License-Identifier: Apache-2.0
// What a writer asks the system for, recorded while it is really done, and what a crash at any moment could leave of it. The
// program is linked with --wrap for each of the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dovetail::testing {

/// One call that succeeded.
struct RecordedCall {
  enum class Kind : std::uint8_t { create, write, sync, rename, link, remove, sync_folder };
  Kind kind = Kind::create;
  std::size_t file = 0;  ///< Which of the files that were made, from 0.
  std::string name;      ///< In the folder.
  std::string to;        ///< Of a rename or a link.
  std::string bytes;     ///< That were written.
};

/// The calls on files of `folder` that `work` makes, on all its threads, in an order in which they could have been made one by one.
std::vector<RecordedCall> record_calls(const std::string& folder, const std::function<void()>& work);

/// Files by name, as a crash may leave them.
using LeftFiles = std::map<std::string, std::string>;

/// What may be there after a crash behind the first `count` calls, in a folder that had the files `before`, durably. Bytes that
/// were not synced are there, are not, or half of them are; changes of names that were not synced have all happened, or none, or
/// only the first ones, or only one of them.
std::vector<LeftFiles> left_by_crash(const LeftFiles& before, const std::vector<RecordedCall>& calls,
                                     std::size_t count);

}  // namespace dovetail::testing
