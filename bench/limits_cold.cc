// SPDX-License-Identifier: Apache-2.0
#include "bench/limits_cold.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "bench/files.h"
#include "bench/processes.h"
#include "bench/random.h"

namespace dovetail::bench {

namespace {

constexpr unsigned kDepth = 32;
constexpr std::uint64_t kColdRunBytes = 64 << 10;
constexpr std::uint64_t kSector = 4096;  // what reads past the page cache are aligned to

struct Piece {
  const ReadFile* file;
  std::uint64_t offset;
  std::uint64_t bytes;
};

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

std::vector<Piece> pieces_of(const std::vector<ReadFile>& files, const std::vector<std::string>& paths,
                             bool of_records) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const ReadFile& file = files[i];
    if (of_records) {
      for (const format::IndexEntry& entry : read_index(ReadFile(paths[i]))) {
        const std::uint64_t begin = entry.offset / kSector * kSector;
        const std::uint64_t end = std::min(entry.offset + entry.span_bytes(), file.size());
        pieces.push_back({&file, begin, end - begin});
      }
    } else {
      for (std::uint64_t at = 0; at < file.size(); at += kColdRunBytes) {
        pieces.push_back({&file, at, std::min(kColdRunBytes, file.size() - at)});
      }
    }
  }
  Random random(1);
  for (std::size_t i = pieces.size(); i > 1; --i) {
    std::swap(pieces[i - 1], pieces[random.below(static_cast<std::uint32_t>(i))]);
  }
  return pieces;
}

void read_randomly(const Job& job, Outcome& outcome, int flags) {
  const auto paths = share_of(shards_in(job.data), job.rank, job.world);
  std::vector<ReadFile> files;
  for (const std::string& path : paths) files.emplace_back(path, flags);
  const std::vector<Piece> pieces = pieces_of(files, paths, job.workload == "w2");
  std::uint64_t longest = 0;
  for (const Piece& piece : pieces) longest = std::max(longest, piece.bytes);
  longest = (longest + kSector - 1) / kSector * kSector;

  Start start;
  start.wait();
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> bytes{0};
  std::mutex mutex;
  std::exception_ptr failure;
  {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < kDepth; ++thread) {
      threads.emplace_back([&] {
        try {
          const std::unique_ptr<std::byte, Free> memory(
              static_cast<std::byte*>(std::aligned_alloc(kSector, static_cast<std::size_t>(longest))));
          for (std::size_t i = next++; i < pieces.size() && start.seconds() < job.seconds; i = next++) {
            // Whole sectors are asked for, of which the last may lie past the end of the file.
            const std::uint64_t asked = (pieces[i].bytes + kSector - 1) / kSector * kSector;
            const std::size_t got =
                pieces[i].file->read_some(pieces[i].offset, std::span(memory.get(), static_cast<std::size_t>(asked)));
            bytes += std::min<std::uint64_t>(got, pieces[i].bytes);
          }
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
        }
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
  outcome.delivered.bytes = bytes;
  outcome.seconds = start.seconds();
  outcome.cpu_seconds = start.cpu_seconds();
}

}  // namespace

void cold_threads(const Job& job, Outcome& outcome) {
  read_randomly(job, outcome, 0);
}

void cold_direct(const Job& job, Outcome& outcome) {
  read_randomly(job, outcome, O_DIRECT);
}

}  // namespace dovetail::bench
