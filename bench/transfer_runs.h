// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <dovetail/dataset.h>
#include <dovetail/device_reader.h>

#include "bench/transfer_calls.h"
#include "bench/transfer_cuda.h"
#include "reader/memory/host_memory.h"

namespace dovetail::bench {

/// How long a consumer's kernel runs.
struct Spin {
  long long cycles = 0;
};

/// Kernels of about any length, measured with events as consumers are.
class SpinClock {
 public:
  /// Measures the clock of the device and what a launch takes. Needs: nothing else runs on the
  /// device.
  SpinClock();
  Spin of_seconds(double seconds) const;

 private:
  double seconds_per_cycle_ = 0;
  double launch_seconds_ = 0;
};

/// Bytes that arrived, and the time from the arrival of the batch before the first to that of the
/// last, as the device saw it.
struct Transfer {
  std::uint64_t batches = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  CallCounts calls;  ///< Meanwhile.

  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
};

/// What a consumer did from the beginning of its first kernel to the end of the last.
struct Consumption {
  double seconds = 0;
  double kernel_seconds = 0;

  double idle() const { return 1 - kernel_seconds / seconds; }
};

/// The least that any loader does: pieces of one registered buffer, copied one after the other into
/// a ring of slabs.
///
/// Threads: none.
class PlainLoop {
 public:
  PlainLoop(std::size_t piece_bytes, std::size_t pieces, std::size_t slabs, unsigned threads);

  Transfer transfer(std::uint64_t copies);
  /// With a consumer behind each copy; a slab is filled again once its consumer is done.
  Consumption consume(std::uint64_t copies, Spin spin);

 private:
  void copy(std::uint64_t number);

  std::size_t piece_bytes_;
  std::size_t pieces_;
  std::size_t slabs_;
  detail::HostMemory host_;
  DeviceMemory device_;
  CudaStream copies_;
  CudaStream consumer_;
};

/// The library, with a trainer that does nothing but wait for the copies, or a kernel on each
/// batch.
///
/// Threads: those of the readers.
class DeliveredBatches {
 public:
  /// `warmup` batches are taken before each measurement.
  DeliveredBatches(DeviceReader reader, std::uint64_t warmup) : reader_(std::move(reader)), warmup_(warmup) {}

  Transfer transfer(std::uint64_t batches);
  Consumption consume(std::uint64_t batches, Spin spin);

 private:
  DeviceBatch next();

  CudaStream trainer_;  // before the reader, whose batches it works on
  DeviceReader reader_;
  std::uint64_t warmup_;
};

}  // namespace dovetail::bench
