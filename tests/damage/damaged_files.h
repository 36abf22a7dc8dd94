// SPDX-License-Identifier: Apache-2.0
// Small shards of every layout, and every kind of damage done to them at every place.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/decoded_shards.h"

namespace dovetail::test {

inline constexpr std::size_t kPage = 4096;

/// A part of a file, and where it lies there.
struct Piece {
  std::size_t offset = 0;
  std::size_t bytes = 0;  ///< Without padding.
  std::size_t span = 0;
};

/// A whole shard, and where its parts lie.
struct SampleFile {
  std::string name;
  Bytes bytes;
  DecodedShard decoded;
  Piece metadata;
  std::vector<Piece> data;
  std::vector<Piece> blocks;  ///< Of all types, in the order of the file.

  /// Needs: a good shard.
  SampleFile(std::string sample_name, Bytes file);
  ByteView piece(const Piece& piece) const { return ByteView(bytes).subspan(piece.offset, piece.span); }
  /// Of file header, blocks and trailer, in order: together they are the file.
  std::vector<Piece> parts() const;
};
SampleFile sample_of(std::string name, const ShardSpec& spec);

/// Several pages; the same for the same seed.
ShardSpec of_pages(std::uint64_t seed);
/// The same dataset, number and sizes, with other bytes.
ShardSpec with_other_bytes(ShardSpec spec);
/// The same dataset and number, and nothing else in common.
ShardSpec with_other_sizes(ShardSpec spec);
/// The golden shards without the manifest, and a small one.
std::vector<SampleFile> layouts();

Bytes::iterator at(Bytes& bytes, std::size_t offset);
/// The beginning of a file.
Bytes first_bytes(const Bytes& bytes, std::size_t size);

/// Gets a damaged file and what was done to it; false ends the run.
using Take = std::function<bool(const Bytes& damaged, const std::string& what)>;

/// Cuts the file at every `step`-th length.
void cut(const Bytes& whole, std::size_t step, const Take& take);
/// Flips every `step`-th bit.
void flip_bits(const Bytes& whole, std::size_t step, const Take& take);
/// Flips the lowest bit of every byte, and all of its bits.
void change_bytes(const Bytes& whole, const Take& take);
/// Appends zeros, bytes of the beginning, and the whole file.
void append_bytes(const Bytes& whole, const Take& take);
/// Makes each `page` bytes zero that begin at a multiple of `step`.
void zero_pages(const Bytes& whole, std::size_t page, std::size_t step, const Take& take);
/// Puts each page of another file in the place of the one here; not where both are the same.
void put_pages(const Bytes& whole, const Bytes& other, std::size_t page, const Take& take);
/// Drops and inserts so many bytes at every multiple of 64.
void shift_bytes(const Bytes& whole, std::size_t size, const Take& take);
/// Drops every block and every two, swaps every two, puts each before and over every other.
void move_blocks(const SampleFile& sample, const Take& take);
/// Puts each block of another file before, in the place of, and over each block here.
void put_blocks(const SampleFile& sample, const SampleFile& other, const Take& take);
/// Takes header, blocks and trailer from either file, in every choice but the first. Nothing where
/// the files differ in size or have more than ten blocks.
void mix_parts(const SampleFile& sample, const SampleFile& other, const Take& take);

}  // namespace dovetail::test
