// SPDX-License-Identifier: Apache-2.0
#include "bench/contestants.h"

namespace dovetail::bench {

bool tells_ids(std::string_view name) noexcept {
  return name == "dovetail" || name == "indexed" || name == "bare_walk";
}

const Contestant* find_contestant(std::string_view name) noexcept {
  static constexpr Contestant contestants[] = {
      {"dovetail", &run_dovetail}, {"indexed", &run_indexed},         {"bare_walk", &run_bare_walk},
      {"tfrecord", &run_tfrecord}, {"leveldb_log", &run_leveldb_log}, {"packaged_snappy", &run_packaged_snappy},
      {"lmdb", &run_lmdb},
  };
  for (const Contestant& contestant : contestants) {
    if (contestant.name == name) return &contestant;
  }
  return nullptr;
}

}  // namespace dovetail::bench
