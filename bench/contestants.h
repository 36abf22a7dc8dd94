// SPDX-License-Identifier: Apache-2.0
// What delivers a workload: Dovetail and its peers. All take one record after the other from
// several files, shuffle them in a buffer of 256 records, and put 64 at a time into memory that is
// used again and again; all touch the rows alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <dovetail/bytes.h>

#include "bench/job.h"

namespace dovetail::bench {

inline constexpr std::uint32_t kBatch = 64;
inline constexpr std::uint32_t kPool = 256;

struct Contestant {
  const char* name;
  /// Does the job in this process. Throws what fails.
  Outcome (*run)(const Job& job);
};

/// Whether a contestant tells the ids of what it delivers.
bool tells_ids(std::string_view name) noexcept;

/// Nothing where there is none of this name.
const Contestant* find_contestant(std::string_view name) noexcept;

/// The library: rank `job.rank` of `job.world` reads all epochs through a `BatchReader`.
Outcome run_dovetail(const Job& job);
/// The same with TFRecord files where they lie, by their indexes.
Outcome run_indexed(const Job& job);
/// The yardstick: the same order and checks on shards of Dovetail, in one loop with nothing around
/// it.
Outcome run_bare_walk(const Job& job);
/// TFRecord framing, one buffer of 256 KiB for each file, both CRCs of every record checked. Ranks
/// share out the files.
Outcome run_tfrecord(const Job& job);
/// The log format of LevelDB, block by block of 32 KiB, the CRC of every fragment checked. Ranks
/// share out the files.
Outcome run_leveldb_log(const Job& job);
/// The shards of Dovetail through packaged Snappy: block after block of each file, checked and
/// decoded. Ranks share out the files.
Outcome run_packaged_snappy(const Job& job);
/// A cursor over one LMDB file, which checks nothing; each rank scans its part of the keys.
Outcome run_lmdb(const Job& job);

/// Why there is no LMDB here; empty where it is.
std::string lmdb_missing();
/// Writes an LMDB file whose key i, a `uint64`, has `record(i)`, valid until the next call. Throws
/// what fails.
void write_lmdb(const std::string& path, std::uint64_t records, std::uint64_t bytes,
                const std::function<ByteView(std::uint64_t)>& record);

}  // namespace dovetail::bench
