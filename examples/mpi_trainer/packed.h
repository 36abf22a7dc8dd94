// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace digits {

/// A Dovetail dataset for all ranks: the given one, or TFRecords that rank 0 packs into a temporary
/// folder.
class Packed {
 public:
  /// On rank 0 only. Throws `dovetail::Exception`.
  Packed(const std::string& path, std::uint32_t shards);
  ~Packed();
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  std::string scratch_;
};

}  // namespace digits
