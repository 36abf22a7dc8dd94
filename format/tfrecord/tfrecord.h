// SPDX-License-Identifier: Apache-2.0
// TFRecord framing: u64 length, masked CRC32C of the length, the record, masked CRC32C of the
// record. No header, no end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

namespace dovetail::format {

inline constexpr std::size_t kTfrecordHeaderBytes = 12;
inline constexpr std::size_t kTfrecordFooterBytes = 4;
/// Bytes that each record takes besides its own.
inline constexpr std::uint32_t kTfrecordFrameBytes = kTfrecordHeaderBytes + kTfrecordFooterBytes;

/// The bytes before and after a record.
void encode_tfrecord_header(std::uint64_t record_bytes, std::span<std::byte, kTfrecordHeaderBytes> out) noexcept;
void encode_tfrecord_footer(ByteView record, std::span<std::byte, kTfrecordFooterBytes> out) noexcept;

/// Returns the length in a header, or nothing if its CRC does not match: a wrong length must not be
/// used.
std::optional<std::uint64_t> decode_tfrecord_header(std::span<const std::byte, kTfrecordHeaderBytes> in) noexcept;
/// Returns whether the CRC in a footer is that of `record`.
bool check_tfrecord_footer(ByteView record, std::span<const std::byte, kTfrecordFooterBytes> in) noexcept;

/// Cuts a stream of bytes, given piece by piece, into the records of a TFRecord file; checks both
/// CRCs of each.
///
/// Ownership: borrows the piece that was fed; copies only records that span pieces. A record that
///            was given is valid until the next call.
/// Threads:   none.
/// Errors:    carry neither file nor offset; `record_offset()` is where the failed record begins.
///            The first error is final unless `can_skip()`, because a TFRecord has no marks to
///            resume from.
/// Cost:      memory for at most one record, and never more than was fed, however large a claimed
///            length is.
class TfrecordScanner {
 public:
  explicit TfrecordScanner(std::uint32_t max_record_bytes) : max_record_bytes_(max_record_bytes) {}

  /// Feeds the next bytes. Needs: `next()` has returned nothing.
  void feed(ByteView piece) noexcept { piece_ = piece; }

  /// Returns the next record, or nothing if the record needs more bytes.
  /// Errors: `tfrecord_checksum`, `record_too_large`.
  Result<std::optional<ByteView>> next();

  /// Call `finish` after the last bytes were fed. Errors: `truncated` inside a record or its
  /// header.
  Result<void> finish() const;

  /// Returns the footer of the record that `next()` returned last. Needs: no call of `next()` since
  /// then.
  std::span<const std::byte, kTfrecordFooterBytes> footer() const noexcept {
    return footer_.first<kTfrecordFooterBytes>();
  }
  /// Returns whether only the bytes of the last record were wrong. Its length was correct, so the
  /// next record can be found.
  bool can_skip() const noexcept { return can_skip_; }
  /// Skips that record, which counts as returned, and clears the error. Needs: `can_skip()`.
  void skip_record() noexcept;

  /// Number of records returned so far.
  std::uint64_t records() const noexcept { return records_; }
  /// Offset in the stream of the record that `next()` last looked for, whether it was complete, cut
  /// or damaged.
  std::uint64_t record_offset() const noexcept { return record_offset_; }

 private:
  Result<std::optional<ByteView>> scan();
  Result<void> read_header();
  std::optional<ByteView> gather(std::uint64_t bytes);

  std::uint32_t max_record_bytes_;
  ByteView piece_;                       // the unused rest of the piece
  std::vector<std::byte> held_;          // parts of a header, or of record and footer, from earlier pieces
  std::optional<std::uint64_t> length_;  // of the record whose header was read
  ByteView footer_;
  std::uint64_t records_ = 0;
  std::uint64_t record_offset_ = 0;
  std::uint64_t next_offset_ = 0;
  bool given_ = false;  // the bytes held belong to the caller until the next call
  bool can_skip_ = false;
  std::optional<Error> failure_;
};

}  // namespace dovetail::format
