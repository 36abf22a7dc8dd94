// SPDX-License-Identifier: Apache-2.0
// The log format of LevelDB, as its doc/log_format.md describes it: what many programs keep checked
// records in. Debian's package of LevelDB has no reader of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>

#include <dovetail/bytes.h>

namespace dovetail::bench {

inline constexpr std::size_t kLogBlockBytes = 32 << 10;
/// Of a fragment: masked CRC32C of the type and the bytes, length, type.
inline constexpr std::size_t kLogHeaderBytes = 7;

enum class LogFragment : std::uint8_t { zero = 0, full = 1, first = 2, middle = 3, last = 4 };

/// What is checked of a fragment, as it is stored.
std::uint32_t log_crc(LogFragment type, ByteView bytes) noexcept;

/// Appends records to a file.
class LogWriter {
 public:
  explicit LogWriter(std::ofstream& file) : file_(file) {}
  void append(ByteView record);

 private:
  std::ofstream& file_;
  std::size_t in_block_ = 0;
};

}  // namespace dovetail::bench
