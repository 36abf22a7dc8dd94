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

/// Whether a dataset of a split may have this name. It becomes the name of a folder, which must
/// stay below the target.
bool is_folder_name(std::string_view name) noexcept;

/// Assigns records to the datasets of a split: the hash of the key, or of the bytes, is cut at the
/// cumulative shares.
///
/// Threads: const calls may run concurrently.
class RecordSplit {
 public:
  /// Errors: `invalid_option` for names that a folder cannot have, and for shares that do not add
  ///         up to 1.
  static Result<RecordSplit> make(const std::vector<SplitShare>& shares, std::uint64_t seed);

  /// Number of datasets; one without a split.
  std::size_t outputs() const noexcept { return names_.size(); }
  /// Folder of a dataset below the target; empty without a split.
  const std::string& name(std::size_t output) const noexcept { return names_[output]; }
  std::size_t output_of(std::string_view key, ByteView record) const noexcept;

 private:
  std::vector<std::string> names_ = {""};
  std::vector<std::uint64_t> ends_;  // upper ends of the hashes of each output, except the last
  std::uint64_t seed_ = 0;
};

}  // namespace dovetail::detail
