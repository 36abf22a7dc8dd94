// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/error.h>

namespace dovetail::detail {

/// The index of a RecordIO file: lines of key, tab and offset, in any order. Cost: its bytes, and
/// 16 more for each line.
class RecordioIndex {
 public:
  /// The index of `records_path`, `x.idx` for `x.rec`; empty if there is none.
  /// Errors: `sidecar_mismatch` for an invalid line, an offset at or beyond `file_bytes`, a
  ///         duplicate offset, and for an index far too large for such a file; the system's.
  static Result<std::optional<RecordioIndex>> load(const std::string& records_path, std::uint64_t file_bytes);

  const std::string& path() const noexcept { return path_; }
  std::size_t size() const noexcept { return entries_.size(); }
  /// In ascending order.
  std::uint64_t offset(std::size_t entry) const noexcept { return entries_[entry].offset; }
  std::string_view key(std::size_t entry) const noexcept;
  /// Returns the first entry whose offset is at least `offset`.
  std::size_t first_from(std::uint64_t offset) const noexcept;

 private:
  struct Entry {
    std::uint64_t offset = 0;
    std::uint64_t key_at = 0;  // in the text
  };
  Error fault(std::uint64_t line, const std::string& reason) const;
  Result<void> parse(std::uint64_t file_bytes);

  std::string path_;
  std::string text_;
  std::vector<Entry> entries_;
};

}  // namespace dovetail::detail
