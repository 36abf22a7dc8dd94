// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

namespace dovetail::detail {

/// Names a batch in messages.
struct StepName {
  std::uint32_t rank = 0;
  std::uint32_t epoch = 0;
  std::uint64_t step = 0;
};

/// The error for a batch of `bytes` that does not fit its slot.
Error batch_too_large(const StepName& step, std::uint64_t bytes, std::uint64_t capacity);

/// Adds to the failure of a shard that a rank's step needed its records [first, end).
Error needed_at_step(const Error& failure, std::uint64_t first, std::uint64_t end, std::uint32_t rank,
                     std::uint64_t step, std::uint32_t epoch);

/// `; key "cats/1.jpg"`, if the record is an Example with one text as `__key__`. Else nothing.
std::string key_clause(ByteView record);

}  // namespace dovetail::detail
