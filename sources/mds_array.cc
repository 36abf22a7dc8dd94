// SPDX-License-Identifier: Apache-2.0
#include "sources/mds_array.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "format/text/count_of.h"

namespace dovetail::detail {
namespace {

std::optional<Dtype> dtype_named(std::string_view name) {
  using Named = std::pair<std::string_view, Dtype>;
  constexpr std::array kNames = {
      Named{"uint8", Dtype::u8},    Named{"int8", Dtype::i8},    Named{"uint16", Dtype::u16},
      Named{"int16", Dtype::i16},   Named{"uint32", Dtype::u32}, Named{"int32", Dtype::i32},
      Named{"uint64", Dtype::u64},  Named{"int64", Dtype::i64},  Named{"float16", Dtype::f16},
      Named{"float32", Dtype::f32}, Named{"float64", Dtype::f64}};
  const auto* found =
      std::find_if(kNames.begin(), kNames.end(), [&](const Named& known) { return known.first == name; });
  if (found == kNames.end()) return std::nullopt;
  return found->second;
}

/// Sizes with commas between them. Empty if the text is anything else.
std::vector<std::uint32_t> parse_sizes(std::string_view text) {
  std::vector<std::uint32_t> sizes;
  for (const char *at = text.data(), *const end = text.data() + text.size(); at != end;) {
    std::uint32_t size = 0;
    const auto [next, failed] = std::from_chars(at, end, size);
    if (failed != std::errc() || (next != end && *next != ',') || (next != end && next + 1 == end)) return {};
    sizes.push_back(size);
    at = next == end ? end : next + 1;
  }
  return sizes;
}

}  // namespace

std::optional<MdsArrayType> mds_array_type(std::string_view encoding) {
  constexpr std::string_view kArray = "ndarray:";
  if (!encoding.starts_with(kArray)) return std::nullopt;
  encoding.remove_prefix(kArray.size());
  const std::size_t colon = encoding.find(':');
  const auto dtype = dtype_named(encoding.substr(0, colon));
  if (!dtype) return std::nullopt;
  if (colon == std::string_view::npos) return MdsArrayType{*dtype, {}};
  std::vector<std::uint32_t> shape = parse_sizes(encoding.substr(colon + 1));
  if (shape.empty()) return std::nullopt;
  return MdsArrayType{*dtype, std::move(shape)};
}

std::vector<std::optional<MdsArrayType>> mds_array_types(const std::vector<MdsColumn>& columns) {
  std::set<std::string_view> names;
  for (const MdsColumn& column : columns) names.insert(column.name);
  std::vector<std::optional<MdsArrayType>> types;
  for (const MdsColumn& column : columns) {
    auto type = mds_array_type(column.encoding);
    if (type && type->shape.empty() && names.contains(column.name + ".shape")) type.reset();
    types.push_back(std::move(type));
  }
  return types;
}

Result<MdsArray> split_mds_array(ByteView value, Dtype dtype) {
  const auto refuse = [](const std::string& reason) { return Error(Errc::malformed_input, reason); };
  if (value.empty()) return refuse("an array has no shape");
  const auto head = std::to_integer<unsigned>(value.front());
  const std::size_t dimensions = head / 4;
  const std::size_t size_bytes = std::size_t{1} << head % 4;
  if (value.size() - 1 < dimensions * size_bytes) return refuse("an array ends in its shape");
  MdsArray array{.shape = {}, .elements = value.subspan(1 + dimensions * size_bytes)};
  const std::uint64_t most = array.elements.size() / dtype_bytes(dtype);
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::uint64_t size = 0;
    for (std::size_t byte = size_bytes; byte-- > 0;) {
      size = size << 8 | std::to_integer<std::uint64_t>(value[1 + i * size_bytes + byte]);
    }
    array.shape.push_back(static_cast<std::int64_t>(size));
    elements = size != 0 && elements > most / size ? most + 1 : elements * size;
  }
  if (elements <= most && elements * dtype_bytes(dtype) == array.elements.size()) return array;
  return refuse("an array has " + format::count_of(array.elements.size(), "byte") + ", which its shape contradicts");
}

}  // namespace dovetail::detail
