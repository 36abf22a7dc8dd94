// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/shard_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "format/guard_memory.h"
#include "format/layout.h"
#include "format/shard_decoder.h"
#include "format/try.h"
#include "reader/dataset/tfrecord_sidecar.h"

namespace dovetail::detail {

namespace {

Result<void> check_expected(const ShardInfo* expected, const ShardInfo& found, const std::string& path) {
  if (expected == nullptr) return {};
  if (auto same = check_shard_info(*expected, found); !same) return same.error().in_file(path);
  return {};
}

}  // namespace

Result<ShardFile> ShardFile::open(const std::string& path, const ShardInfo* expected) {
  return guard_memory(path, [&] {
    auto shard = open_shard(path, expected);
    if (shard) return shard;
    if (is_indexed_tfrecord(path, shard.error())) return open_tfrecord(path, expected);
    return Result<ShardFile>(of_lone_index(path, shard.error()));
  });
}

Result<ShardFile> ShardFile::open_shard(const std::string& path, const ShardInfo* expected) {
  DOVETAIL_ASSIGN(auto ends, read_shard_ends(path));
  DOVETAIL_TRY(check_expected(expected, ends.info(), path));
  DOVETAIL_TRY(check_in_its_place(path));
  ShardFile shard(std::move(ends));
  if (auto loaded = shard.load_index(); !loaded) return loaded.error().in_file(path);
  shard.ends_.tail_bytes = {};
  return shard;
}

Result<ShardFile> ShardFile::open_tfrecord(const std::string& path, const ShardInfo* expected) {
  DOVETAIL_ASSIGN(auto file, InputFile::open(path));
  DOVETAIL_ASSIGN(auto sidecar, read_sidecar(file, true));
  DOVETAIL_TRY(check_expected(expected, sidecar.facts.info, path));
  ShardEnds ends{std::move(file), {}, {}, {}};
  ends.header.dataset_id = sidecar.dataset_id;
  ends.tail.footer.info = std::move(sidecar.facts.info);
  ShardFile shard(std::move(ends));
  shard.framing_ = Framing::tfrecord;
  shard.metadata_ = std::move(sidecar.metadata);
  shard.blocks_ = std::move(sidecar.blocks);
  shard.count_records();
  return shard;
}

Result<void> ShardFile::load_index() {
  // Decoding the tail has checked that the index lies in the file and ends at the footer.
  const std::uint64_t begin = tail().footer.index_offset;
  const std::uint64_t end = tail().trailer.footer_offset;
  const std::uint64_t tail_begin = file().size() - ends_.tail_bytes.size();
  std::vector<std::byte> separate;
  ByteView index;
  if (begin >= tail_begin) {
    index = ByteView(ends_.tail_bytes).subspan(begin - tail_begin, end - begin);
  } else {
    separate.resize(end - begin);
    DOVETAIL_TRY(file().read(begin, separate));
    index = separate;
  }
  DOVETAIL_ASSIGN(auto blocks, format::decode_index(index, tail()));
  blocks_ = std::move(blocks);
  count_records();
  return {};
}

void ShardFile::count_records() {
  first_records_.reserve(blocks_.size() + 1);
  std::uint64_t records = 0;
  first_records_.push_back(0);
  for (const format::IndexEntry& block : blocks_) first_records_.push_back(records += block.records);
}

std::size_t ShardFile::block_of(std::uint64_t record) const noexcept {
  const auto next = std::upper_bound(first_records_.begin(), first_records_.end(), record);
  return static_cast<std::size_t>(next - first_records_.begin()) - 1;
}

Result<format::Metadata> ShardFile::read_metadata() const {
  if (framing_ == Framing::tfrecord) return metadata_;
  const std::string& path = file().path();
  constexpr std::uint64_t kOffset = format::kFileHeaderBytes;
  std::array<std::byte, format::kBlockHeaderBytes> header_bytes;
  DOVETAIL_TRY(file().read(kOffset, header_bytes));
  auto header = format::decode_block_header(header_bytes);
  if (!header) return header.error().at(path, kOffset);
  if (header->span_bytes() > data_offset() - kOffset) {
    return Error(Errc::bad_length, "the metadata block reaches into the data").at(path, kOffset);
  }
  return guard_memory(path, [&]() -> Result<format::Metadata> {
    std::vector<std::byte> block(header->span_bytes());
    DOVETAIL_TRY(file().read(kOffset, block));
    auto metadata = format::decode_metadata_block(block, info().file_id);
    if (!metadata) return metadata.error().at(path, kOffset);
    return metadata;
  });
}

}  // namespace dovetail::detail
