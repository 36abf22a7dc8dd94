// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <dovetail/batch_reader.h>
#include <dovetail/device_reader.h>

namespace cuda_trainer {

struct Settings {
  std::string dataset;
  std::uint32_t batch = 256;
  std::uint32_t epochs = 2;
  std::uint32_t work = 1;
  bool balance = false;
  std::uint32_t check = 4;
  std::uint32_t prefetch = 2;
  std::uint64_t memory_mib = 1024;
  int device = 0;

  dovetail::ReaderOptions reader() const {
    dovetail::ReaderOptions options;
    options.plan.batch = batch;
    options.epochs = epochs;
    options.prefetch = prefetch;
    options.memory_bytes = memory_mib << 20;
    options.device = device;
    return options;
  }
  dovetail::DeviceReader open(const dovetail::Dataset& data) const {
    dovetail::ReaderOptions options = reader();
    options.registration = dovetail::Registration::required;
    return dovetail::DeviceReader::open(dovetail::BatchReader::open(data, options).value(),
                                        {.device = device, .prefetch = prefetch, .max_held = 2})
        .value();
  }
};

}  // namespace cuda_trainer
