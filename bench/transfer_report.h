// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/transfer_registration.h"
#include "bench/transfer_runs.h"

namespace dovetail::bench {

/// What must be reached. Below some size, launching a copy and a kernel costs as much as moving the
/// bytes does.
struct TransferGoals {
  double ratio = 0.95;  ///< Of replayed batches to the plain loop.
  double idle = 0.02;   ///< Of a device whose kernel takes as long as the transfer.
  std::uint64_t from_bytes = 4ull << 20;
};

/// All rounds of one size of batches.
struct SizeResult {
  std::uint64_t batch_bytes = 0;  ///< Of the rows; a slab has a little more.
  std::uint64_t slab_bytes = 0;
  std::uint32_t ring = 0;   ///< Slabs in registered memory.
  std::uint32_t slabs = 0;  ///< On the device.
  std::vector<Transfer> plain;
  std::vector<Transfer> replayed;
  std::vector<Transfer> read;
  std::vector<Consumption> plain_consumed;
  std::vector<Consumption> consumed;
};

struct TransferReport {
  std::string device;
  std::string driver;  ///< Version of CUDA that it knows.
  std::string runtime;
  std::uint32_t rounds = 0;
  std::uint64_t data_bytes = 0;
  TransferGoals goals;
  std::vector<SizeResult> sizes;
  std::vector<RegistrationCost> registration;
};

void print(const TransferReport& report);
std::string to_json(const TransferReport& report);
/// A line for each figure that should be better.
std::vector<std::string> missed(const TransferReport& report);

}  // namespace dovetail::bench
