// SPDX-License-Identifier: Apache-2.0
// The words for values of plan options, on the command line and in files.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <dovetail/plan.h>

namespace dovetail::tools {

template <class Value, std::size_t kCount>
using Words = std::array<std::pair<std::string_view, Value>, kCount>;

inline constexpr Words<OrderKind, 3> kOrderWords{
    {{"shuffle", OrderKind::shuffle}, {"sequential", OrderKind::sequential}, {"global", OrderKind::global}}};
inline constexpr Words<Assign, 3> kAssignWords{
    {{"even", Assign::even}, {"files", Assign::files}, {"runs", Assign::runs}}};
inline constexpr Words<Tail, 3> kTailWords{{{"drop", Tail::drop}, {"pad", Tail::pad}, {"wrap", Tail::wrap}}};
inline constexpr Words<MixStop, 3> kStopWords{
    {{"first", MixStop::first}, {"all", MixStop::all}, {"steps", MixStop::steps}}};

/// Needs: `words` has the value.
template <class Value, std::size_t kCount>
std::string_view word_of(const Words<Value, kCount>& words, Value value) {
  for (const auto& [word, meaning] : words) {
    if (meaning == value) return word;
  }
  return {};
}

}  // namespace dovetail::tools
