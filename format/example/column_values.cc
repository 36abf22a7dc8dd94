// SPDX-License-Identifier: Apache-2.0
#include "format/example/column_values.h"

#include <array>
#include <cstring>

#include "format/endian.h"
#include "format/example/half.h"
#include "format/example/packed_ints.h"

namespace dovetail::format {
namespace {

/// Writes one integer as a number of the dtype. Returns false if it does not fit.
bool write_int(std::int64_t value, Dtype dtype, std::byte* to) noexcept {
  std::array<std::byte, kVarintBytes> varint;
  std::size_t bytes = 0;
  auto bits = static_cast<std::uint64_t>(value);
  for (; bits >= 0x80; bits >>= 7) varint[bytes++] = static_cast<std::byte>(bits | 0x80);
  varint[bytes++] = static_cast<std::byte>(bits);
  return unpack_ints(ByteView(varint.data(), bytes), dtype, to, 1);
}

/// Writes one integer as a floating number. Returns false if that would change its value.
template <class Float>
bool write_exactly(std::int64_t value, std::byte* to) noexcept {
  constexpr auto kBeyond = static_cast<Float>(0x1p63);  // does not fit back into an integer
  const auto number = static_cast<Float>(value);
  if (number == kBeyond || static_cast<std::int64_t>(number) != value) return false;
  std::memcpy(to, &number, sizeof(number));
  return true;
}

bool write_ints(Dtype dtype, const FeatureView& feature, std::byte* to) noexcept {
  FeatureValues values(feature);
  for (std::int64_t value = 0; values.next(value); to += dtype_bytes(dtype)) {
    const bool written = dtype == Dtype::f32   ? write_exactly<float>(value, to)
                         : dtype == Dtype::f64 ? write_exactly<double>(value, to)
                                               : write_int(value, dtype, to);
    if (!written) return false;
  }
  return true;
}

/// An integer of one byte in the record may become eight bytes in a ragged column. Slots would need
/// room for that, so ragged columns of floating numbers refuse integers.
bool takes_ints(const Column& column) noexcept {
  const bool exact = column.dtype == Dtype::f32 || column.dtype == Dtype::f64;
  return is_integer(column.dtype) || (exact && !column.ragged);
}

}  // namespace

void unpack_floats(ByteView packed, Dtype dtype, std::byte* to) noexcept {
  if (dtype == Dtype::f32) {
    if (!packed.empty()) std::memcpy(to, packed.data(), packed.size());
    return;
  }
  for (std::size_t i = 0; i < packed.size(); i += sizeof(float)) {
    const auto value = std::bit_cast<float>(load_le<std::uint32_t>(packed.data() + i));
    if (dtype == Dtype::f64) {
      const double wide = value;
      std::memcpy(to, &wide, sizeof(wide));
      to += sizeof(wide);
    } else {
      const std::uint16_t half = to_half(value);
      std::memcpy(to, &half, sizeof(half));
      to += sizeof(half);
    }
  }
}

bool count_values(const Column& column, const FeatureView& feature, std::uint64_t& count, std::string* why) {
  const bool numbers = (feature.kind == FeatureKind::ints && takes_ints(column)) ||
                       (feature.kind == FeatureKind::floats && is_floating(column.dtype));
  count = feature.count;
  if (numbers || (column.dtype == Dtype::bytes && feature.kind == FeatureKind::bytes)) return true;
  if (feature.kind != FeatureKind::bytes) {
    const char* const takes = feature.kind == FeatureKind::floats ? "; f32 takes it" : "; i64 takes it";
    if (why != nullptr) {
      *why = std::string(to_text(feature.kind)) + " cannot fill " + std::string(to_text(column.dtype)) + takes;
    }
    return false;
  }
  if (feature.count > 1) {
    if (why != nullptr) *why = "a bytes_list of " + std::to_string(feature.count) + " values, expected 1";
    return false;
  }
  FeatureValues values(feature);
  ByteView bytes;
  if (!values.next(bytes)) return true;  // an empty list
  count = bytes.size() / dtype_bytes(column.dtype);
  if (bytes.size() % dtype_bytes(column.dtype) == 0) return true;
  if (why != nullptr) {
    *why = std::to_string(bytes.size()) + " bytes, not a multiple of " + std::string(to_text(column.dtype)) +
           "; for texts the dtype is bytes";
  }
  return false;
}

bool write_values(const Column& column, const FeatureView& feature, std::byte* to) noexcept {
  FeatureValues values(feature);
  if (feature.kind == FeatureKind::ints) return write_ints(column.dtype, feature, to);
  if (feature.kind == FeatureKind::bytes) {
    ByteView bytes;
    if (values.next(bytes) && !bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    return true;
  }
  std::array<std::byte, sizeof(float)> bits;
  for (float value = 0; values.next(value); to += dtype_bytes(column.dtype)) {
    store_le(bits.data(), std::bit_cast<std::uint32_t>(value));
    unpack_floats(bits, column.dtype, to);
  }
  return true;
}

}  // namespace dovetail::format
