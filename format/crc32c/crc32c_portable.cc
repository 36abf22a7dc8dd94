// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "format/crc32c/crc32c_backends.h"
#include "format/endian.h"

namespace dovetail::format {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78u;  // reflected

using Table = std::array<std::uint32_t, 256>;

// kTables[k][b] is the register after byte b and k zero bytes, so that eight bytes are eight
// independent look-ups.
constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = tables[k - 1][byte];
      tables[k][byte] = (shorter >> 8) ^ tables[0][shorter & 0xFF];
    }
  }
  return tables;
}

constexpr std::array<Table, 8> kTables = make_tables();

inline std::uint32_t table(std::size_t k, std::uint64_t word) noexcept {
  return kTables[k][word & 0xFF];
}

}  // namespace

std::uint32_t crc32c_portable(std::uint32_t state, const std::byte* data, std::size_t size) noexcept {
  for (; size >= 8; size -= 8, data += 8) {
    const std::uint64_t word = load_le<std::uint64_t>(data) ^ state;
    state = table(7, word) ^ table(6, word >> 8) ^ table(5, word >> 16) ^ table(4, word >> 24) ^ table(3, word >> 32) ^
            table(2, word >> 40) ^ table(1, word >> 48) ^ table(0, word >> 56);
  }
  for (; size > 0; --size, ++data) {
    state = (state >> 8) ^ table(0, state ^ static_cast<std::uint32_t>(*data));
  }
  return state;
}

}  // namespace dovetail::format
