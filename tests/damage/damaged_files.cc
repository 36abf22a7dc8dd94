// SPDX-License-Identifier: Apache-2.0
#include "tests/damage/damaged_files.h"

#include <algorithm>
#include <utility>

#include "format/layout.h"
#include "tests/format/golden_shards.h"

namespace dovetail::test {

using format::kAlignment;
using format::kBlockHeaderBytes;
using format::kFileHeaderBytes;
using format::kTrailerBytes;

namespace {

Piece piece_at(const Bytes& bytes, std::size_t offset) {
  const auto header = format::decode_block_header(ByteView(bytes).subspan(offset).first<kBlockHeaderBytes>()).value();
  return {offset, static_cast<std::size_t>(kBlockHeaderBytes + header.body_bytes()),
          static_cast<std::size_t>(header.span_bytes())};
}

/// The file with these blocks between its header and its trailer.
Bytes join(const SampleFile& sample, const std::vector<Piece>& blocks) {
  Bytes bytes = first_bytes(sample.bytes, kFileHeaderBytes);
  for (const Piece& block : blocks) {
    const ByteView view = sample.piece(block);
    bytes.insert(bytes.end(), view.begin(), view.end());
  }
  bytes.insert(bytes.end(), sample.bytes.end() - kTrailerBytes, sample.bytes.end());
  return bytes;
}

std::string two(const char* what, std::size_t i, const char* how, std::size_t j) {
  return what + std::to_string(i) + how + std::to_string(j);
}

}  // namespace

SampleFile::SampleFile(std::string sample_name, Bytes file) : name(std::move(sample_name)), bytes(std::move(file)) {
  decoded = read_shard(bytes).value();
  metadata = piece_at(bytes, kFileHeaderBytes);
  for (std::size_t at = metadata.offset; at + kTrailerBytes < bytes.size(); at += blocks.back().span) {
    blocks.push_back(piece_at(bytes, at));
  }
  for (const format::BlockHeader& block : decoded.blocks) data.push_back(piece_at(bytes, block.offset));
}

std::vector<Piece> SampleFile::parts() const {
  std::vector<Piece> parts = {{0, kFileHeaderBytes, kFileHeaderBytes}};
  parts.insert(parts.end(), blocks.begin(), blocks.end());
  parts.push_back({bytes.size() - kTrailerBytes, kTrailerBytes, kTrailerBytes});
  return parts;
}

SampleFile sample_of(std::string name, const ShardSpec& spec) {
  return {std::move(name), make_shard(spec).bytes};
}

ShardSpec of_pages(std::uint64_t seed) {
  ShardSpec spec{.run_records = 6};
  for (std::uint64_t i = 0; i < 60; ++i) spec.records.push_back(noise(i * 37 % 700, seed * 1000 + i));
  return spec;
}

ShardSpec with_other_bytes(ShardSpec spec) {
  for (std::string& record : spec.records) {
    for (char& c : record) c = static_cast<char>(c ^ 0x15);
  }
  return spec;
}

ShardSpec with_other_sizes(ShardSpec spec) {
  for (std::size_t i = 0; i < spec.records.size(); ++i) spec.records[i] = noise(i * 29 % 90, 7000 + i);
  return spec;
}

std::vector<SampleFile> layouts() {
  std::vector<SampleFile> samples;
  for (const GoldenShard& golden : golden_shards()) {
    if (golden.name != format::kManifestName) samples.emplace_back(golden.name, golden.bytes);
  }
  samples.push_back(sample_of("small", small_spec()));
  return samples;
}

Bytes::iterator at(Bytes& bytes, std::size_t offset) {
  return bytes.begin() + static_cast<std::ptrdiff_t>(offset);
}

Bytes first_bytes(const Bytes& bytes, std::size_t size) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

void cut(const Bytes& whole, std::size_t step, const Take& take) {
  for (std::size_t size = 0; size < whole.size(); size += step) {
    if (!take(first_bytes(whole, size), "cut to " + std::to_string(size) + " bytes")) return;
  }
}

void flip_bits(const Bytes& whole, std::size_t step, const Take& take) {
  Bytes bytes = whole;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += step) {
    const std::byte mask = std::byte{1} << (bit % 8);
    bytes[bit / 8] ^= mask;
    if (!take(bytes, "bit " + std::to_string(bit))) return;
    bytes[bit / 8] ^= mask;
  }
}

void change_bytes(const Bytes& whole, const Take& take) {
  Bytes bytes = whole;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const std::byte mask : {std::byte{0x01}, std::byte{0xFF}}) {
      bytes[i] = whole[i] ^ mask;
      if (!take(bytes, two("byte ", i, " changed by ", std::to_integer<std::size_t>(mask)))) return;
    }
    bytes[i] = whole[i];
  }
}

