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
/// A member of an inner object is named `outer.inner`. Whole numbers of int64, true and false are
/// integers; strings are bytes. Other numbers are doubles, infinite beyond the range of a float;
/// but whole numbers from 2^63 to 2^64 - 1, most often hashes and ids, are bytes: their text, as a
/// double would round them. A list has the kind that all its values have; a list of several kinds
/// is bytes, its text in JSON. null and empty lists, which could be of any kind, are missing.
/// Cost: up to 25 times the memory of the record.
bool for_each_member(ByteView record, const std::function<void(std::string_view name, const JsonValues& values)>& add);

}  // namespace dovetail::format
