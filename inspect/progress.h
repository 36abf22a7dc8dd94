// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <system_error>

#include <dovetail/error.h>

namespace dovetail::inspect {

/// How far an inspection is.
struct Progress {
  const char* work = "";  ///< What is being done: "inspecting", "reading", "describing".
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  double share = 0;  ///< Of the work, in [0, 1].
};

/// Called often, also for each record: must be cheap. Returning false cancels.
using OnProgress = std::function<bool(const Progress&)>;

/// Errors: `operation_canceled`, as the function wants.
inline Result<void> go_on(const OnProgress& on_progress, const Progress& progress) {
  if (!on_progress || on_progress(progress)) return {};
  return Error(make_error_code(boost::system::errc::operation_canceled));
}

/// 0 of nothing.
inline double share_of_work(std::uint64_t done, std::uint64_t all) noexcept {
  return all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all);
}

}  // namespace dovetail::inspect
