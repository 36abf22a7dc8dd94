// SPDX-License-Identifier: Apache-2.0
// Saved plans, which can be run later exactly as they were, and states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "tools/command/json.h"

namespace dovetail::tools {

/// The content of a saved plan: the options that recreate it, and ids that verify the result.
struct SavedPlan {
  PlanOptions options;
  std::optional<State> state;  ///< The start, if it was planned from a state.
  Hash128 plan_id;
  Hash128 order_id;
  Hash128 dataset;  ///< Fingerprint of the dataset.
  std::uint64_t records = 0;
};

SavedPlan saved_plan(const Plan& plan, const std::optional<State>& state);

/// Every option by the name of its field; `mix` only if there is one.
boost::json::object to_json(const PlanOptions& options);

/// JSON: the version of this form (`dovetail_plan`, 1), the options under `options`, the ids, and
/// `state` if there is one.
std::string to_text(const SavedPlan& saved);
/// Errors: `bad_state` for any other text; `unsupported_version` for a newer form.
Result<SavedPlan> saved_plan_from_text(const std::string& text);

/// Replaces the file. Errors: those of the system.
Result<void> save_plan(const std::string& path, const SavedPlan& saved);
/// Errors: those of `saved_plan_from_text` and of the system, naming the file.
Result<SavedPlan> load_plan(const std::string& path);

/// Checks that these are the options of the saved plan. Lanes are compared in the form in which
/// they were given.
/// Errors: `state_mismatch`, naming each difference.
Result<void> check_saved(const SavedPlan& saved, const PlanOptions& options);
/// Checks that `plan` is the saved plan. Errors: the same.
Result<void> check_saved(const SavedPlan& saved, const Plan& plan);

/// Reads a state in its text form, with or without a newline, or in its binary form.
/// Errors: those of the system, `bad_state`, `unsupported_version`; all name the file.
Result<State> read_state(const std::string& path);

/// Writes the text of a state and a newline; see `replace_text`.
Result<void> write_state(const std::string& path, const State& state);

}  // namespace dovetail::tools
