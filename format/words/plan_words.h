// SPDX-License-Identifier: Apache-2.0
// The words for options of plans: on the command line, in Python and in plan files.
#pragma once

#include <dovetail/plan.h>

#include "format/text/words.h"

namespace dovetail::format {

inline constexpr Words<OrderKind, 3> kOrderWords{
    {{"shuffle", OrderKind::shuffle}, {"sequential", OrderKind::sequential}, {"global", OrderKind::global}}};
inline constexpr Words<Assign, 3> kAssignWords{
    {{"even", Assign::even}, {"files", Assign::files}, {"runs", Assign::runs}}};
inline constexpr Words<Tail, 3> kTailWords{{{"drop", Tail::drop}, {"pad", Tail::pad}, {"wrap", Tail::wrap}}};
inline constexpr Words<MixStop, 3> kMixStopWords{
    {{"first", MixStop::first}, {"all", MixStop::all}, {"steps", MixStop::steps}}};

}  // namespace dovetail::format
