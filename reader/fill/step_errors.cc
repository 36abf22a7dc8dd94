// SPDX-License-Identifier: Apache-2.0
#include "reader/fill/needed_at_step.h"

#include <string>

namespace dovetail::detail {

Error needed_at_step(const Error& failure, std::uint64_t first, std::uint64_t end, std::uint32_t rank,
                     std::uint64_t step, std::uint32_t epoch) {
  const std::string text = failure.detail() + (failure.detail().empty() ? "" : "; ") + "records [" +
                           std::to_string(first) + ", " + std::to_string(end) + ") of the shard, needed by rank " +
                           std::to_string(rank) + " at step " + std::to_string(step) + " of epoch " +
                           std::to_string(epoch);
  const Error needed(failure.code(), text);
  return failure.offset() ? needed.at(failure.path(), *failure.offset()) : needed.in_file(failure.path());
}

}  // namespace dovetail::detail
