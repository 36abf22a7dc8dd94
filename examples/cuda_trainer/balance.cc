// SPDX-License-Identifier: Apache-2.0
#include "balance.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "kernel_clock.h"
#include "row_sums.h"
#include "runtime.h"

namespace cuda_trainer {

namespace {

constexpr int kRepetitions = 21;

/// The median time of what `work` puts into the stream.
template <class Work>
double seconds_of(const Stream& stream, const Work& work) {
  KernelClock clock;
  std::vector<double> times;
  for (int i = 0; i < kRepetitions; ++i) {
    clock.begin(stream.handle());
    work();
    clock.end(stream.handle());
    stream.finish();
    times.push_back(clock.take_seconds());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

std::uint32_t balanced_work(const dovetail::Dataset& dataset, const Settings& settings) {
  const Stream stream;
  dovetail::DeviceReader reader = settings.open(dataset);
  std::optional<dovetail::DeviceBatch> batch = reader.next().value();
  batch.value().wait_on({stream.handle()}).value();
  const auto from = host_array<std::byte>(batch->slab_bytes());
  const auto to = device_array<std::byte>(batch->slab_bytes());
  const auto ids = device_array<std::uint64_t>(batch->rows());
  const auto sums = device_array<std::uint64_t>(batch->rows());
  const auto kernel = [&](std::uint32_t work) {
    return seconds_of(stream, [&] {
      check(launch_row_sums(
                {.values = batch->values(), .offsets = batch->offsets(), .ids = batch->ids(), .count = batch->rows()},
                {.ids = ids.get(), .sums = sums.get()}, work, stream.handle()),
            "row_sums");
    });
  };
  constexpr std::uint32_t kMany = 33;
  kernel(kMany);  // not counted: clocks rise
  const double copy = seconds_of(stream, [&] {
    check(cudaMemcpyAsync(to.get(), from.get(), batch->slab_bytes(), cudaMemcpyHostToDevice, stream.handle()),
          "cudaMemcpyAsync");
  });
  const double once = kernel(1);
  // Bytes come from the cache of the device from the second pass on.
  const double pass = std::max((kernel(kMany) - once) / (kMany - 1), 1e-9);
  const double work = 1 + std::max(0.0, (copy - once) / pass);
  std::printf("balance: a copy takes %.1f us, the kernel %.1f us and each further pass %.2f us\n", copy * 1e6,
              once * 1e6, pass * 1e6);
  return static_cast<std::uint32_t>(std::lround(std::min(work, 1e6)));
}

}  // namespace cuda_trainer
