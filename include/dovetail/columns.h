// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/schema.h>

namespace dovetail {

/// Where one column lies in a slab, in bytes. Parts that a column does not have are empty.
struct ColumnPlace {
  struct Part {
    std::size_t at = 0;  ///< A multiple of 256.
    std::size_t bytes = 0;
  };

  Part values;   ///< [rows, shape...]; of a ragged column [items of all rows, shape...]; of `bytes` all characters.
  Part offsets;  ///< int64[rows + 1], where the items of each row of a ragged column begin and end.
  Part text_offsets;  ///< int64[texts + 1], where the characters of each text of `bytes` begin and end.
};

/// Where the columns of a batch lie in its slab. What has a fixed size comes first, in the order of the columns.
struct ColumnLayout {
  std::uint32_t rows = 0;
  std::vector<ColumnPlace> columns;
  std::size_t bytes = 0;  ///< Of the slab.
};

/// One column of a batch. Ownership: borrows the slab and the schema.
struct ColumnView {
  const Column* column = nullptr;
  ByteView values;
  std::span<const std::int64_t> offsets;
  std::span<const std::int64_t> text_offsets;

  /// All values, one row after the other. Needs: `T` is the type of the column's dtype.
  template <class T>
  std::span<const T> as() const noexcept {
    return {reinterpret_cast<const T*>(values.data()), values.size() / sizeof(T)};
  }
  /// Needs: a column of `bytes`. Texts are numbered over all rows; row `i` of a ragged column has [offsets[i], offsets[i + 1]).
  std::string_view text(std::size_t i) const noexcept {
    return as_chars(values.subspan(static_cast<std::size_t>(text_offsets[i]),
                                   static_cast<std::size_t>(text_offsets[i + 1] - text_offsets[i])));
  }
};

/// The column in place `i` of a schema, in a slab of this layout. Needs: the layout is one of the schema.
ColumnView view_column(const Schema& schema, const ColumnLayout& layout, ByteView slab, std::size_t i) noexcept;

/// Turns records of tf.train.Example into columns of a slab, without an object per record.
///
/// What a record means is what protobuf makes of it: of entries with one name the last one counts, lists in pieces are laid end
/// to end, fields that are not known are passed over. int64_list fills columns of integers, and f32 and f64 of a fixed shape
/// where that is exact; float_list those of floating point, with a change of width. A value of bytes_list fills a text, or any
/// other row with exactly as many bytes, which are taken as they are (little endian). Numbers that do not fit are errors, as is
/// any other number of values than the shape has.
///
/// Ownership: a slab belongs to the caller, and records must stay until `finish` or `keep`.
/// Threads:   one thread at a time; copies of a decoder are independent.
/// Errors:    `invalid_option` for a record that does not fit, naming row, column and byte, or the features that it has;
///            `bad_message` for one that is no Example; `batch_too_large` for a slab that is too small, naming what is needed.
/// Cost:      no allocation per record, once its memory has grown to the largest batch: beside the slab, up to what the ragged
///            integers of a batch take. Fastest where the features of all records come in one order, each once, with packed
///            numbers.
class ColumnDecoder {
 public:
  /// Errors: those of `validate`.
  static Result<ColumnDecoder> make(Schema schema);

  ColumnDecoder(const ColumnDecoder& other);
  ColumnDecoder(ColumnDecoder&&) noexcept;
  ColumnDecoder& operator=(ColumnDecoder other) noexcept;
  ~ColumnDecoder();

  const Schema& schema() const noexcept;
  // Sizes; those of 2^60 and more are given as 2^60.

  /// What so many rows take before anything is known of ragged columns and texts. A schema without these takes no more.
  std::uint64_t fixed_bytes(std::uint32_t rows) const noexcept;
  /// What so many rows take at most, of records of at most `record_bytes` bytes each.
  std::uint64_t most_bytes(std::uint32_t rows, std::uint64_t record_bytes) const noexcept;
  /// What the decoder itself holds of so many rows while they are decoded: at least, and at most, but for what one record takes
  /// meanwhile. Nothing without ragged columns and texts.
  std::uint64_t least_held_bytes(std::uint32_t rows) const noexcept;
  std::uint64_t most_held_bytes(std::uint32_t rows, std::uint64_t record_bytes) const noexcept;
  /// What it holds of the batch under way.
  std::uint64_t held_bytes() const noexcept;
  /// What it has allocated for that, and keeps for the next batch.
  std::uint64_t memory_bytes() const noexcept;

  /// Decodes a batch: one row for each record, zeros and empty rows for a record without data (`ByteView()`).
  /// The layout is valid until the next call.
  Result<const ColumnLayout*> decode(std::span<const ByteView> records, std::span<std::byte> slab);

  // The same in steps, for records that come in any order and do not stay.

  /// Needs: `slab` begins at a multiple of 8.
  Result<void> begin(std::uint32_t rows, std::span<std::byte> slab);
  /// Every row once. After an error the row is as `add_empty` leaves it.
  Result<void> add(std::uint32_t row, ByteView record);
  /// Zeros, and nothing in ragged columns and texts.
  void add_empty(std::uint32_t row) noexcept;
  /// Makes a row equal to another one that was added.
  void copy_row(std::uint32_t from, std::uint32_t to) noexcept;
  /// Copies what is still needed of the records added so far, which need not stay any longer.
  void keep();
  /// What the slab must hold. Needs: every row was added.
  std::uint64_t bytes() const noexcept;
  /// Lays down ragged columns and texts, and zeros between parts. Needs: the first `fixed_bytes` of `slab` are as they were, here or elsewhere.
  Result<const ColumnLayout*> finish(std::span<std::byte> slab);

 private:
  class Impl;
  explicit ColumnDecoder(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dovetail
