// SPDX-License-Identifier: Apache-2.0
// What the stages of delivery cost on one core, apart from each other. The order has plan_bench.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <snappy.h>

#include "bench/random.h"
#include "bench/workloads.h"
#include "format/block_decoder.h"
#include "format/block_encoder.h"
#include "format/crc32c/crc32c.h"
#include "format/crc32c/crc32c_backends.h"
#include "format/snappy_decoder.h"

namespace dovetail::bench {
namespace {

constexpr std::size_t kBlockBytes = 64 << 10;
constexpr std::size_t kOpenRuns = 96;
constexpr std::size_t kBlocks = 8;  // their stored bytes stay in the cache of the core

void count_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(bytes));
}

std::vector<std::byte> random_bytes(std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  Random(1).fill(all);
  return all;
}

void crc(benchmark::State& state, format::Crc32cUpdate* update) {
  const auto bytes = random_bytes(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(update(~0u, bytes.data(), bytes.size()));
  count_bytes(state, bytes.size());
}

void crc_chosen(benchmark::State& state) {
  const auto bytes = random_bytes(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(format::crc32c(bytes));
  count_bytes(state, bytes.size());
}

/// Blocks of a workload as a writer makes them, and the buffers of the open runs.
struct Blocks {
  explicit Blocks(WorkloadKind kind, Codec codec)
      : buffers(kOpenRuns, std::vector<std::byte>(kBlockBytes + format::kDecodeSlack)) {
    const Workload workload(kind);
    std::vector<std::byte> record(workload.max_record_bytes());
    std::uint64_t next = 0;
    for (format::EncodedBlock& block : blocks) {
      format::RawBlock raw;
      while (raw.bytes.size() + record.size() <= kBlockBytes) {
        const auto bytes = std::span(record).first(workload.record_bytes(next));
        workload.fill(next++, bytes);
        raw.append(bytes);
      }
      format::encode_block(raw, codec, block);
      raw_bytes = block.raw_bytes;  // the same for all: records are of one size
    }
  }

  static format::BlockHeader header_of(const format::EncodedBlock& block) {
    return {.codec = block.codec,
            .records = block.records,
            .stored_bytes = block.stored_bytes(),
            .raw_bytes = block.raw_bytes,
            .table_bytes = block.table_bytes,
            .payload_crc = block.payload_crc};
  }

  format::EncodedBlock blocks[kBlocks];
  std::vector<std::vector<std::byte>> buffers;
  std::size_t raw_bytes = 0;
};

/// The library's way from stored bytes to records: CRC, codec, table.
void block_decode(benchmark::State& state, WorkloadKind kind, Codec codec) {
  Blocks data(kind, codec);
  std::size_t at = 0;
  for (auto _ : state) {
    const format::EncodedBlock& block = data.blocks[at % kBlocks];
    const auto records = format::decode_block(Blocks::header_of(block), block.body, data.buffers[at++ % kOpenRuns]);
    if (!records) return state.SkipWithError("a block cannot be decoded");
    benchmark::DoNotOptimize(records->size());
  }
  count_bytes(state, data.raw_bytes);
}

/// The packaged decoder alone.
void packaged_snappy(benchmark::State& state, WorkloadKind kind) {
  Blocks data(kind, Codec::snappy);
  std::size_t at = 0;
  for (auto _ : state) {
    const format::EncodedBlock& block = data.blocks[at % kBlocks];
    const auto payload = as_chars(ByteView(block.body).subspan(block.table_bytes));
    char* const out = reinterpret_cast<char*>(data.buffers[at++ % kOpenRuns].data());
    if (!snappy::RawUncompress(payload.data(), payload.size(), out)) {
      return state.SkipWithError("a block cannot be decoded");
    }
  }
  count_bytes(state, data.raw_bytes);
}

/// Rows of one size from random places in the blocks of the open runs into a ring of four batches
/// of 64, as a gather does. The argument is the size of a row in bytes.
void gather_copy(benchmark::State& state) {
  const auto row = static_cast<std::size_t>(state.range(0));
  constexpr std::size_t kRows = 4 * 64;
  const auto blocks = random_bytes(kOpenRuns * kBlockBytes);
  std::vector<std::byte> ring(kRows * row);
  Random random(2);
  std::vector<std::size_t> places(64 << 10);
  for (std::size_t& place : places) place = random.below(static_cast<std::uint32_t>(blocks.size() / row)) * row;
  std::size_t at = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kRows; ++i) {
      std::memcpy(ring.data() + i * row, blocks.data() + places[at + i], row);
    }
    at = (at + kRows) % places.size();
    benchmark::ClobberMemory();
  }
  count_bytes(state, ring.size());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(kRows));
}

void register_all() {
  const auto add_sizes = [](benchmark::internal::Benchmark* bench) {
    for (const std::int64_t bytes : {64, 256, 1 << 10, 4 << 10, 64 << 10, 1 << 20}) bench->Arg(bytes);
  };
  const format::Crc32cBackends backends = format::crc32c_usable_backends();
  for (std::size_t i = 0; i < backends.count; ++i) {
    const std::string name = std::string("crc32c/") + backends.items[i].name;
    add_sizes(benchmark::RegisterBenchmark(name.c_str(), crc, backends.items[i].update));
  }
  add_sizes(benchmark::RegisterBenchmark("crc32c/chosen", crc_chosen));
  for (const WorkloadKind kind : {WorkloadKind::tokens, WorkloadKind::tiny}) {
    const std::string name(Workload(kind, 0.001).name());
    benchmark::RegisterBenchmark(("block_decode/" + name + "/stored").c_str(), block_decode, kind, Codec::none);
    benchmark::RegisterBenchmark(("block_decode/" + name + "/snappy").c_str(), block_decode, kind, Codec::snappy);
    benchmark::RegisterBenchmark(("packaged_snappy/" + name).c_str(), packaged_snappy, kind);
  }
  benchmark::RegisterBenchmark("gather_copy", gather_copy)->Arg(64)->Arg(1 << 10)->Arg(16 << 10);
}

}  // namespace
}  // namespace dovetail::bench

int main(int argc, char** argv) {
  dovetail::bench::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
