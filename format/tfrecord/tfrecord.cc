// SPDX-License-Identifier: Apache-2.0
#include "format/tfrecord/tfrecord.h"

#include <algorithm>
#include <string>
#include <utility>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/try.h"

namespace dovetail::format {

namespace {

constexpr std::size_t kLengthBytes = 8;

std::string record_name(std::uint64_t number) {
  return "record " + std::to_string(number);
}

}  // namespace

void encode_tfrecord_header(std::uint64_t record_bytes, std::span<std::byte, kTfrecordHeaderBytes> out) noexcept {
  store_le(out.data(), record_bytes);
  store_le(out.data() + kLengthBytes, mask_crc(crc32c(out.first<kLengthBytes>())));
}

void encode_tfrecord_footer(ByteView record, std::span<std::byte, kTfrecordFooterBytes> out) noexcept {
  store_le(out.data(), mask_crc(crc32c(record)));
}

std::optional<std::uint64_t> decode_tfrecord_header(std::span<const std::byte, kTfrecordHeaderBytes> in) noexcept {
  const auto crc = load_le<std::uint32_t>(in.data() + kLengthBytes);
  if (unmask_crc(crc) != crc32c(in.first<kLengthBytes>())) return std::nullopt;
  return load_le<std::uint64_t>(in.data());
}

bool check_tfrecord_footer(ByteView record, std::span<const std::byte, kTfrecordFooterBytes> in) noexcept {
  return unmask_crc(load_le<std::uint32_t>(in.data())) == crc32c(record);
}

Result<std::optional<ByteView>> TfrecordScanner::next() {
  if (failure_) return *failure_;
  Result<std::optional<ByteView>> record = scan();
  if (!record) failure_ = record.error();
  return record;
}

Result<std::optional<ByteView>> TfrecordScanner::scan() {
  record_offset_ = next_offset_;
  if (std::exchange(given_, false)) held_.clear();
  if (!length_) {
    DOVETAIL_TRY(read_header());
    if (!length_) return std::nullopt;
  }
  const std::optional<ByteView> frame = gather(*length_ + kTfrecordFooterBytes);
  if (!frame) return std::nullopt;
  const ByteView record = frame->first(static_cast<std::size_t>(*length_));
  footer_ = frame->last(kTfrecordFooterBytes);
  if (!check_tfrecord_footer(record, footer())) {
    can_skip_ = true;
    return Error(Errc::tfrecord_checksum, record_name(records_) + ": the CRC of its bytes does not match");
  }
  ++records_;
  next_offset_ += kTfrecordHeaderBytes + frame->size();
  length_.reset();
  given_ = true;
  return record;
}

void TfrecordScanner::skip_record() noexcept {
  can_skip_ = false;
  failure_.reset();
  ++records_;
  next_offset_ += kTfrecordHeaderBytes + length_.value_or(0) + kTfrecordFooterBytes;
  length_.reset();
  given_ = true;
}

Result<void> TfrecordScanner::read_header() {
  const std::optional<ByteView> header = gather(kTfrecordHeaderBytes);
  if (!header) return {};
  const auto length = decode_tfrecord_header(header->first<kTfrecordHeaderBytes>());
  if (!length) return Error(Errc::tfrecord_checksum, record_name(records_) + ": the CRC of its length does not match");
  if (*length > max_record_bytes_) {
    return Error(Errc::record_too_large, record_name(records_) + " has " + std::to_string(*length) +
                                             " bytes; the limit is " + std::to_string(max_record_bytes_));
  }
  length_ = length;
  held_.clear();
  return {};
}

// Returns `bytes` consecutive bytes: a view of the piece if it holds them all, otherwise a view of
// `held_`.
std::optional<ByteView> TfrecordScanner::gather(std::uint64_t bytes) {
  if (held_.empty() && piece_.size() >= bytes) {
    const ByteView whole = piece_.first(static_cast<std::size_t>(bytes));
    piece_ = piece_.subspan(whole.size());
    return whole;
  }
  const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - held_.size(), piece_.size()));
  held_.insert(held_.end(), piece_.begin(), piece_.begin() + static_cast<std::ptrdiff_t>(used));
  piece_ = piece_.subspan(used);
  if (held_.size() < bytes) return std::nullopt;
  return ByteView(held_);
}

Result<void> TfrecordScanner::finish() const {
  if (failure_) return *failure_;
  const std::size_t held = given_ ? 0 : held_.size();
  if (!length_) {
    if (held == 0) return {};
    return Error(Errc::truncated, record_name(records_) + ": the input ends after " + std::to_string(held) + " of " +
                                      std::to_string(kTfrecordHeaderBytes) + " header bytes");
  }
  return Error(Errc::truncated, record_name(records_) + ": the input ends after " + std::to_string(held) + " of " +
                                    std::to_string(*length_ + kTfrecordFooterBytes) + " bytes of record and CRC");
}

}  // namespace dovetail::format