void append_bytes(const Bytes& whole, const Take& take) {
  for (const std::size_t more : {std::size_t{1}, kAlignment - 1, kAlignment, 2 * kAlignment, whole.size()}) {
    Bytes zeros = whole;
    zeros.resize(whole.size() + more);
    if (!take(zeros, two("", more, " zeros behind ", whole.size()))) return;
    Bytes repeated = whole;
    repeated.insert(repeated.end(), whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(more));
    if (!take(repeated, two("", more, " bytes of the beginning behind ", whole.size()))) return;
  }
}

void zero_pages(const Bytes& whole, std::size_t page, std::size_t step, const Take& take) {
  for (std::size_t begin = 0; begin < whole.size(); begin += step) {
    Bytes bytes = whole;
    std::fill_n(at(bytes, begin), std::min(page, bytes.size() - begin), std::byte{0});
    if (!take(bytes, two("", page, " bytes of zeros at ", begin))) return;
  }
}

void put_pages(const Bytes& whole, const Bytes& other, std::size_t page, const Take& take) {
  for (std::size_t begin = 0; begin < std::min(whole.size(), other.size()); begin += page) {
    const std::size_t size = std::min({page, whole.size() - begin, other.size() - begin});
    const auto from = other.begin() + static_cast<std::ptrdiff_t>(begin);
    Bytes bytes = whole;
    if (std::equal(from, from + static_cast<std::ptrdiff_t>(size), at(bytes, begin))) continue;
    std::copy_n(from, size, at(bytes, begin));
    if (!take(bytes, two("the other file's ", size, " bytes at ", begin))) return;
  }
}

void shift_bytes(const Bytes& whole, std::size_t size, const Take& take) {
  for (std::size_t place = 0; place <= whole.size(); place += kAlignment) {
    Bytes shorter = whole;
    shorter.erase(at(shorter, place), at(shorter, std::min(place + size, shorter.size())));
    if (!take(shorter, two("", size, " bytes dropped at ", place))) return;
    Bytes longer = whole;
    longer.insert(at(longer, place), size, std::byte{0xAB});
    if (!take(longer, two("", size, " bytes inserted at ", place))) return;
  }
}

void move_blocks(const SampleFile& sample, const Take& take) {
  for (std::size_t i = 0; i < sample.blocks.size(); ++i) {
    for (std::size_t j = 0; j < sample.blocks.size(); ++j) {
      std::vector<Piece> dropped = sample.blocks;
      dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
      if (i != j) dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
      if (!take(join(sample, dropped), two("blocks ", i, " and ", j) + " dropped")) return;
      std::vector<Piece> swapped = sample.blocks;
      std::swap(swapped[i], swapped[j]);
      if (!take(join(sample, swapped), two("blocks ", i, " and ", j) + " swapped")) return;
      std::vector<Piece> repeated = sample.blocks;
      repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(j), sample.blocks[i]);
      if (!take(join(sample, repeated), two("block ", i, " repeated before ", j))) return;
      std::vector<Piece> covered = sample.blocks;
      covered[j] = sample.blocks[i];
      if (!take(join(sample, covered), two("block ", i, " in the place of ", j))) return;
    }
  }
}

void put_blocks(const SampleFile& sample, const SampleFile& other, const Take& take) {
  for (std::size_t i = 0; i < sample.blocks.size(); ++i) {
    for (std::size_t j = 0; j < other.blocks.size(); ++j) {
      const ByteView block = other.piece(other.blocks[j]);
      const Piece& place = sample.blocks[i];
      Bytes inserted = sample.bytes;
      inserted.insert(at(inserted, place.offset), block.begin(), block.end());
      if (!take(inserted, two("block ", j, " of the other file before ", i))) return;
      Bytes replaced = sample.bytes;
      replaced.erase(at(replaced, place.offset), at(replaced, place.offset + place.span));
      replaced.insert(at(replaced, place.offset), block.begin(), block.end());
      if (!take(replaced, two("block ", j, " of the other file in the place of ", i))) return;
      if (place.offset + block.size() > sample.bytes.size()) continue;
      Bytes covered = sample.bytes;
      std::copy(block.begin(), block.end(), at(covered, place.offset));
      if (!take(covered, two("block ", j, " of the other file over ", i))) return;
    }
  }
}

void mix_parts(const SampleFile& sample, const SampleFile& other, const Take& take) {
  const std::vector<Piece> parts = sample.parts();
  if (other.bytes.size() != sample.bytes.size() || parts.size() > 12) return;
  for (std::size_t choice = 1; choice < std::size_t{1} << parts.size(); ++choice) {
    Bytes bytes = sample.bytes;
    std::string what = "parts of the other file:";
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if ((choice >> part & 1) == 0) continue;
      std::copy_n(other.bytes.begin() + static_cast<std::ptrdiff_t>(parts[part].offset), parts[part].span,
                  at(bytes, parts[part].offset));
      what += ' ' + std::to_string(part);
    }
    if (!take(bytes, what)) return;
  }
}

}  // namespace dovetail::test
