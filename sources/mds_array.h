// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/schema.h>

#include "sources/mds_index.h"

namespace dovetail::detail {

/// The type of the NumPy arrays of an MDS column, from its encoding:
/// `ndarray:TYPE`, where each value stores its shape before its elements, or
/// `ndarray:TYPE:SIZE,SIZE`, where values are only the elements.
struct MdsArrayType {
  Dtype dtype = Dtype::u8;
  std::vector<std::uint32_t> shape;  ///< Empty if each value stores its own.
};

/// Empty for other encodings, also for `ndarray`, whose values store even their type.
std::optional<MdsArrayType> mds_array_type(std::string_view encoding);

/// The types of all columns. A column whose values store their shapes counts as bytes if another
/// column has the name `NAME.shape`.
std::vector<std::optional<MdsArrayType>> mds_array_types(const std::vector<MdsColumn>& columns);

/// A value that stores its shape.
struct MdsArray {
  std::vector<std::int64_t> shape;
  ByteView elements;
};

/// Splits a value of `ndarray:TYPE`: a byte with the number of dimensions times 4, plus 0 to 3 for
/// sizes of 1, 2, 4 or 8 bytes; the sizes; the elements. All numbers are little-endian.
/// Errors: `malformed_input` if the bytes are not those of such an array.
Result<MdsArray> split_mds_array(ByteView value, Dtype dtype);

}  // namespace dovetail::detail
