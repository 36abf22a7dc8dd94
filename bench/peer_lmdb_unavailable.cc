// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "bench/contestants.h"

namespace dovetail::bench {

std::string lmdb_missing() {
  return "built without LMDB (liblmdb-dev)";
}

void write_lmdb(const std::string&, std::uint64_t, std::uint64_t, const std::function<ByteView(std::uint64_t)>&) {
  throw std::logic_error(lmdb_missing());
}

Outcome run_lmdb(const Job&) {
  throw std::logic_error(lmdb_missing());
}

}  // namespace dovetail::bench
