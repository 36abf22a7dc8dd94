// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

/// `DOVETAIL_TRY(f(x));` returns the error of a `Result`, if it has one, from the enclosing
/// function.
#define DOVETAIL_TRY(...)                                                \
  if (auto dovetail_tried = (__VA_ARGS__); dovetail_tried.has_value()) { \
  } else /* NOLINT(readability-else-after-return) */                     \
    return std::move(dovetail_tried).error()

/// `DOVETAIL_ASSIGN(auto value, f(x));` also returns the error. Otherwise it declares or assigns
/// the value of the `Result`.
#define DOVETAIL_ASSIGN(declaration, ...) DOVETAIL_ASSIGN_IN_LINE(__LINE__, declaration, __VA_ARGS__)
#define DOVETAIL_ASSIGN_IN_LINE(line, declaration, ...) DOVETAIL_ASSIGN_NAMED(line, declaration, __VA_ARGS__)
#define DOVETAIL_ASSIGN_NAMED(line, declaration, ...)                                        \
  auto dovetail_result_##line = (__VA_ARGS__);                                               \
  if (!dovetail_result_##line.has_value()) return std::move(dovetail_result_##line).error(); \
  declaration = *std::move(dovetail_result_##line)
