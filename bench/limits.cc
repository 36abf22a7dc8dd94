// SPDX-License-Identifier: Apache-2.0
#include "bench/limits.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>

#include <snappy.h>

#include "bench/contestants.h"
#include "bench/files.h"
#include "bench/limits_cold.h"
#include "bench/processes.h"
#include "bench/random.h"
#include "format/block_decoder.h"
#include "format/crc32c/crc32c.h"
#include "format/layout.h"
#include "format/snappy_decoder.h"

namespace dovetail::bench {

namespace {

constexpr std::size_t kBlockBytes = 64 << 10;
constexpr std::size_t kRunBytes = 256 << 10;
constexpr std::size_t kOpenRuns = 96;  // the default of a plan
constexpr std::size_t kSlots = 4;      // 2 of prefetch and 2 that are held, the defaults of a reader

/// Keeps the compiler from dropping work whose result nobody reads.
void keep(const void* data) {
  asm volatile("" : : "r"(data) : "memory");
}

/// Calls `pass()`, which returns bytes, until the time is up; the first call only warms up.
template <class Pass>
void repeat(const Job& job, Outcome& outcome, const Pass& pass) {
  pass();
  Start start;
  start.wait();
  do {
    outcome.delivered.bytes += pass();
    outcome.seconds = start.seconds();
  } while (outcome.seconds < job.seconds);
  outcome.cpu_seconds = start.cpu_seconds();
}

std::vector<ReadFile> my_shards(const Job& job) {
  const auto paths = share_of(shards_in(job.data), job.rank, job.world);
  return {paths.begin(), paths.end()};
}

std::size_t ring_bytes(const Job& job) {
  return kSlots * kBatch * std::size_t{job.max_record_bytes};
}

/// Pieces of `piece` bytes of the shards, in the order of the file, one after the other through
/// `memory`.
void pread_pieces(const Job& job, Outcome& outcome, std::size_t piece, std::size_t memory_bytes) {
  const auto files = my_shards(job);
  std::vector<std::byte> memory(std::max(piece, memory_bytes));
  std::size_t at = 0;
  std::size_t file = 0;
  std::uint64_t offset = 0;
  constexpr std::size_t kPieces = 64;  // between looks at the clock
  repeat(job, outcome, [&] {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < kPieces; ++i) {
      if (at + piece > memory.size()) at = 0;
      const std::size_t got = files[file].read_some(offset, std::span(memory).subspan(at, piece));
      at += piece;
      bytes += got;
      offset += got;
      if (got < piece) {
        offset = 0;
        file = (file + 1) % files.size();
      }
    }
    return bytes;
  });
}

void pread_block_hot(const Job& job, Outcome& outcome) {
  pread_pieces(job, outcome, kBlockBytes, kBlockBytes);
}
void pread_run_hot(const Job& job, Outcome& outcome) {
  pread_pieces(job, outcome, kRunBytes, kRunBytes);
}
void pread_block_ring(const Job& job, Outcome& outcome) {
  pread_pieces(job, outcome, kBlockBytes, ring_bytes(job));
}
void pread_run_ring(const Job& job, Outcome& outcome) {
  pread_pieces(job, outcome, kRunBytes, ring_bytes(job));
}

/// Each block, which is one record, into the next row of the ring, in a random order; with its CRC
/// or without.
void pread_records(const Job& job, Outcome& outcome, bool check) {
  const auto files = my_shards(job);
  struct Place {
    const ReadFile* file;
    format::IndexEntry entry;
  };
  std::vector<Place> places;
  for (const ReadFile& file : files) {
    for (const format::IndexEntry& entry : read_index(file)) places.push_back({&file, entry});
  }
  Random random(1);
  for (std::size_t i = places.size(); i > 1; --i) {
    std::swap(places[i - 1], places[random.below(static_cast<std::uint32_t>(i))]);
  }
  std::vector<std::byte> ring(ring_bytes(job));
  std::size_t at = 0;
  std::size_t next = 0;
  repeat(job, outcome, [&] {
    const auto& [file, entry] = places[next];
    next = (next + 1) % places.size();
    const std::size_t bytes = std::size_t{entry.table_bytes} + entry.stored_bytes;
    if (at + bytes > ring.size()) at = 0;
    const auto row = std::span(ring).subspan(at, bytes);
    file->read(entry.offset + format::kBlockHeaderBytes, row);
    if (check && format::crc32c(row) != entry.payload_crc) throw std::runtime_error("a block fails its CRC");
    at += bytes;
    return bytes;
  });
}

void pread_record_ring(const Job& job, Outcome& outcome) {
  pread_records(job, outcome, false);
}
void pread_record_checked(const Job& job, Outcome& outcome) {
  pread_records(job, outcome, true);
}

void crc_block(const Job& job, Outcome& outcome) {
  std::vector<std::byte> block(kBlockBytes);
  Random(1).fill(block);
  repeat(job, outcome, [&] {
    constexpr std::size_t kBlocks = 64;
    std::uint32_t crc = 0;
    for (std::size_t i = 0; i < kBlocks; ++i) crc = format::crc32c(block, crc);
    keep(&crc);
    return kBlocks * block.size();
  });
}

/// As many blocks as are read from hot memory in turn, each decoded to the next of the buffers of
/// the open runs.
template <class Decode>
void decode_blocks(const Job& job, Outcome& outcome, const Decode& decode) {
  constexpr std::size_t kBlocks = 8;  // about 300 KiB stored: in the cache of the core, as what has just been read
  const auto files = my_shards(job);
  std::vector<std::vector<std::byte>> stored;
  std::vector<format::IndexEntry> entries;
  for (const ReadFile& file : files) {
    for (const format::IndexEntry& entry : read_index(file)) {
      if (entry.codec != Codec::snappy || entries.size() == kBlocks) continue;
      stored.emplace_back(std::size_t{entry.table_bytes} + entry.stored_bytes);
      file.read(entry.offset + format::kBlockHeaderBytes, stored.back());
      entries.push_back(entry);
    }
  }
  if (entries.empty()) throw std::runtime_error("no block is compressed");
  std::vector<std::vector<std::byte>> buffers(kOpenRuns, std::vector<std::byte>(kBlockBytes + format::kDecodeSlack));
  std::size_t buffer = 0;
  repeat(job, outcome, [&] {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      std::vector<std::byte>& out = buffers[buffer];
      buffer = (buffer + 1) % buffers.size();
      if (out.size() < entries[i].raw_bytes + format::kDecodeSlack)
        out.resize(entries[i].raw_bytes + format::kDecodeSlack);
      if (!decode(entries[i], stored[i], out)) throw std::runtime_error("a block cannot be decoded");
      bytes += entries[i].raw_bytes;
    }
    return bytes;
  });
}

