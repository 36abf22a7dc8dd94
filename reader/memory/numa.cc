// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <climits>
#include <fstream>
#include <string>
#include <vector>

namespace dovetail::detail {

namespace {

constexpr unsigned kBitsPerWord = CHAR_BIT * sizeof(unsigned long);

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

}  // namespace dovetail::detail
