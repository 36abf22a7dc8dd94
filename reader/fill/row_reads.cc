// SPDX-License-Identifier: Apache-2.0
#include "reader/fill/row_reads.h"

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
  Result<void> good = read.read.has_value() ? check() : read.read;
  if (!good.has_value() && !storage.gave_up(good.error())) {
    ++read.retried;
    good = storage.read_again(read.file->file(), read.offset(), read.destination());
    if (good.has_value()) good = check();
  }
  if (!good.has_value()) read.damage = good.error().at(read.file->file().path(), read.offset());
}

Result<ByteView> record_of_block(const ShardFile& file, std::size_t block, std::uint64_t record,
                                 const Result<void>& read, std::span<std::byte> stored, std::vector<std::byte>& decoded,
                                 Storage& storage, FillCounts& counts) {
  const std::uint64_t needed = decoded_bytes(file, block) + format::kDecodeSlack;
  if (decoded.size() < needed) decoded.resize(static_cast<std::size_t>(needed));
  const auto decode = [&]() -> Result<ByteView> {
    DOVETAIL_ASSIGN(const format::BlockRecords records, decode_stored(file, block, stored, decoded));
    return records[static_cast<std::uint32_t>(record - file.first_record(block))];
  };
  Result<ByteView> found = read.has_value() ? decode() : Result<ByteView>(read.error());
  if (!found.has_value() && !storage.gave_up(found.error())) {
    ++counts.retried_reads;
    const std::uint64_t offset = file.blocks()[block].offset;
    const Result<void> again = storage.read_again(file.file(), offset, ReadInto{stored});
    found = again.has_value() ? decode() : Result<ByteView>(again.error());
  }
  if (!found.has_value()) return found.error().at(file.file().path(), file.blocks()[block].offset);
  return found;
}

}  // namespace dovetail::detail
