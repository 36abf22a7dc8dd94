// SPDX-License-Identifier: Apache-2.0
#include "sources/mds_index.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <boost/json/parse.hpp>

#include "format/try.h"

namespace dovetail::detail {

namespace {

namespace json = boost::json;

struct NumberEncoding {
  std::string_view name;
  MdsKind kind;
  std::uint32_t bytes;
};

constexpr std::array kNumbers = {
    NumberEncoding{"int", MdsKind::int_le, 8},       NumberEncoding{"int8", MdsKind::int_le, 1},
    NumberEncoding{"int16", MdsKind::int_le, 2},     NumberEncoding{"int32", MdsKind::int_le, 4},
    NumberEncoding{"int64", MdsKind::int_le, 8},     NumberEncoding{"uint8", MdsKind::uint_le, 1},
    NumberEncoding{"uint16", MdsKind::uint_le, 2},   NumberEncoding{"uint32", MdsKind::uint_le, 4},
    NumberEncoding{"uint64", MdsKind::uint_le, 8},   NumberEncoding{"float16", MdsKind::float_le, 2},
    NumberEncoding{"float32", MdsKind::float_le, 4}, NumberEncoding{"float64", MdsKind::float_le, 8},
};

const json::value* member(const json::object& object, std::string_view name) {
  const auto* const found = object.find(name);
  return found == object.end() ? nullptr : &found->value();
}

const json::array* array_in(const json::object& object, std::string_view name) {
  const json::value* const value = member(object, name);
  return value == nullptr ? nullptr : value->if_array();
}

// Parses whole numbers from 0 to `most`.
std::optional<std::uint64_t> number_of(const json::value* value, std::uint64_t most) {
  if (value == nullptr) return std::nullopt;
  std::uint64_t number = most;
  if (const std::int64_t* const found = value->if_int64()) {
    if (*found < 0) return std::nullopt;
    number = static_cast<std::uint64_t>(*found);
  } else if (const std::uint64_t* const large = value->if_uint64()) {
    number = *large;
  } else {
    return std::nullopt;
  }
  if (number > most) return std::nullopt;
  return number;
}

std::optional<MdsColumn> column_of(const json::value& name, const json::value& encoding, const json::value& size) {
  const json::string* const name_text = name.if_string();
  const json::string* const encoding_text = encoding.if_string();
  if (name_text == nullptr || encoding_text == nullptr) return std::nullopt;
  MdsColumn column;
  column.name = std::string_view(*name_text);
  column.encoding = std::string_view(*encoding_text);
  if (!size.is_null()) {
    const auto bytes = number_of(&size, 0xFFFFFFFFu);
    if (!bytes) return std::nullopt;
    column.size = static_cast<std::uint32_t>(*bytes);
  }
  for (const NumberEncoding& number : kNumbers) {
    if (number.name != column.encoding) continue;
    if (column.size != number.bytes) return std::nullopt;
    column.kind = number.kind;
  }
  return column;
}

std::optional<std::vector<MdsColumn>> columns_of(const json::object& shard) {
  const json::array* const names = array_in(shard, "column_names");
  const json::array* const encodings = array_in(shard, "column_encodings");
  const json::array* const sizes = array_in(shard, "column_sizes");
  if (names == nullptr || encodings == nullptr || sizes == nullptr) return std::nullopt;
  if (names->size() != encodings->size() || names->size() != sizes->size()) return std::nullopt;
  std::vector<MdsColumn> columns;
  for (std::size_t i = 0; i < names->size(); ++i) {
    auto column = column_of((*names)[i], (*encodings)[i], (*sizes)[i]);
    if (!column) return std::nullopt;
    columns.push_back(std::move(*column));
  }
  return columns;
}

bool leads_out(const std::string& name) {
  const std::filesystem::path path(name);
  return path.empty() || path.is_absolute() || name.find('\0') != std::string::npos ||
         std::find(path.begin(), path.end(), "..") != path.end();
}

Error malformed(const std::string& what, const std::string& path) {
  return Error(Errc::malformed_input, "MDS index: " + what).in_file(path);
}

std::vector<std::pair<std::string, std::string>> hashes_of(const json::object& file) {
  std::vector<std::pair<std::string, std::string>> hashes;
  const json::value* const found = member(file, "hashes");
  if (found == nullptr || !found->is_object()) return hashes;
  for (const auto& each : found->get_object()) {
    if (each.value().is_string()) hashes.emplace_back(each.key(), std::string_view(each.value().get_string()));
  }
  return hashes;
}

Result<MdsFile> file_of(const json::value* value, const char* what, const std::string& path) {
  if (value == nullptr || !value->is_object()) return malformed(std::string("a shard has no ") + what, path);
  const json::object& object = value->get_object();
  const json::value* const name = member(object, "basename");
  const auto bytes = number_of(member(object, "bytes"), UINT64_MAX);
  if (name == nullptr || !name->is_string() || !bytes) {
    return malformed(std::string(what) + " of a shard lacks basename or bytes", path);
  }
  MdsFile file{std::string(std::string_view(name->get_string())), *bytes, hashes_of(object)};
  if (!leads_out(file.name)) return file;
  return Error(Errc::outside_dataset, "MDS index: the shard \"" + file.name + "\" is not in its folder").in_file(path);
}

Result<MdsShard> shard_of(const json::value& value, const std::string& path) {
  const json::object* const object = value.if_object();
  if (object == nullptr) return malformed("a shard is not an object", path);
  const json::value* const kind = member(*object, "format");
  if (kind == nullptr || !kind->is_string() || kind->get_string() != "mds") {
    return Error(Errc::unknown_format, "MDS index: a shard is of a format other than \"mds\"").in_file(path);
  }
  DOVETAIL_ASSIGN(auto raw, file_of(member(*object, "raw_data"), "raw_data", path));
  MdsShard shard{.raw = std::move(raw)};
  const json::value* const packed = member(*object, "zip_data");
  if (packed != nullptr && !packed->is_null()) {
    DOVETAIL_ASSIGN(auto file, file_of(packed, "zip_data", path));
    shard.packed = std::move(file);
    const json::value* const packing = member(*object, "compression");
    if (packing == nullptr || !packing->is_string()) return malformed("a shard with zip_data lacks compression", path);
    shard.packing = std::string_view(packing->get_string());
  }
  const auto samples = number_of(member(*object, "samples"), 0xFFFFFFFFu);
  if (!samples) return malformed("a shard lacks samples", path);
  shard.samples = static_cast<std::uint32_t>(*samples);
  auto columns = columns_of(*object);
  if (!columns) return malformed("the columns of a shard are invalid", path);
  shard.columns = std::move(*columns);
  return shard;
}

std::optional<json::value> parse_text(std::string_view text) {
  boost::system::error_code failed;
  json::value value = json::parse(text, failed);
  if (failed) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Compression> compression_of(const MdsShard& shard) noexcept {
  if (!shard.packed) return Compression::none;
  const std::string_view word = std::string_view(shard.packing).substr(0, shard.packing.find(':'));
  if (word == "gz") return Compression::gzip;
  if (word == "bz2") return Compression::bzip2;
  if (word == "zstd") return Compression::zstd;
  return std::nullopt;
}

bool looks_like_mds_index(std::string_view text) {
  const std::string_view head = text.substr(0, kMdsIndexBegin);
  return head.find("\"column_encodings\"") != std::string_view::npos &&
         head.find("\"shards\"") != std::string_view::npos;
}

Result<MdsIndex> parse_mds_index(std::string_view text, const std::string& path) {
  const auto value = parse_text(text);
  const json::object* const object = value ? value->if_object() : nullptr;
  const json::array* const shards = object == nullptr ? nullptr : array_in(*object, "shards");
  if (shards == nullptr) return Error(Errc::malformed_input, "this is not an index of MDS shards").in_file(path);
  MdsIndex index;
  for (const json::value& each : *shards) {
    DOVETAIL_ASSIGN(auto shard, shard_of(each, path));
    index.shards.push_back(std::move(shard));
  }
  return index;
}

std::optional<std::vector<MdsColumn>> parse_mds_columns(std::string_view text) {
  const auto value = parse_text(text);
  const json::object* const object = value ? value->if_object() : nullptr;
  if (object == nullptr) return std::nullopt;
  return columns_of(*object);
}

}  // namespace dovetail::detail
