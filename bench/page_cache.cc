// SPDX-License-Identifier: Apache-2.0
#include "bench/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "bench/files.h"

namespace dovetail::bench {

namespace {

constexpr double kWarm = 0.98;  // some kernels take pages away that were not used for a while
constexpr double kCold = 0.01;

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof(text), "%.1f", share * 100);
  return std::string(text) + " % of the data are in the page cache";
}

}  // namespace

double resident_share(const std::vector<std::string>& files) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t pages = 0;
  std::size_t resident = 0;
  for (const std::string& path : files) {
    const ReadFile file(path);
    if (file.size() == 0) continue;
    void* const mapped = ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.fd(), 0);
    if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), path);
    std::vector<unsigned char> present((file.size() + page - 1) / page);
    const int failed = ::mincore(mapped, file.size(), present.data());
    const int error = errno;
    ::munmap(mapped, file.size());
    if (failed != 0) throw std::system_error(error, std::generic_category(), path);
    pages += present.size();
    resident += static_cast<std::size_t>(
        std::count_if(present.begin(), present.end(), [](unsigned char flags) { return (flags & 1) != 0; }));
  }
  return pages == 0 ? 1 : static_cast<double>(resident) / static_cast<double>(pages);
}

std::string make_warm(const std::vector<std::string>& files) {
  if (resident_share(files) >= 1) return {};
  std::vector<std::byte> buffer(1 << 20);
  for (const std::string& path : files) {
    const ReadFile file(path);
    std::uint64_t offset = 0;
    while (const std::size_t got = file.read_some(offset, buffer)) offset += got;
  }
  const double share = resident_share(files);
  return share >= kWarm ? std::string() : "only " + percent(share);
}

std::string make_cold(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    const ReadFile file(path);
    ::fsync(file.fd());  // pages that were not written yet would stay
    ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
  }
  double share = resident_share(files);
  if (share > kCold && std::ofstream("/proc/sys/vm/drop_caches") << "1" << std::flush) share = resident_share(files);
  return share <= kCold ? std::string() : "still " + percent(share);
}

}  // namespace dovetail::bench
