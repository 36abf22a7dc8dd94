// SPDX-License-Identifier: Apache-2.0
// TFRecord framing: u64 length, masked CRC32C of the length, the record, masked CRC32C of the record. No header, no
// end.
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
/// What each record takes beside its bytes.
inline constexpr std::uint32_t kTfrecordFrameBytes = kTfrecordHeaderBytes + kTfrecordFooterBytes;

/// What goes before and after the bytes of a record.
void encode_tfrecord_header(std::uint64_t record_bytes, std::span<std::byte, kTfrecordHeaderBytes> out) noexcept;
void encode_tfrecord_footer(ByteView record, std::span<std::byte, kTfrecordFooterBytes> out) noexcept;

/// The length in a header, or nothing where its CRC does not match: then it must not be used.
std::optional<std::uint64_t> decode_tfrecord_header(std::span<const std::byte, kTfrecordHeaderBytes> in) noexcept;
/// Whether the CRC in a footer is that of `record`.
bool check_tfrecord_footer(ByteView record, std::span<const std::byte, kTfrecordFooterBytes> in) noexcept;

/// Cuts a stream of bytes, given piece by piece, into the records of a TFRecord file; checks both CRCs of each.
///
/// Ownership: borrows the piece that was fed; copies only records that span pieces. A record that was given is valid
///            until the next call.
/// Threads:   none.
/// Errors:    carry neither file nor offset: `record_offset()` says where the record begins that failed. The first is
///            final, unless `can_skip()`; a TFRecord has no mark at which to go on.
/// Cost:      memory for one record at most, and never for more than was fed, whatever a length claims.
class TfrecordScanner {
 public:
  explicit TfrecordScanner(std::uint32_t max_record_bytes) : max_record_bytes_(max_record_bytes) {}

  /// Gives the bytes that follow. Needs: `next()` has asked for them by returning nothing.
  void feed(ByteView piece) noexcept { piece_ = piece; }

  /// The next record, or nothing where it needs more bytes than were fed.
  /// Errors: `tfrecord_checksum`, `record_too_large`.
  Result<std::optional<ByteView>> next();

  /// To be asked once no bytes are left to feed. Errors: `truncated` inside a record, a cut header included.
  Result<void> finish() const;

  /// The footer of the record that `next()` gave last. Needs: it gave one, and was not called since.
  std::span<const std::byte, kTfrecordFooterBytes> footer() const noexcept {
    return footer_.first<kTfrecordFooterBytes>();
  }
  /// Whether only the bytes of the last record were wrong: its length was good, so that the next one can be found.
  bool can_skip() const noexcept { return can_skip_; }
  /// Leaves that record out, which counts as given, and forgets the failure. Needs: `can_skip()`.
  void skip_record() noexcept;

  /// Records given so far.
  std::uint64_t records() const noexcept { return records_; }
  /// Offset in the stream of the record that `next()` was last asked for, whether it was there, cut or damaged.
  std::uint64_t record_offset() const noexcept { return record_offset_; }

 private:
  Result<std::optional<ByteView>> scan();
  Result<void> read_header();
  std::optional<ByteView> gather(std::uint64_t bytes);

  std::uint32_t max_record_bytes_;
  ByteView piece_;                       // what of the piece was not yet used
  std::vector<std::byte> held_;          // a header, or a record and footer, as far as it came in earlier pieces
  std::optional<std::uint64_t> length_;  // of the record whose header was read
  ByteView footer_;
  std::uint64_t records_ = 0;
  std::uint64_t record_offset_ = 0;
  std::uint64_t next_offset_ = 0;
  bool given_ = false;  // what is held belongs to the caller until the next call
  bool can_skip_ = false;
  std::optional<Error> failure_;
};

}  // namespace dovetail::format