void decode_block(const Job& job, Outcome& outcome) {
  decode_blocks(job, outcome, [](const format::IndexEntry& entry, ByteView stored, std::span<std::byte> out) {
    return format::decode_block(header_of(entry), stored, out).has_value();
  });
}

void decode_packaged(const Job& job, Outcome& outcome) {
  decode_blocks(job, outcome, [](const format::IndexEntry& entry, ByteView stored, std::span<std::byte> out) {
    const auto payload = as_chars(stored.subspan(entry.table_bytes));
    return snappy::RawUncompress(payload.data(), payload.size(), reinterpret_cast<char*>(out.data()));
  });
}

/// Where the rows of the open blocks lie in the order of a pool, one row of each block in turn.
std::vector<std::uint32_t> pool_order(std::size_t record_bytes) {
  Random random(2);
  std::vector<std::uint32_t> pool;
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < kOpenRuns * (kBlockBytes / record_bytes); ++i) {
    const auto from = static_cast<std::uint32_t>(i % kOpenRuns * kBlockBytes + i / kOpenRuns * record_bytes);
    if (pool.size() < kPool) {
      pool.push_back(from);
    } else {
      order.push_back(std::exchange(pool[random.below(kPool)], from));
    }
  }
  order.insert(order.end(), pool.begin(), pool.end());
  return order;
}

/// Rows of one size from the blocks of the open runs, which `refill` may change before each turn
/// through them.
template <std::size_t kBytes, class Refill>
void gather_rows(const Job& job, Outcome& outcome, const Refill& refill) {
  std::vector<std::byte> blocks(kOpenRuns * kBlockBytes);
  Random(1).fill(blocks);
  const std::vector<std::uint32_t> order = pool_order(kBytes);  // beforehand: the draws do not count
  std::vector<std::byte> ring(ring_bytes(job));
  const std::size_t rows = ring.size() / kBytes;
  std::size_t at = 0;
  repeat(job, outcome, [&] {
    refill(blocks);
    for (const std::uint32_t from : order) {
      std::memcpy(ring.data() + at * kBytes, blocks.data() + from, kBytes);
      at = at + 1 == rows ? 0 : at + 1;
    }
    keep(ring.data());
    return order.size() * kBytes;
  });
}

