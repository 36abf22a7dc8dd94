// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/convert.h>
#include <dovetail/error.h>

namespace dovetail::detail {

/// Whether a dataset of a split may have this name: it becomes that of a folder, which must stay below the target.
bool is_folder_name(std::string_view name) noexcept;

/// Says to which dataset of a split a record goes: a hash of its key, or its bytes, is cut at the cumulative shares.
///
/// Threads: const calls may run concurrently.
class RecordSplit {
 public:
  /// Errors: `invalid_option` for names that no folder can have, and shares that do not add up to 1.
  static Result<RecordSplit> make(const std::vector<SplitShare>& shares, std::uint64_t seed);

  /// Datasets: one where there is no split.
  std::size_t outputs() const noexcept { return names_.size(); }
  /// Folder of a dataset below the target; empty where there is no split.
  const std::string& name(std::size_t output) const noexcept { return names_[output]; }
  std::size_t output_of(std::string_view key, ByteView record) const noexcept;

 private:
  std::vector<std::string> names_ = {""};
  std::vector<std::uint64_t> ends_;  // of the hashes of all outputs but the last
  std::uint64_t seed_ = 0;
};

}  // namespace dovetail::detail
