// SPDX-License-Identifier: Apache-2.0
// How fast blocks of the workloads are decoded, by our decoder and by the packaged library; GB/s of
// decoded bytes. On a machine with other load: --benchmark_enable_random_interleaving=true
// --benchmark_repetitions=10
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <snappy.h>

#include "bench/workloads.h"
#include "format/snappy_decoder.h"

namespace dovetail::bench {
namespace {

// More than the caches nearest to a core hold, in all: the decoder of a reader does not see the
// same block again soon.
constexpr std::size_t kRawBytes = std::size_t{16} << 20;
// As many decoded blocks as the open runs of a lane keep in use.
constexpr std::size_t kRing = 96;

struct Block {
  std::string stored;
  std::vector<std::byte> raw;
};

using Blocks = std::vector<Block>;

Blocks make_blocks(WorkloadKind kind, std::size_t block_bytes) {
  const Workload workload(kind);
  Blocks blocks;
  std::uint64_t record = 0;
  for (std::size_t made = 0; made < kRawBytes;) {
    Block block;
    block.raw = workload.block(record, block_bytes);
    record += block.raw.size() / workload.max_record_bytes();  // all records of these workloads have one size
    snappy::Compress(reinterpret_cast<const char*>(block.raw.data()), block.raw.size(), &block.stored);
    made += block.raw.size();
    blocks.push_back(std::move(block));
  }
  return blocks;
}

const Blocks& blocks_of(WorkloadKind kind, std::size_t block_bytes) {
  static std::map<std::pair<WorkloadKind, std::size_t>, Blocks> made;
  Blocks& blocks = made[{kind, block_bytes}];
  if (blocks.empty()) blocks = make_blocks(kind, block_bytes);
  return blocks;
}

bool decode_packaged(const Block& block, std::span<std::byte> out) {
  return snappy::RawUncompress(block.stored.data(), block.stored.size(), reinterpret_cast<char*>(out.data()));
}

bool decode_ours(const Block& block, std::span<std::byte> out) {
  return format::snappy_decode(as_bytes(block.stored), static_cast<std::uint32_t>(block.raw.size()), out);
}

bool decode_ours_without_slack(const Block& block, std::span<std::byte> out) {
  return decode_ours(block, out.first(block.raw.size()));
}

bool copy(const Block& block, std::span<std::byte> out) {
  std::memcpy(out.data(), block.raw.data(), block.raw.size());
  return true;
}

using Decode = bool(const Block& block, std::span<std::byte> out);

void run(benchmark::State& state, WorkloadKind kind, Decode* decode) {
  const auto block_bytes = static_cast<std::size_t>(state.range(0)) << 10;
  const Blocks& blocks = blocks_of(kind, block_bytes);
  const std::size_t room = block_bytes + format::kDecodeSlack;
  std::vector<std::byte> ring(kRing * room);
  const auto place = [&](std::size_t i) { return std::span(ring).subspan(i % kRing * room, room); };
  std::size_t stored_bytes = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    stored_bytes += blocks[i].stored.size();
    if (!decode(blocks[i], place(i)) || !std::equal(blocks[i].raw.begin(), blocks[i].raw.end(), place(i).begin())) {
      state.SkipWithError("decodes to other bytes");
      return;
    }
  }
  std::size_t decoded_bytes = 0;
  std::size_t next = 0;
  for (auto _ : state) {
    const Block& block = blocks[next % blocks.size()];
    bool good = decode(block, place(next));
    benchmark::DoNotOptimize(good);
    decoded_bytes += block.raw.size();
    ++next;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(decoded_bytes));
  state.counters["ratio"] =
      static_cast<double>(blocks.size() * blocks.front().raw.size()) / static_cast<double>(stored_bytes);
}

void register_all() {
  const std::pair<const char*, Decode*> decoders[] = {{"packaged", decode_packaged},
                                                      {"ours", decode_ours},
                                                      {"ours_without_slack", decode_ours_without_slack},
                                                      {"copy", copy}};
  for (const WorkloadKind kind : {WorkloadKind::tokens, WorkloadKind::tiny}) {
    for (const auto& [name, decode] : decoders) {
      const std::string title = std::string(Workload(kind, 0.001).name()) + "/" + name;
      benchmark::RegisterBenchmark(title.c_str(), run, kind, decode)->ArgName("KiB")->Arg(16)->Arg(64)->Arg(1024);
    }
  }
}

}  // namespace
}  // namespace dovetail::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  dovetail::bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
