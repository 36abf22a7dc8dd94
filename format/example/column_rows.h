// SPDX-License-Identifier: Apache-2.0
// The rows of a batch of columns while they are being filled.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/columns.h>
#include <dovetail/schema.h>

#include "format/example/column_layout.h"
#include "format/example/example_wire.h"

namespace dovetail::format {

/// A growing buffer that is cleared and filled again and again. Growing moves its content.
template <class T>
class Scratch {
 public:
  void clear() noexcept { size_ = 0; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  T* data() noexcept { return memory_.get(); }
  const T* data() const noexcept { return memory_.get(); }

  /// Adds `count` uninitialised elements. The caller must write them before it adds more.
  T* add(std::size_t count) {
    if (count > capacity_ - size_) grow(size_ + count);
    T* const added = memory_.get() + size_;
    size_ += count;
    return added;
  }
  /// Takes back the elements behind `size`.
  void shrink(std::size_t size) noexcept { size_ = size; }

 private:
  void grow(std::size_t least) {
    const std::size_t capacity = std::max({least, 2 * capacity_, std::size_t{64}});
    auto larger = std::make_unique_for_overwrite<T[]>(capacity);
    std::copy(memory_.get(), memory_.get() + size_, larger.get());
    memory_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<T[]> memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Puts features into the rows of columns. Values of a fixed size go straight to their place in the
/// slab. For the others, the object notes where they are until all sizes are known: in the record,
/// or in its own memory if they were converted.
///
/// Ownership: borrows the schema, the slab, and records until `finish` or `keep`.
class ColumnRows {
 public:
  /// Why a feature without values does not fit. Only a fallback can fill the row.
  static constexpr std::string_view kEmptyFeature = "the feature is empty";

  explicit ColumnRows(const Schema& schema);

  void begin(std::uint32_t rows, std::span<std::byte> slab);

  // Fast paths for the usual forms of a feature: one list, packed or with one value. They return
  // false if a value does not fit or the column needs more care. `put` then finds out.
  bool put_packed_ints(std::size_t column, std::uint32_t row, ByteView packed);
  bool put_packed_floats(std::size_t column, std::uint32_t row, ByteView packed);
  bool put_bytes(std::size_t column, std::uint32_t row, ByteView value);

  /// Puts any feature. Returns false if it does not fit, and then writes the reason to `why`, if
  /// not null.
  bool put(std::size_t column, std::uint32_t row, const FeatureView& feature, std::string* why);
  // Values that come from no feature. The functions copy them.

  /// Returns the memory of a row of fixed size; empty if the column has no fixed size.
  std::span<std::byte> fixed_row(std::size_t column, std::uint32_t row) const noexcept;
  /// Returns false if `value` does not have the size of a row.
  bool put_copy(std::size_t column, std::uint32_t row, ByteView value);
  /// Needs: a ragged column of texts.
  void put_copies(std::size_t column, std::uint32_t row, std::span<const std::string_view> texts);

  /// Puts the schema's fallback for a row without the feature. Returns false if the schema has
  /// none.
  bool put_fallback(std::size_t column, std::uint32_t row);
  void put_nothing(std::uint32_t row) noexcept;
  void copy_row(std::uint32_t from, std::uint32_t to) noexcept;

  void keep();
  std::uint64_t bytes();
  /// Needs: a slab of `bytes()`.
  const ColumnLayout& finish(std::span<std::byte> slab);
  std::uint64_t fixed_bytes() const noexcept { return fixed_bytes_; }
  /// Bytes held outside the slab.
  std::uint64_t held_bytes() const noexcept {
    return bytes_.size() + text_bytes_.size() * sizeof(std::size_t) + places_.size() * sizeof(Place);
  }
  std::uint64_t memory_bytes() const noexcept {
    return bytes_.capacity() + text_bytes_.capacity() * sizeof(std::size_t) + places_.capacity() * sizeof(Place);
  }
  /// Bytes that `rows` rows hold besides their values.
  std::uint64_t places_bytes(std::uint32_t rows) const noexcept { return variable_ * rows * sizeof(Place); }
  /// The bytes and texts held at some time. `take_back` removes all that came later.
  struct Mark {
    std::size_t bytes = 0;
    std::size_t texts = 0;
  };
  Mark mark() const noexcept { return {bytes_.size(), text_bytes_.size()}; }
  void take_back(const Mark& mark) noexcept {
    bytes_.shrink(mark.bytes);
    text_bytes_.shrink(mark.texts);
  }
  std::uint32_t rows() const noexcept { return rows_; }

 private:
  /// How a column is filled.
  struct Target {
    Dtype dtype = Dtype::u8;
    bool variable = false;
    bool text = false;
    bool ragged = false;
    bool single = false;  ///< One number a row.
    std::uint64_t count = 0;
    std::size_t item_bytes = 0;
    std::size_t variable_number = 0;
    std::byte* values = nullptr;  ///< In the slab, of a column of fixed size.
    std::array<std::byte, 8> fallback{};
  };

  /// Where the values of one row of a variable column are.
  struct Place {
    const std::byte* outside = nullptr;  ///< In the record; null if the values are in `bytes_`.
    std::size_t at = 0;                  ///< In `bytes_`.
    std::size_t bytes = 0;
    std::size_t first_text = 0;  ///< In `text_bytes_`, of a ragged column of texts.
    std::size_t texts = 0;
  };

  Place& place_of(const Target& target, std::uint32_t row) noexcept {
    return places_[target.variable_number * rows_ + row];
  }
  std::byte* row_of(const Target& target, std::uint32_t row) const noexcept {
    return target.values + row * target.item_bytes;
  }
  bool put_texts(const Target& target, std::uint32_t row, const FeatureView& feature);
  bool write_single_int(const Target& target, std::uint32_t row, ByteView packed) noexcept;
  void add_up();
  /// Clears the padding, so that equal columns have equal bytes.
  void clear_padding(std::byte* slab) const noexcept;
  void write_texts(const Target& target, const ColumnPlace& place, std::byte* slab) noexcept;

  const Schema& schema_;
  std::vector<Target> targets_;
  std::size_t variable_ = 0;  ///< Number of variable columns.
  std::uint32_t rows_ = 0;
  std::uint64_t fixed_bytes_ = 0;
  std::vector<Place> places_;
  Scratch<std::byte> bytes_;
  Scratch<std::size_t> text_bytes_;
  std::vector<ColumnTotals> totals_;
  ColumnLayout layout_;
};

}  // namespace dovetail::format
