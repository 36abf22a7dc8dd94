// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

/// `DOVETAIL_TRY(f(x));` returns the error of a `Result`, if it has one, from the function around it.
#define DOVETAIL_TRY(...) \
  if (auto dovetail_tried = (__VA_ARGS__); !dovetail_tried.has_value()) return std::move(dovetail_tried).error()

/// `DOVETAIL_ASSIGN(auto value, f(x));` does the same, and else declares `value` with what the `Result` holds.
#define DOVETAIL_ASSIGN(declaration, ...) DOVETAIL_ASSIGN_COUNTED(__COUNTER__, declaration, __VA_ARGS__)
#define DOVETAIL_ASSIGN_COUNTED(count, declaration, ...) DOVETAIL_ASSIGN_NAMED(count, declaration, __VA_ARGS__)
#define DOVETAIL_ASSIGN_NAMED(count, declaration, ...)                                         \
  auto dovetail_result_##count = (__VA_ARGS__);                                                \
  if (!dovetail_result_##count.has_value()) return std::move(dovetail_result_##count).error(); \
  declaration = *std::move(dovetail_result_##count)
