// SPDX-License-Identifier: Apache-2.0
// What the way to a device costs beside a plain loop of asynchronous copies: rates, calls that
// should not be there, how long a device is idle whose kernel takes as long as the transfer, and
// how long it takes to register memory. Ends with 77 where there is no device, and with 1 where a
// goal is missed.
#include <cuda_runtime_api.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/device_reader.h>
#include <CLI/CLI.hpp>

#include "bench/random.h"
#include "bench/transfer_registration.h"
#include "bench/transfer_report.h"
#include "bench/transfer_runs.h"

namespace dovetail::bench {

namespace {

constexpr int kNoDevice = 77;
constexpr std::uint32_t kRecordBytes = 4096;
constexpr std::uint32_t kShards = 8;
constexpr std::uint64_t kMiB = 1ull << 20;

struct Settings {
  std::vector<std::uint64_t> batch_bytes{256 << 10, 4 * kMiB, 32 * kMiB};
  std::uint64_t data_bytes = 512 * kMiB;
  std::uint64_t ring_bytes = 256 * kMiB;
  std::uint64_t ahead_bytes = 16 * kMiB;
  std::uint64_t bytes = 4096 * kMiB;
  std::uint32_t rounds = 5;
  std::vector<std::uint64_t> registered_bytes{1024 * kMiB, 4096 * kMiB};
  std::uint32_t registration_rounds = 3;
  std::uint32_t kernels = 2000;
  int device = 0;
  std::string folder;
  std::string out;
  TransferGoals goals;
};

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& parent) {
    path_ = parent.empty() ? std::filesystem::temp_directory_path().string() : parent;
    path_ += "/dovetail-transfer-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make " + path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

Dataset write_data(const std::string& folder, std::uint64_t bytes) {
  DatasetWriterOptions options;
  options.shard.dataset_id = DatasetId{{'t', 'r', 'a', 'n', 's', 'f', 'e', 'r'}};
  options.shard.codec = Codec::none;
  options.shard.overwrite = true;
  options.shards = kShards;
  options.expected_records = bytes / kRecordBytes;
  DatasetWriter writer = DatasetWriter::create(folder, options).value();
  std::vector<std::byte> record(kRecordBytes);
  for (std::uint64_t i = 0; i < options.expected_records; ++i) {
    Random(i).fill(record);
    writer.append(record).value();
  }
  writer.finish().value();
  return Dataset::open(folder).value();
}

/// What of the options depends on the size of the batches alone.
ReaderOptions reader_options(const Settings& settings, std::uint32_t batch, std::uint32_t ahead) {
  ReaderOptions options;
  options.plan.batch = batch;
  options.prefetch = ahead;
  options.registration = Registration::required;
  options.device = settings.device;
  return options;
}

DeliveredBatches delivered(const Dataset& dataset, const ReaderOptions& options, const DeviceOptions& device,
                           std::uint64_t warmup) {
  return DeliveredBatches(DeviceReader::open(BatchReader::open(dataset, options).value(), device).value(), warmup);
}

SizeResult measure_size(const Settings& settings, const Dataset& dataset, const SpinClock& clock, unsigned threads,
                        std::uint64_t batch_bytes) {
  const auto batch = static_cast<std::uint32_t>(batch_bytes / kRecordBytes);
  const std::uint64_t steps = dataset.records() / batch;
  if (batch == 0 || steps == 0) throw std::runtime_error("batches must have from 4 KiB to all of the data");
  const auto ahead = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(settings.ahead_bytes / batch_bytes, 2, 32));
  const DeviceOptions device{.device = settings.device, .prefetch = ahead, .max_held = 2};

  SizeResult result;
  result.batch_bytes = batch_bytes;
  result.slab_bytes = SlabLayout::for_rows(batch).values + batch_bytes;
  result.ring = static_cast<std::uint32_t>(
      std::min(steps, std::max<std::uint64_t>(settings.ring_bytes / batch_bytes, ahead + 2)));
  result.slabs = device.prefetch + device.max_held;

  ReaderOptions reading = reader_options(settings, batch, ahead);
  reading.memory_bytes = std::max(1024 * kMiB, 4 * (ahead + reading.max_held) * result.slab_bytes);
  ReaderOptions replaying = reader_options(settings, batch, ahead);
  replaying.replay = result.ring;
  // Slots get at most half of what the largest block leaves.
  replaying.memory_bytes = 2 * result.ring * (result.slab_bytes + SlabLayout::kAlignment) + 256 * kMiB;

  PlainLoop plain(result.slab_bytes, result.ring, result.slabs, threads);
  // A whole round of the ring before anything counts, and of the data, which brings them into the
  // page cache.
  DeliveredBatches replayed = delivered(dataset, replaying, device, result.ring + result.slabs);
  DeliveredBatches read = delivered(dataset, reading, device, steps);
  const std::uint64_t batches = std::max<std::uint64_t>(settings.bytes / result.slab_bytes, 4 * result.slabs);
  const std::uint64_t kernels = std::min<std::uint64_t>(batches, settings.kernels);
  const std::uint64_t batches_read = std::min(batches, 4 * steps);
  // Not counted: clocks of the device and of the link rise, and pools grow. A slot that is replayed
  // keeps some events.
  plain.transfer(batches);
  replayed.transfer(std::max<std::uint64_t>(batches, 16ull * result.ring));
  for (std::uint32_t round = 0; round < settings.rounds; ++round) {
    result.plain.push_back(plain.transfer(batches));
    result.replayed.push_back(replayed.transfer(batches));
    const Spin spin = clock.of_seconds(result.replayed.back().seconds / static_cast<double>(batches));
    result.plain_consumed.push_back(plain.consume(kernels, spin));
    result.consumed.push_back(replayed.consume(kernels, spin));
    result.read.push_back(read.transfer(batches_read));
  }
  return result;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void say(const char* what, std::chrono::steady_clock::time_point began) {
  std::fprintf(stderr, "transfer_bench: %5.1f s: %s\n",
               std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), what);
}

TransferReport measure(const Settings& settings) {
  const auto began = std::chrono::steady_clock::now();
  check(cudaSetDevice(settings.device), "cudaSetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, settings.device), "cudaGetDeviceProperties");
  int driver = 0;
  int runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  TransferReport report;
  report.device = properties.name;
  report.driver = version_text(driver);
  report.runtime = version_text(runtime);
  report.rounds = settings.rounds;
  report.data_bytes = settings.data_bytes;
  report.goals = settings.goals;

  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
  say("writing the data", began);
  const TemporaryFolder folder(settings.folder);
  const Dataset dataset = write_data(folder.path(), settings.data_bytes);
  const SpinClock clock;
  for (const std::uint64_t bytes : settings.batch_bytes) {
    say(("batches of " + std::to_string(bytes >> 10) + " KiB").c_str(), began);
    report.sizes.push_back(measure_size(settings, dataset, clock, threads, bytes));
  }
  say("registering memory", began);
  report.registration = measure_registration(settings.registered_bytes, threads, settings.registration_rounds);
  say("done", began);
  return report;
}

int run(const Settings& settings) {
  int devices = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess || devices == 0) {
    std::printf("transfer_bench: no CUDA device: %s\n", cudaGetErrorString(status));
    return kNoDevice;
  }
  const TransferReport report = measure(settings);
  print(report);
  if (!settings.out.empty() && !(std::ofstream(settings.out) << to_json(report) << std::flush)) {
    throw std::runtime_error("cannot write " + settings.out);
  }
  const std::vector<std::string> lines = missed(report);
  for (const std::string& line : lines) std::printf("missed: %s\n", line.c_str());
  return lines.empty() ? 0 : 1;
}

void define(CLI::App& app, Settings& settings) {
  const auto size = [](CLI::Option* option) { option->transform(CLI::AsSizeValue(false))->capture_default_str(); };
  size(app.add_option("--batch-bytes", settings.batch_bytes, "sizes of batches, multiples of 4 KiB")->delimiter(','));
  size(app.add_option("--data-bytes", settings.data_bytes, "of the dataset, which is written and removed"));
  size(app.add_option("--ring-bytes", settings.ring_bytes, "of registered memory that is copied from in turn"));
  size(app.add_option("--ahead-bytes", settings.ahead_bytes, "copied ahead of the trainer, 2 to 32 batches"));
  size(app.add_option("--bytes", settings.bytes, "of each measurement"));
  app.add_option("--rounds", settings.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  size(app.add_option("--registered-bytes", settings.registered_bytes, "sizes of what is registered")->delimiter(','));
  app.add_option("--registration-rounds", settings.registration_rounds)->capture_default_str();
  app.add_option("--kernels", settings.kernels, "at most, where idleness is measured")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--device", settings.device)->capture_default_str();
  app.add_option("--folder", settings.folder, "for the data, instead of the system's for temporary files");
  app.add_option("--out", settings.out, "JSON of all figures");
  size(app.add_option("--judged-from", settings.goals.from_bytes,
                      "sizes of batches whose ratio and idleness must be good"));
  app.add_option("--least-ratio", settings.goals.ratio)->capture_default_str();
  app.add_option("--most-idle", settings.goals.idle)->capture_default_str();
}

}  // namespace

}  // namespace dovetail::bench

int main(int argc, char** argv) {
  dovetail::bench::Settings settings;
  CLI::App app("Measures the way of batches to a CUDA device.", "transfer_bench");
  dovetail::bench::define(app, settings);
  CLI11_PARSE(app, argc, argv);
  try {
    return dovetail::bench::run(settings);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "transfer_bench: %s\n", failure.what());
    return 2;
  }
}
