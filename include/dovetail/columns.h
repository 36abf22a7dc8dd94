// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/schema.h>
#include <dovetail/transform.h>

namespace dovetail {

/// Where one column lies in a slab, in bytes. Parts that a column does not have are empty.
struct DOVETAIL_EXPORT ColumnPlace {
  struct Part {
    std::size_t at = 0;  ///< A multiple of 256.
    std::size_t bytes = 0;
  };

  /// [rows, shape...]; for a ragged column [items of all rows, shape...]; for `bytes` all
  /// characters.
  Part values;
  /// int64[rows + 1]: begin and end of the items of each row, in a ragged column.
  Part offsets;
  /// int64[texts + 1]: begin and end of the characters of each text, in a column of `bytes`.
  Part text_offsets;
};

/// Where the columns of a batch lie in its slab. Parts of fixed size come first, in the order of
/// the columns.
struct DOVETAIL_EXPORT ColumnLayout {
  std::uint32_t rows = 0;
  std::vector<ColumnPlace> columns;
  std::size_t bytes = 0;  ///< Size of the slab.
};

/// One column of a batch. Ownership: borrows the slab and the schema.
struct DOVETAIL_EXPORT ColumnView {
  const Column* column = nullptr;
  ByteView values;
  std::span<const std::int64_t> offsets;
  std::span<const std::int64_t> text_offsets;

  /// All values, row after row. Errors: throws `Exception` with `invalid_option` if `T` is not the
  /// type of the column's dtype; that of f16 is any of 2 bytes.
  template <class T>
  std::span<const T> as() const {
    if (column != nullptr) check_type(*column, sizeof(T), std::is_floating_point_v<T>);
    return {reinterpret_cast<const T*>(values.data()), values.size() / sizeof(T)};
  }
  /// Text `i`. Texts are numbered over all rows: row `i` of a ragged column has texts [offsets[i],
  /// offsets[i + 1]). Needs: a column of `bytes`.
  std::string_view text(std::size_t i) const noexcept {
    return as_chars(values.subspan(static_cast<std::size_t>(text_offsets[i]),
                                   static_cast<std::size_t>(text_offsets[i + 1] - text_offsets[i])));
  }
};

/// Column `i` of a schema, in a slab of this layout. Needs: the layout is one of the schema.
DOVETAIL_EXPORT ColumnView view_column(const Schema& schema, const ColumnLayout& layout, ByteView slab,
                                       std::size_t i) noexcept;

/// Decodes records of tf.train.Example into columns of a slab, without an object per record.
///
/// Records are parsed as protobuf does. Of entries with the same name the last one counts. Lists in
/// pieces are concatenated. Unknown fields are skipped.
///
/// - int64_list fills integer columns. It also fills f32 and f64 columns of a fixed shape if the
///   numbers are exact there.
/// - float_list fills floating-point columns, converted to their width.
/// - A value of bytes_list fills a text. It also fills any other row with exactly as many bytes,
///   which are taken unchanged (little endian).
/// - Numbers that do not fit are errors. So is a number of values other than that of the shape.
///
/// Ownership: the caller owns the slab. Records must stay valid until `finish` or `keep`.
/// Threads:   one thread at a time; copies of a decoder are independent.
/// Errors:    `invalid_option` for a record that does not fit, naming row, column and byte, or the
///            features that it has; `bad_message` for a record that is not an Example;
///            `batch_too_large` for a slab that is too small, naming the size needed.
/// Cost:      no allocation per record, once its memory has grown to the largest batch. Beside the
///            slab, it takes up to the size of a batch's ragged integers. Fastest if the features
///            of all records come in the same order, each once, with packed numbers.
class DOVETAIL_EXPORT ColumnDecoder {
 public:
  /// Errors: those of `validate`.
  static Result<ColumnDecoder> make(Schema schema);

  ColumnDecoder(const ColumnDecoder& other);
  ColumnDecoder(ColumnDecoder&&) noexcept;
  ColumnDecoder& operator=(ColumnDecoder other) noexcept;
  ~ColumnDecoder();

  const Schema& schema() const noexcept;
  // Sizes in bytes; sizes of 2^60 and more are given as 2^60.

  /// Size of `rows` rows without the content of ragged columns and texts. A schema without these
  /// takes no more.
  std::uint64_t fixed_bytes(std::uint32_t rows) const noexcept;
  /// Largest size of `rows` rows, for records of at most `record_bytes` bytes each.
  std::uint64_t most_bytes(std::uint32_t rows, std::uint64_t record_bytes) const noexcept;
  /// Least and most memory that the decoder itself holds while it decodes `rows` rows, except what
  /// a single record takes meanwhile. 0 without ragged columns and texts.
  std::uint64_t least_held_bytes(std::uint32_t rows) const noexcept;
  std::uint64_t most_held_bytes(std::uint32_t rows, std::uint64_t record_bytes) const noexcept;
  /// Memory that it holds for the current batch.
  std::uint64_t held_bytes() const noexcept;
  /// Memory that it has allocated for this, and keeps for the next batch.
  std::uint64_t memory_bytes() const noexcept;

  /// Decodes a batch, one row per record. A record without data (`ByteView()`) gives zeros and
  /// empty rows. The layout is valid until the next call.
  Result<const ColumnLayout*> decode(std::span<const ByteView> records, std::span<std::byte> slab);

  // The same in steps, for records that come in any order and do not stay valid.

  /// Needs: `slab` begins at a multiple of 8.
  Result<void> begin(std::uint32_t rows, std::span<std::byte> slab);
  /// Adds a row; call it for every row once. After an error the row is as `add_empty` leaves it.
  Result<void> add(std::uint32_t row, ByteView record);
  /// Adds a row that `fill` writes, in place of the features of a record. Errors: those of `fill`,
  /// and `invalid_option` for a column that it did not set and that has no fallback.
  Result<void> add(std::uint32_t row, const std::function<Result<void>(RowWriter&)>& fill);
  /// Fills a row with zeros, and with nothing in ragged columns and texts.
  void add_empty(std::uint32_t row) noexcept;
  /// Copies a row that was added to another one.
  void copy_row(std::uint32_t from, std::uint32_t to) noexcept;
  /// Copies what is still needed of the records added so far. They need not stay valid any longer.
  void keep();
  /// Size that the slab must have. Needs: every row was added.
  std::uint64_t bytes() const noexcept;
  /// Writes ragged columns and texts, and zeros between parts. Needs: the first `fixed_bytes` of
  /// `slab` are unchanged, here or copied elsewhere.
  Result<const ColumnLayout*> finish(std::span<std::byte> slab);

 private:
  class DOVETAIL_HIDDEN Impl;
  explicit ColumnDecoder(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dovetail
