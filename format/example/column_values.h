// SPDX-License-Identifier: Apache-2.0
// Converts the values of one feature to those of a column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <dovetail/bytes.h>
#include <dovetail/schema.h>

#include "format/example/example_wire.h"

namespace dovetail::format {

constexpr bool is_floating(Dtype dtype) noexcept {
  return dtype == Dtype::f16 || dtype == Dtype::f32 || dtype == Dtype::f64;
}
constexpr bool is_integer(Dtype dtype) noexcept {
  return dtype < Dtype::f16;
}

/// Writes packed floats as numbers of a floating dtype. Needs: room for as many numbers; `packed`
/// is a multiple of 4 bytes.
void unpack_floats(ByteView packed, Dtype dtype, std::byte* to) noexcept;

/// Counts the values of the column that a feature has. A value of bytes_list counts as the numbers
/// that its bytes encode.
/// Returns false if the feature cannot fill the column, and writes the reason to `why`.
bool count_values(const Column& column, const FeatureView& feature, std::uint64_t& count, std::string* why);

/// Writes all values of a feature that `count_values` has counted, as numbers of the column.
/// Returns false if a value does not fit the dtype. Needs: a column of numbers, and room for all.
bool write_values(const Column& column, const FeatureView& feature, std::byte* to) noexcept;

}  // namespace dovetail::format
