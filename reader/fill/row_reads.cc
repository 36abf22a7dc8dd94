// SPDX-License-Identifier: Apache-2.0
#include "reader/fill/row_reads.h"

#include <span>
#include <vector>

#include "format/block_decoder.h"
#include "format/snappy_decoder.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

/// If the encoded block was read to the memory of its row, copies it first, because decoding writes
/// there.
Result<void> decode_record(const RowRead& read) {
  ByteView stored = read.into;
  if (read.into.data() == read.record.data()) {
    thread_local std::vector<std::byte> scratch;  // per thread, so that it stays in the caches
    scratch.assign(read.into.begin(), read.into.end());
    stored = scratch;
  }
  return decode_single(*read.file, read.block, stored, read.record);
}

}  // namespace

void check_record(RowRead& read, Storage& storage) {
  const auto check = [&] {
    if (read.is_encoded()) return decode_record(read);
    const ReadInto into = read.destination();
    return check_single(*read.file, read.block, into.first, into.second);
  };
  const Result<void> good =
      check_twice(*read.file, read.block, read.read, read.destination(), storage, read.retried, check);
  if (!good.has_value()) read.damage = good.error();
}

Result<ByteView> record_of_block(const ShardFile& file, std::size_t block, std::uint64_t record,
                                 const Result<void>& read, std::span<std::byte> stored, AlignedBuffer& decoded,
                                 Storage& storage, FillCounts& counts) {
  const std::uint64_t needed = decoded_bytes(file, block) + format::kDecodeSlack;
  if (decoded.size() < needed) decoded = AlignedBuffer(static_cast<std::size_t>(needed));
  const std::span<std::byte> into(decoded.data(), decoded.size());
  const auto decode = [&]() -> Result<ByteView> {
    DOVETAIL_ASSIGN(const format::BlockRecords records, decode_stored(file, block, stored, into));
    return records[static_cast<std::uint32_t>(record - file.first_record(block))];
  };
  return check_twice(file, block, read, ReadInto{stored}, storage, counts.retried_reads, decode);
}

}  // namespace dovetail::detail
