// SPDX-License-Identifier: Apache-2.0
#include <dovetail/identity.h>

#include <optional>
#include <random>
#include <span>

#include "format/text/hex.h"

namespace dovetail {
namespace {

constexpr std::size_t kIdBytes = 16;
using IdBytes = std::array<std::uint8_t, kIdBytes>;

std::optional<std::uint8_t> digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<std::uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<IdBytes> bytes_of(std::string_view text) noexcept {
  IdBytes bytes;
  if (text.size() != 2 * bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto high = digit_of(text[2 * i]);
    const auto low = digit_of(text[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    bytes[i] = static_cast<std::uint8_t>(*high << 4 | *low);
  }
  return bytes;
}

Error not_an_id(std::string_view text) {
  return Error(Errc::invalid_option, "expected 32 hex digits, got \"" + std::string(text.substr(0, 40)) + "\"");
}

std::uint64_t load_be(std::span<const std::uint8_t, 8> in) noexcept {
  std::uint64_t value = 0;
  for (const std::uint8_t byte : in) value = value << 8 | byte;
  return value;
}

}  // namespace

std::string Hash128::to_hex() const {
  return format::hex64(high) + format::hex64(low);
}

Result<Hash128> Hash128::from_hex(std::string_view text) {
  const auto bytes = bytes_of(text);
  if (!bytes) return not_an_id(text);
  return Hash128{load_be(std::span(*bytes).first<8>()), load_be(std::span(*bytes).last<8>())};
}

DatasetId DatasetId::random() {
  std::random_device device;
  DatasetId id;
  for (std::size_t i = 0; i < id.bytes.size(); i += 4) {
    const std::uint32_t word = device();
    for (std::size_t k = 0; k < 4; ++k) id.bytes[i + k] = static_cast<std::uint8_t>(word >> (8 * k));
  }
  return id;
}

std::string DatasetId::to_hex() const {
  return format::hex(std::as_bytes(std::span(bytes)));
}

Result<DatasetId> DatasetId::from_hex(std::string_view text) {
  const auto bytes = bytes_of(text);
  if (!bytes) return not_an_id(text);
  return DatasetId{*bytes};
}

}  // namespace dovetail
