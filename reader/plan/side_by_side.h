// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

namespace dovetail::detail {

/// A table stored as one array for each field, so that the compiler vectorises loops over a field.
///
/// Cost: allocates at construction only.
template <class... Fields>
class SideBySide {
 public:
  explicit SideBySide(std::size_t most) : fields_(std::vector<Fields>(most)...) {}

  std::size_t size() const noexcept { return size_; }
  void clear() noexcept { size_ = 0; }

  template <std::size_t kField>
  auto* data() noexcept {
    return std::get<kField>(fields_).data();
  }
  template <std::size_t kField>
  const auto* data() const noexcept {
    return std::get<kField>(fields_).data();
  }

  void append(const Fields&... values) noexcept {
    std::apply([&](auto&... field) { ((field[size_] = values), ...); }, fields_);
    ++size_;
  }
  /// Inserts a row at `slot` and moves the rows from `slot` on up by one. Needs: `slot <= size()`,
  /// and `size()` below the capacity.
  void insert(std::size_t slot, const Fields&... values) noexcept {
    if (slot == size_) return append(values...);
    for_each([&](auto& field) {
      const auto begin = field.begin() + static_cast<std::ptrdiff_t>(slot);
      const auto end = field.begin() + static_cast<std::ptrdiff_t>(size_);
      std::copy_backward(begin, end, end + 1);
    });
    std::apply([&](auto&... field) { ((field[slot] = values), ...); }, fields_);
    ++size_;
  }
  void erase(std::size_t slot) noexcept {
    for_each([&](auto& field) {
      const auto begin = field.begin() + static_cast<std::ptrdiff_t>(slot);
      std::copy(begin + 1, field.begin() + static_cast<std::ptrdiff_t>(size_), begin);
    });
    --size_;
  }

 private:
  template <class Function>
  void for_each(const Function& function) {
    std::apply([&](auto&... field) { (function(field), ...); }, fields_);
  }

  std::tuple<std::vector<Fields>...> fields_;
  std::size_t size_ = 0;
};

}  // namespace dovetail::detail
