// SPDX-License-Identifier: Apache-2.0
#include "sources/foreign_formats.h"

#include <algorithm>
#include <array>
#include <string>

#include "format/address.h"
#include "format/endian.h"
#include "format/text/lower_case.h"

namespace dovetail::detail {

namespace {

using namespace std::string_view_literals;

struct ForeignFormat {
  std::string_view magic;
  std::string_view name;
};

constexpr std::array kFormats = {
    ForeignFormat{"PAR1"sv, "a Parquet file"},
    ForeignFormat{"ARROW1"sv, "an Arrow or Feather file"},
    ForeignFormat{"FEA1"sv, "a Feather file"},
    ForeignFormat{"\x93NUMPY"sv, "a NumPy array (.npy)"},
    ForeignFormat{"PK\3\4"sv, "a zip or NumPy archive (.npz)"},
    ForeignFormat{"PK\5\6"sv, "a zip archive"},
    ForeignFormat{"\x89HDF\r\n\x1A\n"sv, "an HDF5 file"},
    ForeignFormat{"\x04\x22\x4D\x18"sv, "a file compressed with lz4"},
};

// An Arrow stream, as Hugging Face's datasets have it, has no magic. It begins with a mark, then
// the length of its first message, which is small and a multiple of 8, then a FlatBuffers table.
bool is_arrow_stream(ByteView head) {
  constexpr std::size_t kPrefix = 12;
  constexpr std::uint32_t kMark = 0xFFFFFFFF;
  constexpr std::uint32_t kMaxSchemaBytes = 1u << 24;
  if (head.size() < kPrefix || format::load_le<std::uint32_t>(head.data()) != kMark) return false;
  const auto bytes = format::load_le<std::uint32_t>(head.data() + 4);
  const auto table = format::load_le<std::uint32_t>(head.data() + 8);
  return bytes != 0 && bytes % 8 == 0 && bytes < kMaxSchemaBytes && table % 4 == 0 && table < bytes;
}

}  // namespace

std::optional<std::string> advice_on_foreign_bytes(ByteView head) {
  const auto* const found = std::find_if(kFormats.begin(), kFormats.end(), [&](const ForeignFormat& format) {
    return as_chars(head).starts_with(format.magic);
  });
  if (found == kFormats.end() && !is_arrow_stream(head)) return std::nullopt;
  return "this is " + std::string(found == kFormats.end() ? "a stream of Arrow"sv : found->name) +
         ", which is not supported; docs/sources.md has a recipe that converts it";
}

std::optional<std::string> advice_on_address(std::string_view path) {
  if (!format::is_address(path)) return std::nullopt;
  return "this is a remote address, but only local files are read; copy it here first, or pipe its content to "
         "`dovetail convert - --to DIR`, see docs/sources.md";
}

bool has_table_name(std::string_view path) {
  const std::string name = format::lower_case(path);
  return name.ends_with(".parquet") || name.ends_with(".arrow") || name.ends_with(".feather");
}

}  // namespace dovetail::detail
