// SPDX-License-Identifier: Apache-2.0
// A dataset of random bytes in eight shards, the same for the same arguments: something to measure
// and to test with.
//
//   write_random FOLDER RECORDS MIN_BYTES MAX_BYTES
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <dovetail/dataset_writer.h>

namespace {

constexpr std::uint32_t kShards = 8;

void write(const std::string& folder, std::uint64_t records, std::size_t min_bytes, std::size_t max_bytes) {
  dovetail::DatasetWriterOptions options;
  options.shard.dataset_id = dovetail::DatasetId{{'r', 'a', 'n', 'd', 'o', 'm'}};
  options.shard.record_type = "random bytes";
  options.shard.codec = dovetail::Codec::none;  // nothing to gain
  options.shards = kShards;
  options.expected_records = records;
  auto writer = dovetail::DatasetWriter::create(folder, options).value();

  std::mt19937_64 random(records);
  std::vector<std::uint64_t> words(max_bytes / 8 + 1);
  for (std::uint64_t i = 0; i < records; ++i) {
    std::generate(words.begin(), words.end(), std::ref(random));
    const std::size_t bytes = min_bytes + random() % (max_bytes - min_bytes + 1);
    writer.append(std::as_bytes(std::span(words)).first(bytes)).value();
  }
  writer.finish().value();
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t numbers[3] = {};
  for (int i = 0; argc == 5 && i < 3; ++i) numbers[i] = std::strtoull(argv[i + 2], nullptr, 10);
  const auto [records, min_bytes, max_bytes] = numbers;
  if (argc != 5 || min_bytes > max_bytes) {
    std::fprintf(stderr, "usage: %s FOLDER RECORDS MIN_BYTES MAX_BYTES\n", argv[0]);
    return 2;
  }
  try {
    write(argv[1], records, min_bytes, max_bytes);
  } catch (const dovetail::Exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
