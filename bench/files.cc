// SPDX-License-Identifier: Apache-2.0
#include "bench/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "format/layout.h"
#include "format/shard_decoder.h"

namespace dovetail::bench {

ReadFile::ReadFile(const std::string& path, int flags)
    : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags)), bytes_(0) {
  struct stat status {};
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) throw std::system_error(errno, std::generic_category(), path);
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}

ReadFile::~ReadFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::size_t ReadFile::read_some(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  // Not asked again at the end: past the page cache, an offset there would not be aligned.
  while (done < out.size() && offset + done < bytes_) {
    const ssize_t got = ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category(), path_);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void ReadFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (read_some(offset, out) != out.size()) throw std::runtime_error(path_ + " ends too early");
}

void ReadFile::read_two(std::uint64_t offset, std::span<std::byte> first, std::span<std::byte> second) const {
  const std::array<iovec, 2> parts{{{first.data(), first.size()}, {second.data(), second.size()}}};
  const ssize_t got = ::preadv(fd_, parts.data(), static_cast<int>(parts.size()), static_cast<off_t>(offset));
  if (got == static_cast<ssize_t>(first.size() + second.size())) return;
  read(offset, first);
  read(offset + first.size(), second);
}

std::vector<std::string> files_in(const std::string& folder, std::string_view suffix) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().string().ends_with(suffix)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> share_of(const std::vector<std::string>& files, std::uint32_t rank, std::uint32_t world) {
  std::vector<std::string> share;
  for (std::size_t i = rank; i < files.size(); i += world) share.push_back(files[i]);
  return share;
}

std::vector<std::string> shards_in(const std::string& folder) {
  std::vector<std::string> files = files_in(folder, format::kShardSuffix);
  std::erase_if(files, [](const std::string& path) { return path.ends_with(format::kManifestName); });
  return files;
}

std::vector<format::IndexEntry> read_index(const ReadFile& shard) {
  std::vector<std::byte> tail(static_cast<std::size_t>(std::min<std::uint64_t>(shard.size(), format::kTailBytes)));
  shard.read(shard.size() - tail.size(), tail);
  const format::ShardTail ends = format::decode_tail(tail, shard.size()).value();
  std::vector<std::byte> index(ends.trailer.footer_offset - ends.footer.index_offset);
  shard.read(ends.footer.index_offset, index);
  return format::decode_index(index, ends).value();
}

format::BlockHeader header_of(const format::IndexEntry& entry) {
  return {.codec = entry.codec,
          .offset = entry.offset,
          .records = entry.records,
          .stored_bytes = entry.stored_bytes,
          .raw_bytes = entry.raw_bytes,
          .table_bytes = entry.table_bytes,
          .payload_crc = entry.payload_crc};
}

}  // namespace dovetail::bench
