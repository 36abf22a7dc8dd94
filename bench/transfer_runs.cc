// SPDX-License-Identifier: Apache-2.0
#include "bench/transfer_runs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "bench/transfer_spin.h"

namespace dovetail::bench {

namespace {

constexpr int kSpinRepetitions = 15;

/// Events around every kernel, made beforehand and read when all is over.
class KernelTimes {
 public:
  explicit KernelTimes(std::uint64_t kernels) : kernels_(kernels), events_(2 * kernels, cudaEventDefault) {}

  void launch(std::uint64_t kernel, Spin spin, const CudaStream& stream) const {
    events_.record(2 * kernel, stream);
    check(launch_spin(spin.cycles, stream.handle()), "spin");
    events_.record(2 * kernel + 1, stream);
  }
  /// Needs: the stream has run all of them.
  Consumption read() const {
    Consumption consumption{.seconds = events_.seconds(0, 2 * kernels_ - 1)};
    for (std::uint64_t kernel = 0; kernel < kernels_; ++kernel) {
      consumption.kernel_seconds += events_.seconds(2 * kernel, 2 * kernel + 1);
    }
    return consumption;
  }

 private:
  std::uint64_t kernels_;
  CudaEvents events_;
};

double median_spin(Spin spin, const CudaStream& stream) {
  std::vector<double> times;
  for (int i = 0; i < kSpinRepetitions; ++i) {
    const KernelTimes kernel(1);
    kernel.launch(0, spin, stream);
    stream.finish();
    times.push_back(kernel.read().kernel_seconds);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

detail::HostMemory registered(std::size_t bytes, unsigned threads) {
  detail::HostMemoryOptions options;
  options.registration = Registration::required;
  options.threads = threads;
  return detail::HostMemory::make(bytes, options).value();
}

}  // namespace

SpinClock::SpinClock() {
  constexpr Spin kShort{100'000};
  constexpr Spin kLong{10'000'000};
  const CudaStream stream;
  for (int i = 0; i < 20; ++i) check(launch_spin(kLong.cycles, stream.handle()), "spin");  // the clock rises
  stream.finish();
  const double short_seconds = median_spin(kShort, stream);
  const double long_seconds = median_spin(kLong, stream);
  seconds_per_cycle_ = (long_seconds - short_seconds) / static_cast<double>(kLong.cycles - kShort.cycles);
  launch_seconds_ = short_seconds - seconds_per_cycle_ * static_cast<double>(kShort.cycles);
}

Spin SpinClock::of_seconds(double seconds) const {
  return {std::max(0ll, std::llround((seconds - launch_seconds_) / seconds_per_cycle_))};
}

PlainLoop::PlainLoop(std::size_t piece_bytes, std::size_t pieces, std::size_t slabs, unsigned threads)
    : piece_bytes_(piece_bytes),
      pieces_(pieces),
      slabs_(slabs),
      host_(registered(piece_bytes * pieces, threads)),
      device_(piece_bytes * slabs) {
  std::memset(host_.bytes().data(), 0xA5, host_.bytes().size());
}

void PlainLoop::copy(std::uint64_t number) {
  check(cudaMemcpyAsync(device_.data() + number % slabs_ * piece_bytes_,
                        host_.bytes().data() + number % pieces_ * piece_bytes_, piece_bytes_, cudaMemcpyHostToDevice,
                        copies_.handle()),
        "cudaMemcpyAsync");
}

Transfer PlainLoop::transfer(std::uint64_t copies) {
  const CudaEvents ends(2, cudaEventDefault);
  for (std::uint64_t number = 0; number < slabs_; ++number) copy(number);  // not counted
  ends.record(0, copies_);
  for (std::uint64_t number = 0; number < copies; ++number) copy(slabs_ + number);
  ends.record(1, copies_);
  copies_.finish();
  return {.batches = copies, .bytes = copies * piece_bytes_, .seconds = ends.seconds(0, 1), .calls = {}};
}

Consumption PlainLoop::consume(std::uint64_t copies, Spin spin) {
  const KernelTimes times(copies);
  const CudaEvents copied(slabs_, cudaEventDisableTiming);
  const CudaEvents consumed(slabs_, cudaEventDisableTiming);
  for (std::uint64_t number = 0; number < copies; ++number) {
    const std::size_t slab = number % slabs_;
    if (number >= slabs_) copies_.wait_for(consumed[slab]);
    copy(number);
    copied.record(slab, copies_);
    consumer_.wait_for(copied[slab]);
    times.launch(number, spin, consumer_);
    consumed.record(slab, consumer_);
  }
  copies_.finish();
  consumer_.finish();
  return times.read();
}

DeviceBatch DeliveredBatches::next() {
  for (;;) {
    std::optional<DeviceBatch> batch = reader_.next().value();
    if (!batch.has_value()) continue;  // the end of an epoch
    batch->wait_on({trainer_.handle()}).value();
    return std::move(*batch);
  }
}

Transfer DeliveredBatches::transfer(std::uint64_t batches) {
  const CudaEvents ends(2, cudaEventDefault);
  for (std::uint64_t i = 0; i < warmup_; ++i) next();
  ends.record(0, trainer_);
  Transfer transfer{.batches = batches, .calls = {}};
  const CallCounts before = count_calls();
  for (std::uint64_t i = 0; i < batches; ++i) transfer.bytes += next().slab_bytes();
  transfer.calls = calls_between(before, count_calls());
  ends.record(1, trainer_);
  trainer_.finish();
  transfer.seconds = ends.seconds(0, 1);
  return transfer;
}

Consumption DeliveredBatches::consume(std::uint64_t batches, Spin spin) {
  const KernelTimes times(batches);
  for (std::uint64_t i = 0; i < warmup_; ++i) next();
  for (std::uint64_t i = 0; i < batches; ++i) {
    const DeviceBatch batch = next();
    times.launch(i, spin, trainer_);
  }
  trainer_.finish();
  return times.read();
}

}  // namespace dovetail::bench
