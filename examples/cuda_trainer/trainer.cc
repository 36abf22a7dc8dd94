// SPDX-License-Identifier: Apache-2.0
// A trainer in CUDA: every batch is copied to the device while the kernel computes with the ones
// before, and neither the host waits for the device nor the device for the host, before an epoch
// ends.
//
//   cuda_trainer DATASET                       a kernel that reads every byte once
//   cuda_trainer DATASET --work 10             ten times
//   cuda_trainer DATASET --balance             as often as takes as long as the copy of a batch
//
// After each epoch it checks that every record of the plan was seen, and the results of the first
// batches. It ends with 77 where there is no device.
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

#include <dovetail/batch_reader.h>
#include <dovetail/device_reader.h>
#include <CLI/CLI.hpp>

#include "balance.h"
#include "kernel_clock.h"
#include "row_sums.h"
#include "runtime.h"
#include "settings.h"

namespace cuda_trainer {

namespace {

constexpr int kNoDevice = 77;
using Clock = std::chrono::steady_clock;

class Trainer {
 public:
  Trainer(const dovetail::Dataset& dataset, const Settings& settings)
      : dataset_(dataset), settings_(settings), reader_(settings.open(dataset)) {
    rows_ = reader_.plan().steps(0).value() * settings.batch;
    ids_ = device_array<std::uint64_t>(rows_);
    sums_ = device_array<std::uint64_t>(rows_);
    seen_ids_ = host_array<std::uint64_t>(rows_);
    seen_sums_ = host_array<std::uint64_t>(rows_);
  }

  void train(std::uint32_t epoch) {
    const Clock::time_point began = Clock::now();
    std::uint64_t batches = 0;
    std::uint64_t bytes = 0;
    while (std::optional<dovetail::DeviceBatch> batch = reader_.next().value()) {
      batch->wait_on({stream_.handle()}).value();
      const std::uint64_t at = batch->step() * settings_.batch;
      clock_.begin(stream_.handle());
      check(launch_row_sums(
                {.values = batch->values(), .offsets = batch->offsets(), .ids = batch->ids(), .count = batch->rows()},
                {.ids = ids_.get() + at, .sums = sums_.get() + at}, settings_.work, stream_.handle()),
            "row_sums");
      clock_.end(stream_.handle());
      ++batches;
      bytes += batch->slab_bytes();
    }  // the batch goes while the kernel may not even have begun
    fetch(seen_ids_, ids_);
    fetch(seen_sums_, sums_);
    stream_.finish();
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    if (batches * settings_.batch != rows_) {
      throw std::runtime_error("the epoch had " + std::to_string(batches) + " batches");
    }
    std::printf("epoch %u: %llu batches, %.0f records/s, %.2f GB/s to the device, GPU idle for %.1f %% of %.3f s\n",
                epoch, static_cast<unsigned long long>(batches), static_cast<double>(rows_) / seconds,
                static_cast<double>(bytes) / seconds / 1e9, 100 * (1 - clock_.take_seconds() / seconds), seconds);
    std::fflush(stdout);
    expect_all_records(epoch);
    expect_sums(epoch);
  }

 private:
  void fetch(const HostArray<std::uint64_t>& to, const DeviceArray<std::uint64_t>& from) {
    check(
        cudaMemcpyAsync(to.get(), from.get(), rows_ * sizeof(std::uint64_t), cudaMemcpyDeviceToHost, stream_.handle()),
        "cudaMemcpyAsync");
  }

  void expect_all_records(std::uint32_t epoch) const {
    dovetail::Hash128 digest;
    for (std::uint64_t row = 0; row < rows_; ++row) digest += dovetail::record_digest(seen_ids_[row]);
    if (digest != reader_.plan().epoch(epoch).value().digest()) {
      throw std::runtime_error("the ids that the kernel saw are not those of epoch " + std::to_string(epoch));
    }
  }

  /// The same rows come from a reader that knows nothing of a device.
  void expect_sums(std::uint32_t epoch) const {
    dovetail::ReaderOptions options = settings_.reader();
    options.registration = dovetail::Registration::off;
    options.start = {.epoch = epoch, .step = 0};
    options.epochs = epoch + 1;
    auto reader = dovetail::BatchReader::open(dataset_, options).value();
    for (std::uint32_t step = 0; step < settings_.check; ++step) {
      const std::optional<dovetail::Batch> batch = reader.next().value();
      if (!batch.has_value()) break;
      for (std::uint32_t row = 0; row < batch->rows(); ++row) {
        const std::uint64_t at = std::uint64_t{step} * settings_.batch + row;
        const dovetail::ByteView bytes = batch->row(row);
        if (seen_ids_[at] == batch->ids()[row] &&
            seen_sums_[at] == row_sum(bytes.data(), bytes.size(), settings_.work)) {
          continue;
        }
        throw std::runtime_error("epoch " + std::to_string(epoch) + ", step " + std::to_string(step) + ", row " +
                                 std::to_string(row) + ": the kernel has another result than the host");
      }
    }
  }

  const dovetail::Dataset& dataset_;
  const Settings& settings_;
  Stream stream_;  // before the reader, whose batches it works on
  KernelClock clock_;
  DeviceArray<std::uint64_t> ids_, sums_;
  HostArray<std::uint64_t> seen_ids_, seen_sums_;
  std::uint64_t rows_ = 0;
  dovetail::DeviceReader reader_;
};

int run(Settings settings) {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    std::printf("cuda_trainer: no CUDA device: %s\n", cudaGetErrorString(status));
    return kNoDevice;
  }
  check(cudaSetDevice(settings.device), "cudaSetDevice");
  const auto dataset = dovetail::Dataset::open(settings.dataset).value();
  if (settings.balance) settings.work = balanced_work(dataset, settings);
  std::printf("work: %u passes over each batch\n", settings.work);
  Trainer trainer(dataset, settings);
  for (std::uint32_t epoch = 0; epoch < settings.epochs; ++epoch) trainer.train(epoch);
  std::printf("all records of %u epochs were seen\n", settings.epochs);
  return 0;
}

}  // namespace

}  // namespace cuda_trainer

int main(int argc, char** argv) {
  cuda_trainer::Settings settings;
  CLI::App app("Computes with batches on a GPU while the next ones are copied.", "cuda_trainer");
  app.add_option("dataset", settings.dataset)->required();
  app.add_option("--batch", settings.batch, "rows")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--epochs", settings.epochs)->check(CLI::PositiveNumber)->capture_default_str();
  CLI::Option* const work = app.add_option("--work", settings.work, "passes of the kernel over each batch");
  work->check(CLI::PositiveNumber)->capture_default_str();
  app.add_flag("--balance", settings.balance, "as many passes as take as long as the copy")->excludes(work);
  app.add_option("--check", settings.check, "batches of an epoch to compute on the host too")->capture_default_str();
  app.add_option("--prefetch", settings.prefetch, "batches ahead, on the host and on the device")
      ->capture_default_str();
  app.add_option("--memory-mib", settings.memory_mib, "of the host")->capture_default_str();
  app.add_option("--device", settings.device)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return cuda_trainer::run(settings);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "cuda_trainer: %s\n", failure.what());
    return 1;
  }
}
