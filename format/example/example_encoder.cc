// SPDX-License-Identifier: Apache-2.0
#include "format/example/example_encoder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "format/text/utf8.h"

namespace dovetail::format {
namespace {

constexpr std::size_t varint_bytes(std::uint64_t value) noexcept {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

std::byte* write_varint(std::byte* to, std::uint64_t value) noexcept {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::byte>(value | 0x80);
  *to++ = static_cast<std::byte>(value);
  return to;
}

/// Writes the tag and the length of a field of bytes. All fields here have tags of one byte.
std::byte* write_head(std::byte* to, std::uint32_t field, std::uint64_t bytes) noexcept {
  *to++ = static_cast<std::byte>(wire_tag(field, WireType::bytes));
  return write_varint(to, bytes);
}

constexpr std::uint64_t field_bytes(std::uint64_t bytes) noexcept {
  return 1 + varint_bytes(bytes) + bytes;
}

std::byte* write_bytes(std::byte* to, const void* bytes, std::size_t size) noexcept {
  if (size != 0) std::memcpy(to, bytes, size);
  return to + size;
}

}  // namespace

ExampleEncoder::Feature& ExampleEncoder::add(std::string_view name, FeatureKind kind, std::size_t at) {
  Feature feature;
  feature.name_at = names_.size();
  feature.name_bytes = name.size();
  feature.kind = kind;
  feature.at = at;
  names_.append(name);
  return features_.emplace_back(feature);
}

void ExampleEncoder::add_bytes(std::string_view name, std::span<const ByteView> values) {
  Feature& feature = add(name, FeatureKind::bytes, values_.size());
  values_.insert(values_.end(), values.begin(), values.end());
  feature.count = values.size();
  for (const ByteView value : values) feature.list_bytes += field_bytes(value.size());
}

void ExampleEncoder::add_floats(std::string_view name, std::span<const float> values) {
  Feature& feature = add(name, FeatureKind::floats, numbers_.size());
  feature.count = values.size_bytes();
  numbers_.resize(feature.at + feature.count);
  std::byte* to = numbers_.data() + feature.at;
  for (const float value : values) {
    store_le(to, std::bit_cast<std::uint32_t>(value));
    to += sizeof(float);
  }
  feature.list_bytes = values.empty() ? 0 : field_bytes(feature.count);
}

void ExampleEncoder::add_ints(std::string_view name, std::span<const std::int64_t> values) {
  Feature& feature = add(name, FeatureKind::ints, numbers_.size());
  for (const std::int64_t value : values) feature.count += varint_bytes(static_cast<std::uint64_t>(value));
  numbers_.resize(feature.at + feature.count);
  std::byte* to = numbers_.data() + feature.at;
  for (const std::int64_t value : values) to = write_varint(to, static_cast<std::uint64_t>(value));
  feature.list_bytes = values.empty() ? 0 : field_bytes(feature.count);
}

Result<void> ExampleEncoder::encode(std::vector<std::byte>& out) {
  std::sort(features_.begin(), features_.end(),
            [this](const Feature& a, const Feature& b) { return name_of(a) < name_of(b); });
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < features_.size(); ++i) {
    Feature& feature = features_[i];
    const std::string_view name = name_of(feature);
    if (i > 0 && name == name_of(features_[i - 1])) {
      Error error(Errc::invalid_option, "two features have the name \"" + std::string(name) + "\"");
      clear();
      return error;
    }
    if (!is_utf8(name)) {
      clear();
      return Error(Errc::invalid_option, "the name of a feature is not UTF-8");
    }
    feature.entry_bytes = field_bytes(name.size()) + field_bytes(field_bytes(feature.list_bytes));
    bytes += field_bytes(feature.entry_bytes);
  }
  if (field_bytes(bytes) > kWireBytes) {
    clear();
    return Error(Errc::record_too_large, "a tf.train.Example of " + std::to_string(field_bytes(bytes)) +
                                             " bytes, the limit is " + std::to_string(kWireBytes));
  }
  const auto size = static_cast<std::size_t>(field_bytes(bytes));
  if (out.capacity() < size) {
    // Free the previous record first: growing would keep and copy its bytes beside the new ones.
    std::vector<std::byte>().swap(out);
    out.reserve(size + size / 8);
  }
  out.resize(size);
  std::byte* to = write_head(out.data(), 1, bytes);
  for (const Feature& feature : features_) to = write(feature, to);
  clear();
  return {};
}

std::byte* ExampleEncoder::write(const Feature& feature, std::byte* to) const noexcept {
  const std::string_view name = name_of(feature);
  to = write_head(to, 1, feature.entry_bytes);
  to = write_head(to, 1, name.size());
  to = write_bytes(to, name.data(), name.size());
  to = write_head(to, 2, field_bytes(feature.list_bytes));
  to = write_head(to, static_cast<std::uint32_t>(feature.kind), feature.list_bytes);
  if (feature.kind != FeatureKind::bytes) {
    if (feature.list_bytes == 0) return to;
    to = write_head(to, 1, feature.count);
    return write_bytes(to, numbers_.data() + feature.at, feature.count);
  }
  for (const ByteView value : std::span(values_).subspan(feature.at, feature.count)) {
    to = write_head(to, 1, value.size());
    to = write_bytes(to, value.data(), value.size());
  }
  return to;
}

void ExampleEncoder::clear() noexcept {
  names_.clear();
  values_.clear();
  numbers_.clear();
  features_.clear();
}

}  // namespace dovetail::format
