// SPDX-License-Identifier: Apache-2.0
#include "bench/contestants.h"

namespace dovetail::bench {

bool is_ours(std::string_view name) noexcept {
  return name == "dovetail" || name == "indexed";
}

const Contestant* find_contestant(std::string_view name) noexcept {
  static constexpr Contestant contestants[] = {
      {"dovetail", &run_dovetail}, {"indexed", &run_indexed},
      {"tfrecord", &run_tfrecord}, {"packaged_snappy", &run_packaged_snappy},
      {"lmdb", &run_lmdb},
  };
  for (const Contestant& contestant : contestants) {
    if (contestant.name == name) return &contestant;
  }
  return nullptr;
}

}  // namespace dovetail::bench