template <class Refill>
void gather_rows(const Job& job, Outcome& outcome, const Refill& refill) {
  job.workload == "w3" ? gather_rows<64>(job, outcome, refill) : gather_rows<1024>(job, outcome, refill);
}

void gather(const Job& job, Outcome& outcome) {
  gather_rows(job, outcome, [](std::span<const std::byte>) {});
}

/// What is left of a reader without order, index and batches.
void all_parts(const Job& job, Outcome& outcome) {
  const auto files = my_shards(job);
  std::vector<std::uint64_t> offsets(files.size());
  std::size_t next = 0;
  gather_rows(job, outcome, [&](std::span<std::byte> blocks) {
    for (; !blocks.empty(); blocks = blocks.subspan(kBlockBytes)) {
      const std::span<std::byte> block = blocks.first(kBlockBytes);
      if (files[next].read_some(offsets[next], block) < kBlockBytes) offsets[next] = 0;
      offsets[next] += kBlockBytes;
      next = (next + 1) % files.size();
      const std::uint32_t crc = format::crc32c(block);
      keep(&crc);
    }
  });
}

}  // namespace

const std::vector<Limit>& all_limits() {
  static const std::vector<Limit> limits = {
      {"pread_block_hot", "64 KiB from the page cache into one hot buffer", "stored", false, &pread_block_hot},
      {"pread_run_hot", "256 KiB from the page cache into one hot buffer", "stored", false, &pread_run_hot},
      {"pread_block_ring", "64 KiB from the page cache into a ring as large as the slots", "stored", false,
       &pread_block_ring},
      {"pread_run_ring", "256 KiB from the page cache into a ring as large as the slots", "stored", false,
       &pread_run_ring},
      {"pread_record_ring", "records in random order from the page cache into a ring as large as the slots", "stored",
       false, &pread_record_ring},
      {"pread_record_checked", "the same, and the CRC32C of each there", "stored", false, &pread_record_checked},
      {"crc_block", "CRC32C of 64 KiB in the cache", "stored", false, &crc_block},
      {"decode_block", "checking and decoding blocks of the dataset into 96 buffers", "payload", false, &decode_block},
      {"decode_packaged", "packaged Snappy alone on the same blocks and buffers", "payload", false, &decode_packaged},
      {"gather", "rows from 96 blocks of 64 KiB, in the order of a pool, into a ring as large as the slots", "payload",
       false, &gather},
      {"all_parts", "the three in turn: 64 KiB from the page cache into each of 96 blocks, their CRC32C, their rows",
       "payload", false, &all_parts},
      {"cold_threads", "random reads from storage through the page cache, 32 threads", "stored", true, &cold_threads},
      {"cold_direct", "random reads from storage past the page cache, 32 threads", "stored", true, &cold_direct},
  };
  return limits;
}

std::vector<const Limit*> limits_of(const std::string& workload, bool snappy) {
  std::vector<const Limit*> useful;
  for (const Limit& limit : all_limits()) {
    const std::string_view name = limit.name;
    const bool of_records = name.starts_with("pread_record");
    const bool of_snappy = name.starts_with("decode");
    const bool of_both = name.starts_with("cold") || (name.starts_with("pread") && !of_records);
    const bool wanted = of_both || (workload == "w2" ? of_records : snappy ? of_snappy : !of_records && !of_snappy);
    // Rows and CRCs do not depend on the codec: they are measured once, with the stored data.
    if (wanted) useful.push_back(&limit);
  }
  return useful;
}

Outcome measure_limit(const Job& job) {
  for (const Limit& limit : all_limits()) {
    if (limit.name != job.task) continue;
    Outcome outcome;
    limit.run(job, outcome);
    return outcome;
  }
  throw std::invalid_argument("no task is called " + job.task);
}

std::vector<Passage> passages_of(const std::string& workload, bool snappy, double stored) {
  if (workload == "w2") return {{"pread_record_checked", stored}};
  const std::string pread = "pread_block_hot|pread_run_hot";
  if (snappy) return {{pread, stored}, {"decode_block", 1}, {"gather", 1}};
  return {{pread, stored}, {"crc_block", stored}, {"gather", 1}};
}

}  // namespace dovetail::bench
