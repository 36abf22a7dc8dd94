// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Buffers of equal size in one mapping, each aligned to a page. Reads past the page cache go there
/// first, because their destination and size must be aligned.
///
/// Ownership: owns the mapping; movable.
/// Threads:   none.
class BounceBuffers {
 public:
  BounceBuffers() noexcept = default;
  /// Units:  `bytes_each` is a multiple of the page size. Both are above 0.
  /// Errors: those of the system if memory is short.
  static Result<BounceBuffers> make(std::size_t count, std::size_t bytes_each);

  BounceBuffers(BounceBuffers&& other) noexcept;
  BounceBuffers& operator=(BounceBuffers&& other) noexcept;
  ~BounceBuffers();

  std::span<std::byte> all() const noexcept { return all_; }
  std::size_t bytes_each() const noexcept { return bytes_each_; }
  std::span<std::byte> at(std::size_t number) const noexcept { return all_.subspan(number * bytes_each_, bytes_each_); }

 private:
  std::span<std::byte> all_;
  std::size_t bytes_each_ = 0;
};

}  // namespace dovetail::detail
