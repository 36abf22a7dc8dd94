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

namespace dovetail {

namespace format {
class ColumnRows;
}  // namespace format

/// One row of the columns of a batch, while a transform fills it.
///
/// Every column must be set once. A column that is not set gets its fallback; without a fallback
/// the row is rejected.
class DOVETAIL_EXPORT RowWriter {
 public:
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  /// The columns, `ReaderOptions::columns`.
  const Schema& schema() const noexcept;

  /// Memory of a row of fixed size, in the slot itself. Counts as set: write all of it, since it
  /// holds bytes of other batches. Empty for a ragged column and for texts.
  std::span<std::byte> bytes(std::size_t column) noexcept;
  /// The same as values. Errors: as `ColumnView::as`; an exception rejects the record.
  template <class T>
  std::span<T> values(std::size_t column) {
    const std::span<std::byte> row = bytes(column);
    if (!row.empty()) check_type(schema().columns[column], sizeof(T), std::is_floating_point_v<T>);
    return {reinterpret_cast<T*>(row.data()), row.size() / sizeof(T)};
  }

  /// Copies a row: exactly its bytes where the size is fixed, whole items of a ragged column, the
  /// characters of a text. Errors: `invalid_option` for another size, or a column of several texts.
  Result<void> set(std::size_t column, ByteView row);
  /// Copies one row of a `bytes[*]` column. Errors: `invalid_option` for another column.
  Result<void> set_texts(std::size_t column, std::span<const std::string_view> texts);

 private:
  friend class ColumnDecoder;
  RowWriter(const Schema& schema, format::ColumnRows& rows, std::vector<bool>& is_set, std::uint32_t row) noexcept
      : schema_(schema), rows_(rows), is_set_(is_set), row_(row) {}

  const Schema& schema_;
  format::ColumnRows& rows_;
  std::vector<bool>& is_set_;
  std::uint32_t row_;
};

/// The record that a row is made from. Ownership: borrowed until its row is written.
struct DOVETAIL_EXPORT TransformInput {
  ByteView record;
  std::uint64_t id = 0;
  // With the id these make a seed for random changes, the same in every world and after a resume.
  std::uint64_t seed = 0;  ///< `PlanOptions::seed`
  std::uint32_t epoch = 0;
};

/// Work on every record between decoding and delivery: turns a record into a row of
/// `ReaderOptions::columns`. Either `fill` or `fill_batch` does it.
///
/// Threads: the reader's own (`ReaderOptions::decode_threads`), never one of the trainer; several
///          at a time, one batch each. So at most `prefetch + max_held` calls run at once. They
///          must not call or destroy the reader. `stop` waits for the calls that run, and not for the
///          other records of their batches.
/// Errors:  an error, or an exception, rejects the record: `OnDamage` decides, as for a record that
///          does not fit its columns. `std::bad_alloc` ends the reader.
/// Cost:    one indirect call per record.
struct DOVETAIL_EXPORT Transform {
  std::function<Result<void>(const TransformInput&, RowWriter&)> fill;
  /// Called before calls of `fill` that follow each other on one thread; what it returns is
  /// destroyed after them. For a lock that is too expensive to take per record. May be null. May
  /// throw only `std::bad_alloc`, which ends the reader.
  std::function<std::shared_ptr<void>()> scope;

  /// Writes the row of record `i` of a batch.
  using FillRow = std::function<Result<void>(std::size_t i, RowWriter&)>;
  /// For work on all records of a batch in one call. Gets at least one record, in the order of the
  /// rows, without damaged records and rows that have no planned record. The function that it
  /// returns is called once for each of them, in this order and on the same thread, unless one ends
  /// the reader. Then it is destroyed.
  ///
  /// Errors: an error of this function rejects all these records; one of a `FillRow` its record.
  /// Cost:   one indirect call per batch, and one per record. Records that wait for others of their
  ///         batch may be copied, beside `memory_bytes`: up to a batch for each call that runs.
  std::function<Result<FillRow>(std::span<const TransformInput>)> fill_batch;

  explicit operator bool() const noexcept { return fill != nullptr || fill_batch != nullptr; }
};

}  // namespace dovetail
