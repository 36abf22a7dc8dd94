// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <variant>
#include <vector>

#include <dovetail/bytes.h>

namespace dovetail::format {

/// The values of a member: at least one.
using JsonValues = std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<ByteView>>;

/// Calls `add` with the members of a JSON object of up to 32 levels, each name once; false for what
/// is none.
///
/// A member of an object in it is `outer.inner`. Whole numbers of 64 bits, true and false are
/// integers, other numbers doubles, infinite beyond the range of a float; strings bytes. A list is
/// one of these if all its values are; otherwise it is bytes, its text in JSON. null, and a list
/// without values, which could be of any kind, are missing.
/// Cost: up to 25 times the memory of the record.
bool for_each_member(ByteView record, const std::function<void(std::string_view name, const JsonValues& values)>& add);

}  // namespace dovetail::format
