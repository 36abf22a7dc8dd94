// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <dovetail/export.h>

namespace dovetail {

/// Bytes of a file that are damaged or missing, and the records lost with them. Readers, `verify`
/// and `recover` report damage so.
struct DOVETAIL_EXPORT LostRange {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;         ///< 0 if unknown, or if the bytes are missing.
  std::uint64_t first_record = 0;  ///< In the shard, as it was written.
  /// One past the last; equal to `first_record` if no record is lost.
  std::uint64_t end_record = 0;
  std::string reason;

  friend bool operator==(const LostRange&, const LostRange&) = default;
};

}  // namespace dovetail
