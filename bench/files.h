// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/structures.h"

namespace dovetail::bench {

/// A file that is read at any offset. Throws what fails, with the name of the file.
///
/// Ownership: owns the descriptor; move-only.
class ReadFile {
 public:
  /// `flags` are added to those of reading.
  explicit ReadFile(const std::string& path, int flags = 0);
  ReadFile(ReadFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), bytes_(other.bytes_) {}
  ReadFile& operator=(ReadFile&&) = delete;
  ~ReadFile();

  int fd() const noexcept { return fd_; }
  std::uint64_t size() const noexcept { return bytes_; }
  /// As many bytes as there are from `offset` on, at most those of `out`.
  std::size_t read_some(std::uint64_t offset, std::span<std::byte> out) const;
  /// Throws where the file ends before `out` is full.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  /// The same with one call into two places, one after the other.
  void read_two(std::uint64_t offset, std::span<std::byte> first, std::span<std::byte> second) const;

 private:
  std::string path_;
  int fd_;
  std::uint64_t bytes_;
};

/// The files of a folder that end in `suffix`, by name.
std::vector<std::string> files_in(const std::string& folder, std::string_view suffix);
/// Every `world`th of them from number `rank` on.
std::vector<std::string> share_of(const std::vector<std::string>& files, std::uint32_t rank, std::uint32_t world);
/// Shards of a folder of Dovetail, without the manifest.
std::vector<std::string> shards_in(const std::string& folder);

/// The index of a shard.
std::vector<format::IndexEntry> read_index(const ReadFile& shard);

/// The block header that an index entry stands for, with what is needed to decode the body.
format::BlockHeader header_of(const format::IndexEntry& entry);

}  // namespace dovetail::bench
