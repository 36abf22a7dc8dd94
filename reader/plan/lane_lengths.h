// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace dovetail::detail {

/// The number of outputs of each lane, and where each lane begins when they are laid end to end.
///
/// Cost: a formula for lanes that were cut evenly; else a list.
class LaneLengths {
 public:
  /// Cuts `total` outputs into lanes whose lengths differ by at most one. Needs at least one lane.
  static LaneLengths even(std::uint64_t total, std::uint32_t lanes) noexcept;
  /// The first lanes have these lengths, the others have 0. Needs at least one length, and a sum
  /// below 2^63.
  static LaneLengths listed(const std::vector<std::uint64_t>& lengths, std::uint32_t lanes);

  std::uint32_t lanes() const noexcept { return lanes_; }
  std::uint64_t total() const noexcept { return begin(lanes_); }
  std::uint64_t fewest() const noexcept { return fewest_; }
  std::uint64_t most() const noexcept { return most_; }
  /// The outputs of all lanes before `lane`, which is at most `lanes()`.
  std::uint64_t begin(std::uint64_t lane) const noexcept;
  std::uint64_t length(std::uint64_t lane) const noexcept { return begin(lane + 1) - begin(lane); }
  /// The lane that holds `position` of the line, which is below `total()`.
  std::uint32_t lane_of(std::uint64_t position) const noexcept;

  /// What remains after each lane has given `taken` outputs, or all of its outputs if it has fewer.
  LaneLengths after(std::uint64_t taken) const;

 private:
  std::uint64_t cut_total_ = 0;        // even lanes: the total that was cut
  std::uint64_t taken_ = 0;            // even lanes: what each lane has given since, or all that it had
  std::vector<std::uint64_t> begins_;  // listed lanes: their begins, then the total
  std::uint64_t fewest_ = 0;
  std::uint64_t most_ = 0;
  std::uint32_t lanes_ = 1;
};

}  // namespace dovetail::detail
