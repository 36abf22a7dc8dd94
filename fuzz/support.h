// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share: a limit on memory, files in memory, and a way to take an input
// apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <dovetail/bytes.h>

namespace dovetail::fuzz {

/// Ends the process with `what`, which the fuzzer reports as a crash.
void require(bool good, std::string_view what);

/// While it lives, the process ends where more than `bytes` are allocated beyond what was when it
/// began, by all threads.
///
/// libFuzzer's -malloc_limit_mb bounds single allocations of a whole run; what a reader may take
/// depends on its input, and adds up. Needs: AddressSanitizer, whose hooks it counts with; one at a
/// time.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::size_t bytes) noexcept;
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit();
};

/// What readers of whole files may take: some buffers, and what a block can expand to.
inline std::size_t memory_for(std::size_t input_bytes) noexcept {
  return (std::size_t{32} << 20) + 256 * input_bytes;
}

/// What a decoder may take for the window that a frame of Zstandard or xz claims: a few bytes
/// suffice to claim one.
std::size_t window_for(std::string_view input) noexcept;

/// A regular file without a name in any folder, for what opens paths.
class MemoryFile {
 public:
  explicit MemoryFile(ByteView bytes);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

  const std::string& path() const noexcept { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

/// A folder of this process that goes with it. The runner lets temporary folders lie in memory.
const std::string& scratch_folder();

/// Takes an input apart from its front. What is not there any more reads as zeros.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  std::uint8_t byte() noexcept;
  std::uint16_t u16() noexcept;
  /// As many bytes, or all that are left.
  std::string_view take(std::size_t bytes) noexcept;
  std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace dovetail::fuzz
