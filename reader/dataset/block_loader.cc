// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/block_loader.h"

#include <new>
#include <string>

#include <boost/system/errc.hpp>

#include "format/snappy_decoder.h"
#include "format/structures.h"
#include "format/try.h"
#include "reader/dataset/stored_block.h"

namespace dovetail::detail {
namespace {

Error with_records(const Error& error, const ShardFile& shard, std::size_t block) {
  std::string detail = error.detail();
  if (!detail.empty()) detail += "; ";
  detail += "it holds records [" + std::to_string(shard.first_record(block)) + ", " +
            std::to_string(shard.first_record(block + 1)) + ")";
  return Error(error.code(), detail).at(shard.file().path(), shard.blocks()[block].offset);
}

}  // namespace

Result<std::span<std::byte>> ReusableBuffer::take(std::size_t bytes) {
  if (bytes > capacity_) {
    bytes_.reset();
    capacity_ = 0;
    bytes_.reset(new (std::nothrow) std::byte[bytes]);
    if (bytes_ == nullptr) {
      return Error(boost::system::errc::make_error_code(boost::system::errc::not_enough_memory),
                   std::to_string(bytes) + " bytes are needed for one block");
    }
    capacity_ = bytes;
  }
  return std::span(bytes_.get(), bytes);
}

Result<format::BlockRecords> BlockLoader::load(const ShardFile& shard, std::size_t block) {
  const format::IndexEntry& entry = shard.blocks()[block];
  auto records = load_once(shard, block);
  if (records || records.error().kind() != ErrorKind::damaged) return records;

  // A bad transfer and a bad page of the cache look like damage on storage, but only damage stays
  // after a second read.
  shard.file().drop_cache(entry.offset, stored_bytes(shard, block));
  records = load_once(shard, block);
  if (records || records.error().kind() != ErrorKind::damaged) return records;
  if (auto same = shard.file().check_unchanged(); !same) return same.error().at(shard.file().path(), entry.offset);
  return with_records(records.error(), shard, block);
}

Result<format::BlockRecords> BlockLoader::load_once(const ShardFile& shard, std::size_t block) {
  const format::IndexEntry& entry = shard.blocks()[block];
  const std::string& path = shard.file().path();
  padding_ = {};

  const std::uint64_t body_end = stored_bytes(shard, block);
  const std::uint64_t padded = shard.framing() == Framing::blocks ? entry.span_bytes() : body_end;
  auto stored = stored_.take(padded);
  if (!stored) return stored.error().at(path, entry.offset);
  DOVETAIL_TRY(shard.file().read(entry.offset, *stored));

  std::span<std::byte> decoded;
  if (const std::uint64_t bytes = decoded_bytes(shard, block); bytes > 0) {
    auto taken = decoded_.take(bytes + format::kDecodeSlack);
    if (!taken) return taken.error().at(path, entry.offset);
    decoded = *taken;
  }
  auto records = decode_stored(shard, block, stored->first(body_end), decoded);
  if (records) padding_ = stored->subspan(body_end);
  return records;
}

}  // namespace dovetail::detail
