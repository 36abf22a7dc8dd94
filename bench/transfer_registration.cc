// SPDX-License-Identifier: Apache-2.0
#include "bench/transfer_registration.h"

#include <cuda_runtime_api.h>

#include <chrono>

#include "reader/memory/host_memory.h"

namespace dovetail::bench {

namespace {

constexpr const char* kHostAlloc = "cudaHostAlloc";
constexpr const char* kHugePages = "huge pages";
constexpr const char* kSmallPages = "small pages";
constexpr const char* kPagesOfTheSystem = "default pages";

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// Makes and frees the memory; only making it counts.
void measure(RegistrationCost& cost) {
  if (!cost.skipped.empty()) return;
  const auto began = std::chrono::steady_clock::now();
  if (cost.how == kHostAlloc) {
    void* memory = nullptr;
    if (const cudaError_t status = cudaHostAlloc(&memory, cost.bytes, cudaHostAllocPortable); status != cudaSuccess) {
      (void)cudaGetLastError();
      cost.skipped = cudaGetErrorString(status);
      return;
    }
    cost.seconds.push_back(seconds_since(began));
    (void)cudaFreeHost(memory);
    return;
  }
  detail::HostMemoryOptions options;
  options.registration = Registration::required;
  options.huge_pages = cost.how == kHugePages;
  options.refuse_huge_pages = cost.how == kSmallPages;
  options.threads = cost.threads;
  const auto memory = detail::HostMemory::make(cost.bytes, options);
  if (!memory.has_value()) {
    cost.skipped = memory.error().to_string();
    return;
  }
  cost.seconds.push_back(seconds_since(began));
}

}  // namespace

std::vector<RegistrationCost> measure_registration(const std::vector<std::uint64_t>& sizes, unsigned threads,
                                                   std::uint32_t rounds) {
  std::vector<RegistrationCost> costs;
  for (const std::uint64_t bytes : sizes) {
    costs.push_back({.how = kHostAlloc, .bytes = bytes, .seconds = {}, .skipped = {}});
    for (const char* const pages : {kPagesOfTheSystem, kHugePages, kSmallPages}) {
      costs.push_back({.how = pages, .bytes = bytes, .seconds = {}, .skipped = {}});
      if (threads == 1) continue;
      costs.push_back({.how = pages, .threads = threads, .bytes = bytes, .seconds = {}, .skipped = {}});
    }
  }
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (RegistrationCost& cost : costs) measure(cost);
  }
  return costs;
}

}  // namespace dovetail::bench
