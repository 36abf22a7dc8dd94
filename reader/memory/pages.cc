// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/pages.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <climits>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace dovetail::detail {

namespace {

constexpr std::size_t kPiece = 16 << 20;  // bytes that a thread takes at a time
constexpr int kMostTurns = 1000;
constexpr unsigned kBitsPerWord = CHAR_BIT * sizeof(unsigned long);

int populate_piece(std::span<std::byte> piece) {
  for (int turn = 0; ::madvise(piece.data(), piece.size(), MADV_POPULATE_WRITE) != 0; ++turn) {
    if ((errno == EINTR || errno == EAGAIN) && turn < kMostTurns) continue;
    if (errno != EINVAL) return errno;
    // An older kernel: write each page. Writing back what was read keeps the contents.
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    for (std::size_t at = 0; at < piece.size(); at += page) {
      volatile std::byte& first = piece[at];
      first = first;
    }
    break;
  }
  return 0;
}

}  // namespace

std::optional<int> numa_node_of_pci(std::string_view address) {
  std::string path = "/sys/bus/pci/devices/";
  for (const char digit : address) path += static_cast<char>(std::tolower(static_cast<unsigned char>(digit)));
  std::ifstream file(path + "/numa_node");
  int node = -1;
  if (!(file >> node) || node < 0) return std::nullopt;
  return node;
}

Result<void> prefer_numa_node(std::span<std::byte> range, int node) {
  if (node < 0) return Error(Errc::invalid_option, "there is no memory node " + std::to_string(node));
  const auto number = static_cast<unsigned>(node);
  std::vector<unsigned long> nodes(number / kBitsPerWord + 1);
  nodes.back() |= 1ul << number % kBitsPerWord;
  // One more than the number of bits, because the kernel subtracts one from this count.
  if (::syscall(SYS_mbind, range.data(), range.size(), MPOL_PREFERRED, nodes.data(), nodes.size() * kBitsPerWord + 1,
                0u) != 0) {
    return Error::from_errno(errno, "cannot prefer memory of node " + std::to_string(node));
  }
  return {};
}

Result<void> populate(std::span<std::byte> range, unsigned threads) {
  std::atomic<std::size_t> next = 0;
  std::atomic<int> failure = 0;
  const auto work = [&] {
    for (std::size_t at = next.fetch_add(kPiece); at < range.size() && failure == 0; at = next.fetch_add(kPiece)) {
      if (const int error = populate_piece(range.subspan(at, std::min(kPiece, range.size() - at))); error != 0) {
        failure = error;
      }
    }
  };
  const std::size_t pieces = range.size() / kPiece + 1;
  std::vector<std::thread> helpers;
  try {
    while (helpers.size() + 1 < std::min<std::size_t>(pieces, threads)) helpers.emplace_back(work);
  } catch (const std::exception&) {  // fewer threads only take longer
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure != 0) {
    return Error::from_errno(failure, "cannot get " + std::to_string(range.size()) + " bytes for batches");
  }
  return {};
}

}  // namespace dovetail::detail
