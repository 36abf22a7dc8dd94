// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace dovetail::detail {

/// How many outputs each lane has, and where each begins when they are laid end to end.
///
/// Cost: lanes that were cut evenly are a formula; others are listed.
class LaneLengths {
 public:
  /// `total` outputs cut into lanes that differ by at most one. Needs at least one lane.
  static LaneLengths even(std::uint64_t total, std::uint32_t lanes) noexcept;
  /// Those of the first lanes; the others have none. Needs at least one length, and a sum below 2^63.
  static LaneLengths listed(const std::vector<std::uint64_t>& lengths, std::uint32_t lanes);

  std::uint32_t lanes() const noexcept { return lanes_; }
  std::uint64_t total() const noexcept { return begin(lanes_); }
  std::uint64_t fewest() const noexcept { return fewest_; }
  std::uint64_t most() const noexcept { return most_; }
  /// Outputs of all lanes before `lane`, which is at most `lanes()`.
  std::uint64_t begin(std::uint64_t lane) const noexcept;
  std::uint64_t length(std::uint64_t lane) const noexcept { return begin(lane + 1) - begin(lane); }
  /// The lane that holds a position of the line, below `total()`.
  std::uint32_t lane_of(std::uint64_t position) const noexcept;

  /// What is left when each lane has given `taken` outputs, or all that it has.
  LaneLengths after(std::uint64_t taken) const;

 private:
  std::uint64_t cut_total_ = 0;        // even: what was cut,
  std::uint64_t taken_ = 0;            // and what every lane has given since; at most the shortest lane
  std::vector<std::uint64_t> begins_;  // listed: of each lane that has any, and the total
  std::uint64_t fewest_ = 0;
  std::uint64_t most_ = 0;
  std::uint32_t lanes_ = 1;
};

}  // namespace dovetail::detail
