// SPDX-License-Identifier: Apache-2.0
#include "format/example/schema_fallback.h"

#include <cstdint>
#include <cstring>
#include <optional>

#include "format/example/half.h"
#include "format/text/number_text.h"

namespace dovetail::format {
namespace {

/// Calls `use` with a number of the column's C++ type; a float stands for a half.
template <class Use>
auto with_type(Dtype dtype, Use&& use) {
  switch (dtype) {
    case Dtype::i8:
      return use(std::int8_t{});
    case Dtype::u16:
      return use(std::uint16_t{});
    case Dtype::i16:
      return use(std::int16_t{});
    case Dtype::u32:
      return use(std::uint32_t{});
    case Dtype::i32:
      return use(std::int32_t{});
    case Dtype::u64:
      return use(std::uint64_t{});
    case Dtype::i64:
      return use(std::int64_t{});
    case Dtype::f16:
    case Dtype::f32:
      return use(float{});
    case Dtype::f64:
      return use(double{});
    default:
      return use(std::uint8_t{});
  }
}

}  // namespace

Result<std::string> normal_fallback(const Column& column, std::string_view text) {
  if (text.size() > kMaxFallbackBytes) {
    return Error(Errc::invalid_option, "a fallback of more than " + std::to_string(kMaxFallbackBytes) + " bytes");
  }
  if (column.ragged) {
    if (text.empty()) return std::string();
    return Error(Errc::invalid_option, "the fallback of a ragged column can only be []");
  }
  if (column.dtype == Dtype::bytes) return std::string(text);
  const auto normal = with_type(column.dtype, [text](auto zero) -> std::optional<std::string> {
    const auto value = parse_number<decltype(zero)>(text);
    if (!value) return std::nullopt;
    return shortest(*value);
  });
  const bool too_large = column.dtype == Dtype::f16 && normal &&
                         text.find_first_not_of("-0123456789.eE") == std::string_view::npos &&
                         (to_half(*parse_number<float>(text)) & 0x7FFF) == 0x7C00;
  if (normal && !too_large) return *normal;
  return Error(Errc::invalid_option,
               "the fallback \"" + std::string(text) + "\" is not a valid " + std::string(to_text(column.dtype)));
}

std::array<std::byte, 8> fallback_value(const Column& column) {
  std::array<std::byte, 8> bytes{};
  with_type(column.dtype, [&](auto zero) {
    const auto value = parse_number<decltype(zero)>(*column.fallback).value_or(zero);
    if (column.dtype == Dtype::f16) {
      const std::uint16_t half = to_half(static_cast<float>(value));
      std::memcpy(bytes.data(), &half, sizeof(half));
    } else {
      std::memcpy(bytes.data(), &value, sizeof(value));
    }
  });
  return bytes;
}

}  // namespace dovetail::format
