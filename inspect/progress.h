// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <system_error>

#include <dovetail/error.h>

namespace dovetail::inspect {

/// The progress of an inspection.
struct Progress {
  const char* work = "";  ///< The current stage: "inspecting", "reading", "sampling", "describing".
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  double share = 0;  ///< Share of the work done, in [0, 1].
};

/// Called often, up to once per record, so it must be cheap. Cancels if it returns false.
using OnProgress = std::function<bool(const Progress&)>;

/// Errors: `operation_canceled` if the function returns false.
inline Result<void> go_on(const OnProgress& on_progress, const Progress& progress) {
  if (!on_progress || on_progress(progress)) return {};
  return Error(make_error_code(boost::system::errc::operation_canceled));
}

/// The share of the work that is done; 0 if there is no work.
inline double share_of_work(std::uint64_t done, std::uint64_t all) noexcept {
  return all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all);
}

}  // namespace dovetail::inspect
