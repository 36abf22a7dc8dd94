// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/block_loader.h"

#include <algorithm>
#include <new>
#include <string>

#include <boost/system/errc.hpp>

#include "format/layout.h"
#include "format/snappy_decoder.h"
#include "format/structures.h"

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

  // A bad transfer or a bad page of the cache looks the same as damage on storage; only the latter stays.
  shard.file().drop_cache(entry.offset, entry.span_bytes());
  records = load_once(shard, block);
  if (records || records.error().kind() != ErrorKind::damaged) return records;
  if (auto same = shard.file().check_unchanged(); !same) return same.error().at(shard.file().path(), entry.offset);
  return with_records(records.error(), shard, block);
}

Result<format::BlockRecords> BlockLoader::load_once(const ShardFile& shard, std::size_t block) {
  const format::IndexEntry& entry = shard.blocks()[block];
  const std::string& path = shard.file().path();
  padding_ = {};

  auto stored = stored_.take(entry.span_bytes());
  if (!stored) return stored.error().at(path, entry.offset);
  if (auto read = shard.file().read(entry.offset, *stored); !read) return read.error();

  auto header = format::decode_block_header(stored->first<format::kBlockHeaderBytes>());
  if (!header) return header.error();
  auto expected = format::check_block_header(*header, entry, shard.info().file_id, shard.sequence(block),
                                             shard.first_record(block));
  if (!expected) return expected.error();

  std::span<std::byte> decoded;
  if (header->codec != Codec::none) {
    auto taken = decoded_.take(header->raw_bytes + format::kDecodeSlack);
    if (!taken) return taken.error().at(path, entry.offset);
    decoded = *taken;
  }
  const ByteView body = stored->subspan(format::kBlockHeaderBytes);
  auto records = format::decode_block(*header, body.first(header->body_bytes()), decoded);
  if (records) padding_ = body.subspan(header->body_bytes());
  return records;
}

}  // namespace dovetail::detail
