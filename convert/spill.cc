// SPDX-License-Identifier: Apache-2.0
#include "convert/spill.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/try.h"
#include "sources/bytes/unnamed_file.h"

namespace dovetail::detail {

namespace {

using format::load_le;
using format::store_le;

// The header of a chunk: the offset of the chunk before it, the number of bytes behind the header,
// and the CRC32C of these two fields and the bytes.
constexpr std::size_t kChunkHeader = 24;
constexpr std::size_t kLeastChunk = std::size_t{4} << 10;
constexpr std::size_t kMostChunk = std::size_t{1} << 20;

// An I/O error: the disk is at fault and not the input, so another try may succeed.
Error lost(const char* what) {
  return Error::from_errno(EIO, what);
}

void store_head(std::byte* to, const SpilledHead& head, std::size_t length) {
  store_le(to, head.key);
  store_le(to + 8, head.place);
  store_le(to + 16, head.ordinal);
  store_le(to + 24, head.source);
  store_le(to + 28, head.output);
  store_le(to + 32, static_cast<std::uint64_t>(length));
}

SpilledHead load_head(const std::byte* from) {
  return {.key = load_le<std::uint64_t>(from),
          .source = load_le<std::uint32_t>(from + 24),
          .place = load_le<std::uint64_t>(from + 8),
          .ordinal = load_le<std::uint64_t>(from + 16),
          .output = load_le<std::uint32_t>(from + 28)};
}

std::uint32_t crc_of(ByteView header, ByteView first, ByteView second) {
  return format::crc32c(second, format::crc32c(first, format::crc32c(header.first(16))));
}

}  // namespace

Result<std::unique_ptr<Spill>> Spill::create(const OutputFolder& folder, std::size_t buckets,
                                             std::uint64_t buffer_bytes) {
  const std::uint64_t chunk = buffer_bytes / std::max<std::size_t>(buckets, 1);
  if (chunk < kLeastChunk) {
    return Error(Errc::budget_too_small, "a shuffle into " + std::to_string(buckets) +
                                             " buckets needs memory_bytes of " + std::to_string(buckets * kLeastChunk) +
                                             " at least");
  }
  const auto chunk_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(chunk, kMostChunk));
  DOVETAIL_ASSIGN(auto file, open_unnamed(folder));
  return std::unique_ptr<Spill>(
      new Spill(std::move(file), folder.path_of("(temporary records)"), buckets, chunk_bytes));
}

Spill::Spill(Descriptor file, std::string path, std::size_t buckets, std::size_t chunk_bytes)
    : file_(std::move(file)), path_(std::move(path)), buckets_(buckets), chunk_bytes_(chunk_bytes) {}

Result<void> Spill::add(std::size_t number, const SpilledHead& head, ByteView record) {
  Bucket& bucket = buckets_[number];
  const std::lock_guard lock(bucket.mutex);
  ++bucket.records;
  bucket.bytes += record.size();
  const std::size_t needed = kHeadBytes + record.size();
  if (bucket.buffer.size() > kChunkHeader && bucket.buffer.size() + needed > chunk_bytes_) {
    DOVETAIL_TRY(write_chunk(bucket, {}));
  }
  if (bucket.buffer.empty()) {
    bucket.buffer.reserve(chunk_bytes_);
    bucket.buffer.resize(kChunkHeader);
  }
  const std::size_t at = bucket.buffer.size();
  bucket.buffer.resize(at + kHeadBytes);
  store_head(bucket.buffer.data() + at, head, record.size());
  if (bucket.buffer.size() + record.size() > chunk_bytes_) return write_chunk(bucket, record);
  bucket.buffer.insert(bucket.buffer.end(), record.begin(), record.end());
  return {};
}

// Writes the buffered records, and then `rest`, which is too large to buffer.
Result<void> Spill::write_chunk(Bucket& bucket, ByteView rest) {
  std::byte* const header = bucket.buffer.data();
  const ByteView waiting = ByteView(bucket.buffer).subspan(kChunkHeader);
  store_le(header, bucket.last_chunk);
  store_le(header + 8, static_cast<std::uint64_t>(waiting.size() + rest.size()));
  store_le(header + 16, std::uint64_t{crc_of(ByteView(bucket.buffer).first(kChunkHeader), waiting, rest)});
  std::uint64_t offset = 0;
  {
    const std::lock_guard lock(end_mutex_);
    offset = end_;
    end_ += bucket.buffer.size() + rest.size();
  }
  bucket.last_chunk = offset;
  for (ByteView part : {ByteView(bucket.buffer), rest}) {
    while (!part.empty()) {
      const ssize_t written = ::pwrite(file_.number(), part.data(), std::min(part.size(), std::size_t{1} << 30),
                                       static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Error::from_errno(errno, "cannot write records to a temporary file").at(path_, offset);
      offset += static_cast<std::uint64_t>(written);
      part = part.subspan(static_cast<std::size_t>(written));
    }
  }
  bucket.buffer.resize(kChunkHeader);
  return {};
}

Result<void> Spill::flush() {
  for (Bucket& bucket : buckets_) {
    if (bucket.buffer.size() > kChunkHeader) {
      DOVETAIL_TRY(write_chunk(bucket, {}));
    }
    bucket.buffer = std::vector<std::byte>();  // `= {}` would keep its memory
  }
  return {};
}

Result<void> Spill::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got =
        ::pread(file_.number(), out.data(), std::min(out.size(), std::size_t{1} << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, "cannot read").at(path_, offset);
    if (got == 0) return lost("records in a temporary file are missing").at(path_, offset);
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

Result<void> Spill::read(std::size_t number,
                         const std::function<bool(const SpilledHead& head, ByteView record)>& take) const {
  std::vector<std::byte> chunk;
  for (std::uint64_t offset = buckets_[number].last_chunk; offset != kNoChunk;) {
    std::array<std::byte, kChunkHeader> header;
    DOVETAIL_TRY(read_at(offset, header));
    const auto bytes = load_le<std::uint64_t>(header.data() + 8);
    const Error damaged = lost("records in a temporary file have changed").at(path_, offset);
    // The length is used before its CRC is checked, so it must be plausible.
    if (bytes > end_ || offset > end_ - bytes) return damaged;
    chunk.resize(static_cast<std::size_t>(bytes));
    DOVETAIL_TRY(read_at(offset + kChunkHeader, chunk));
    if (load_le<std::uint64_t>(header.data() + 16) != crc_of(header, chunk, {})) return damaged;
    for (ByteView rest = chunk; !rest.empty();) {
      const auto length = static_cast<std::size_t>(load_le<std::uint64_t>(rest.data() + 32));
      if (!take(load_head(rest.data()), rest.subspan(kHeadBytes, length))) return {};
      rest = rest.subspan(kHeadBytes + length);
    }
    offset = load_le<std::uint64_t>(header.data());
  }
  return {};
}

}  // namespace dovetail::detail
