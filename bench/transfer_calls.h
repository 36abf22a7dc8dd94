// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace dovetail::bench {

/// How often the program has called what costs too much to be called for every batch: functions of
/// the CUDA runtime that allocate, register, or make a thread wait. Linking transfer_calls.cc with
/// `--wrap` for each of them makes the whole program count, static libraries included;
/// CMakeLists.txt has the list.
using CallCounts = std::map<std::string, std::uint64_t>;

CallCounts count_calls();
/// What was called between the two.
CallCounts calls_between(const CallCounts& before, const CallCounts& after);

/// Events are made until there are as many as are ever in use at once; all others, never.
bool grows_a_pool(const std::string& call);

}  // namespace dovetail::bench
