// SPDX-License-Identifier: Apache-2.0
#include "reader/fill/row_reads.h"

#include <span>
#include <vector>

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

}  // namespace dovetail::detail
