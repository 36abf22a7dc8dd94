// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/block_sample.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "format/try.h"
#include "reader/dataset/stored_block.h"

namespace dovetail::tools {

namespace {

using BenchClock = std::chrono::steady_clock;

/// The most shards that a sample opens. They stay open, and the reader that is measured needs the
/// other descriptors.
std::size_t most_shards() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  return std::clamp<std::size_t>(limit.rlim_cur / 16, 1, 16);
}

/// Whether a reader reads this record straight into its row.
constexpr std::uint32_t kDirectBytes = 16 << 10;
constexpr std::size_t kReadBytes = 256 << 10;
/// The share that opening a file may cache, by reading its ends.
constexpr double kColdShare = 0.05;

/// The shards with records, or some of them at equal distances.
std::vector<std::uint32_t> choose_shards(const Dataset& dataset) {
  std::vector<std::uint32_t> filled;
  for (std::uint32_t shard = 0; shard < dataset.shards().size(); ++shard) {
    if (dataset.shards()[shard].records > 0) filled.push_back(shard);
  }
  const std::size_t most = most_shards();
  if (filled.size() <= most) return filled;
  std::vector<std::uint32_t> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(filled[i * filled.size() / most]);
  return chosen;
}

bool is_direct(const detail::ShardFile& shard, std::size_t block) {
  return detail::is_single(shard, block) && !detail::is_encoded(shard, block) &&
         shard.blocks()[block].raw_bytes >= kDirectBytes;
}

/// The end of the piece that begins with block `first`.
std::size_t piece_end(const detail::ShardFile& shard, std::size_t first) {
  std::size_t end = first + 1;
  if (is_direct(shard, first)) return end;
  const std::uint64_t run = shard.first_record(first) / shard.info().run_records;
  while (end < shard.blocks().size() && shard.first_record(end) / shard.info().run_records == run &&
         !is_direct(shard, end)) {
    ++end;
  }
  return end;
}

/// Adds consecutive pieces from the middle of a shard.
void take_pieces(std::uint32_t file, std::uint64_t most_bytes, BlockSample& sample) {
  const detail::ShardFile& shard = sample.files[file];
  const std::size_t blocks = shard.blocks().size();
  std::size_t first = blocks / 2;
  std::size_t seen = 0;
  std::uint64_t bytes = 0;
  while (seen < blocks) {
    const std::size_t end = piece_end(shard, first);
    for (std::size_t block = first; block < end; ++block) {
      bytes += std::max<std::uint64_t>(detail::stored_bytes(shard, block), shard.blocks()[block].raw_bytes);
    }
    if (!sample.pieces.empty() && bytes > most_bytes) return;
    sample.pieces.push_back({file, first, end, is_direct(shard, first)});
    for (std::size_t block = first; block < end; ++block) {
      const std::uint64_t raw = shard.blocks()[block].raw_bytes;
      sample.raw_bytes += raw;
      sample.stored_bytes += detail::stored_bytes(shard, block);
      if (detail::is_encoded(shard, block)) sample.compressed_bytes += raw;
    }
    sample.blocks += end - first;
    seen += end - first;
    first = end < blocks ? end : 0;
  }
}

/// The share of a file's pages that are in the page cache. Negative if unknown: the system shows
/// every page as cached to users without write permission.
double cached_share(const detail::InputFile& file) {
  struct stat about {};
  if (file.size() == 0 || ::fstat(file.fd(), &about) != 0) return -1;
  if (about.st_uid != ::geteuid() && ::access(file.path().c_str(), W_OK) != 0) return -1;
  const auto bytes = static_cast<std::size_t>(file.size());
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.fd(), 0);
  if (mapped == MAP_FAILED) return -1;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  const bool known = ::mincore(mapped, bytes, pages.data()) == 0;
  ::munmap(mapped, bytes);
  if (!known) return -1;
  const auto cached = std::count_if(pages.begin(), pages.end(), [](unsigned char flags) { return (flags & 1) != 0; });
  return static_cast<double>(cached) / static_cast<double>(pages.size());
}

}  // namespace

Result<BlockSample> open_sample(const Dataset& dataset) {
  BlockSample sample;
  for (const std::uint32_t shard : choose_shards(dataset)) {
    DOVETAIL_ASSIGN(detail::ShardFile file, detail::open_shard(dataset, shard));
    sample.files.push_back(std::move(file));
  }
  return sample;
}

void choose_blocks(std::uint64_t most_bytes, BlockSample& sample) {
  for (std::uint32_t file = 0; file < sample.files.size(); ++file) {
    take_pieces(file, most_bytes / sample.files.size(), sample);
  }
  std::shuffle(sample.pieces.begin(), sample.pieces.end(), std::minstd_rand(1));
}

Result<SequentialRead> read_sequentially(const BlockSample& sample, double seconds) {
  SequentialRead read;
  double cached_bytes = 0;
  std::uint64_t all_bytes = 0;
  std::vector<double> cached;
  for (const detail::ShardFile& shard : sample.files) {
    cached.push_back(cached_share(shard.file()));
    all_bytes += shard.file().size();
    cached_bytes += cached.back() * static_cast<double>(shard.file().size());
  }
  const bool known = std::none_of(cached.begin(), cached.end(), [](double share) { return share < 0; });
  read.cached_share = known && all_bytes > 0 ? cached_bytes / static_cast<double>(all_bytes) : -1;

  std::vector<std::byte> buffer(kReadBytes);
  for (std::size_t i = 0; i < sample.files.size() && read.seconds < seconds; ++i) {
    const detail::InputFile& file = sample.files[i].file();
    const BenchClock::time_point start = BenchClock::now();
    const double before = read.seconds;
    for (std::uint64_t at = 0; at < file.size() && read.seconds < seconds;) {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file.size() - at));
      DOVETAIL_TRY(file.read(at, std::span(buffer).first(bytes)));
      at += bytes;
      read.bytes += bytes;
      read.seconds = before + std::chrono::duration<double>(BenchClock::now() - start).count();
    }
    if (cached[i] >= 0 && cached[i] < kColdShare) file.drop_cache(0, file.size());
  }
  return read;
}

}  // namespace dovetail::tools
