// SPDX-License-Identifier: Apache-2.0
// The values of one feature as those of a column.
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

/// Packed floats as numbers of a floating dtype. Needs: as much room, and a multiple of 4 bytes.
void unpack_floats(ByteView packed, Dtype dtype, std::byte* to) noexcept;

/// How many values of the column a feature has; a value of bytes_list counts as the numbers that its bytes are.
/// False where the feature cannot fill the column, and `why` then says so.
bool count_values(const Column& column, const FeatureView& feature, std::uint64_t& count, std::string* why);

/// Writes all values of a feature that `count_values` has counted, as numbers of the column. False where one does not fit its
/// dtype. Needs: a column of numbers, and room for all.
bool write_values(const Column& column, const FeatureView& feature, std::byte* to) noexcept;

}  // namespace dovetail::format
