// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <variant>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

namespace dovetail::format {

/// Longest `outer.inner` name of a nested member, in bytes.
inline constexpr std::size_t kMaxNestedNameBytes = 4096;

/// The values of a member: at least one.
using JsonValues = std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<ByteView>>;

/// Calls `add` for each member of a JSON object of up to 32 levels. Returns false if `record` is
/// not such an object.
///
/// A member of a nested object is `outer.inner`. Whole numbers of int64, true and false become
/// integers, strings bytes. Other numbers become doubles, infinite beyond the range of a float.
/// Only whole numbers from 2^63 to 2^64 - 1, mostly hashes and ids, become bytes: their digits,
/// which a double would round.
/// A list becomes a list of one of these kinds if all its values have that kind, of floats if they
/// are integers and floats. Any other list becomes bytes, its text in JSON. null counts as missing,
/// and so does an empty list. Of equal names in one object, the last counts.
/// Errors: `malformed_input` without file and offset, before the first call of `add`, if member
///         `b` of `a` and another member are both named `a.b`, or if the name of a nested member
///         is too long.
/// Cost:   up to 25 times the memory of the record.
Result<bool> for_each_member(ByteView record,
                             const std::function<void(std::string_view name, const JsonValues& values)>& add);

}  // namespace dovetail::format
