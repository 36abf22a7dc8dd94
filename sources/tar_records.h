// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dovetail::detail {

/// Key and part of a member's name, as in WebDataset: the key is everything before the first dot of
/// the last path component; the rest, in lower case, names the part. Both are empty if there is no
/// dot, or nothing before it.
struct MemberName {
  std::string_view key;
  std::string extension;
};
MemberName split_member_name(std::string_view name);

}  // namespace dovetail::detail
