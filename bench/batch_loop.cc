// SPDX-License-Identifier: Apache-2.0
// batch_loop FOLDER BATCH EPOCHS: what the C++ reader gives a trainer that looks at no byte, for
// bench/python_batches.py.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include <dovetail/batch_reader.h>

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "usage: batch_loop FOLDER BATCH EPOCHS\n");
    return 2;
  }
  dovetail::ReaderOptions options;
  options.plan.batch = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  options.epochs = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  options.max_held = 3;  // as in Python
  const auto dataset = dovetail::Dataset::open(argv[1]).value();
  auto reader = dovetail::BatchReader::open(dataset, options).value();
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t rows = 0;
  for (std::uint32_t epoch = 0; epoch < options.epochs; ++epoch) {
    while (const std::optional<dovetail::Batch> batch = reader.next().value()) rows += batch->rows();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%.0f\n", static_cast<double>(rows) / seconds.count());
  return 0;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "batch_loop: %s\n", failure.what());
  return 1;
}
