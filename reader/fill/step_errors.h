// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "reader/fetch/damage_log.h"

namespace dovetail::detail {

/// Names a batch in messages.
struct StepName {
  std::uint32_t rank = 0;
  std::uint32_t epoch = 0;
  std::uint64_t step = 0;
};

/// The error for a batch of `bytes` that does not fit its slot.
Error batch_too_large(const StepName& step, std::uint64_t bytes, std::uint64_t capacity);

/// Adds to the error of a loss that a step needed its records.
Error needed_at_step(const Loss& loss, const StepName& step);

/// `; key "cats/1.jpg"`, if the record is an Example with one text as `__key__`. Else nothing.
std::string key_clause(ByteView record);

}  // namespace dovetail::detail
