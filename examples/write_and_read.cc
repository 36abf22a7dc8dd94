// SPDX-License-Identifier: Apache-2.0
// The README's first three examples, between the markers, and a main that runs them on a folder
// given to it.

// [write]
#include <dovetail/dataset_writer.h>

void write(const std::string& folder) {
  dovetail::DatasetWriterOptions options;
  options.shard.record_type = "text";
  options.shard_bytes = 32 * 1024;
  auto writer = dovetail::DatasetWriter::create(folder, options).value();
  for (int i = 0; i < 10'000; ++i) writer.append("record " + std::to_string(i)).value();
  writer.finish().value();  // shards, then the manifest; before this nothing looks finished
}
// [write]

// [read]
#include <dovetail/dovetail.h>

std::uint64_t read(const std::string& folder) {
  dovetail::ReaderOptions options;
  options.ranks = dovetail::RankContext::from_environment().value();  // torchrun, Open MPI, Slurm, PMI
  options.plan.batch = 32;
  auto reader = dovetail::BatchReader::open(folder, options).value();
  std::uint64_t bytes = 0;
  for (dovetail::Batch& batch : reader.epoch()) {  // the same number of batches on every rank
    for (std::span<const std::byte> row : batch) bytes += row.size();
  }
  return bytes;
}
// [read]

std::string train(const dovetail::Dataset& dataset, const std::string& checkpoint, int steps) {
  dovetail::ReaderOptions options;
  options.ranks = dovetail::RankContext::from_environment().value();
  options.plan.batch = 32;
  if (!checkpoint.empty()) options.state = dovetail::State::from_text(checkpoint).value();
  auto reader = dovetail::BatchReader::open(dataset, options).value();
  while (steps-- > 0) {
    auto batch = reader.next().value();  // empty at the end of an epoch, then the next one begins
  }
  return reader.state().to_text();  // some 80 characters, the same on every rank
}

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  try {
    write(argv[1]);
    std::printf("%llu bytes in the epoch\n", static_cast<unsigned long long>(read(argv[1])));
    const auto dataset = dovetail::Dataset::open(argv[1]).value();
    const std::string at_once = train(dataset, "", 500);
    const std::string in_parts = train(dataset, train(dataset, "", 123), 377);
    std::printf("after 500 steps: %s\n", at_once.c_str());
    if (in_parts != at_once) return 1;
  } catch (const dovetail::Exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
