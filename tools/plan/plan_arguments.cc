// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/plan_arguments.h"

#include <utility>

#include "format/try.h"
#include "format/words/plan_words.h"
#include "tools/plan/plan_file.h"
#include "tools/plan/weights.h"

namespace dovetail::tools {

namespace {

template <class Value>
void take(const std::optional<Value>& flag, Value& option) {
  if (flag) option = *flag;
}

Result<void> take_mix(const PlanFlags& flags, Mix& mix) {
  if (flags.weights) {
    DOVETAIL_ASSIGN(mix.schedule, parse_weights(*flags.weights));
  }
  take(flags.stop, mix.stop);
  take(flags.mix_steps, mix.steps);
  if ((flags.stop || flags.mix_steps) && !mix.enabled()) {
    return Error(Errc::invalid_option, "--stop and --mix-steps need a mix; give --weights");
  }
  return {};
}

Result<void> take_all(const PlanFlags& flags, PlanOptions& options) {
  take(flags.world, options.world);
  take(flags.batch, options.batch);
  take(flags.replicate, options.replicate);
  take(flags.lanes, options.lanes);
  take(flags.order, options.order);
  take(flags.assign, options.assign);
  take(flags.tail, options.tail);
  take(flags.open_runs, options.open_runs);
  take(flags.pool, options.pool);
  take(flags.seed, options.seed);
  if (flags.sticky) options.sticky = true;
  return take_mix(flags, options.mix);
}

}  // namespace

void add_plan_arguments(Flags& flags, PlanFlags& plan, const std::string& batch_help) {
  const PlanOptions preset;
  flags.add("--batch", plan.batch, batch_help);
  flags.add("--replicate", plan.replicate, "Number of consecutive ranks that read the same rows")
      .preset(std::to_string(preset.replicate));
  flags.add("--lanes", plan.lanes, "Ordered streams; 0 is one per reader").preset(std::to_string(preset.lanes));
  flags.add_choice("--order", plan.order, format::kOrderWords, "Order of the records")
      .preset(std::string(format::word_of(format::kOrderWords, preset.order)));
  flags
      .add_choice("--assign", plan.assign, format::kAssignWords,
                  "Assignment to lanes: cut the concatenated shards evenly, whole shards, or runs of all shards")
      .preset(std::string(format::word_of(format::kAssignWords, preset.assign)));
  flags.add_choice("--tail", plan.tail, format::kTailWords, "Handling of records that do not fill a last step")
      .preset(std::string(format::word_of(format::kTailWords, preset.tail)));
  flags
      .add("--open-runs", plan.open_runs,
           "Runs of a lane to interleave: at least this many if it has them, fewer than twice as many")
      .preset(std::to_string(preset.open_runs));
  flags.add("--pool", plan.pool, "Records in the shuffle pool of a lane").preset(std::to_string(preset.pool));
  flags.add("--seed", plan.seed, "Seed of the order, the same on all ranks").preset(std::to_string(preset.seed));
  flags.add("--sticky", plan.sticky, "Keep each rank's share of the shards in every epoch");
  flags
      .add("--weights", plan.weights,
           "Mix the PATHs: one weight for each (3,1 or 0.7,0.3), or a schedule by steps (0=3:1,1000=1:1)")
      .shown_as("LIST");
  flags
      .add_choice("--stop", plan.stop, format::kMixStopWords,
                  "End of a mix: before a source would begin again, when all are delivered, or after --mix-steps")
      .preset(std::string(format::word_of(format::kMixStopWords, preset.mix.stop)));
  flags.add("--mix-steps", plan.mix_steps, "Steps in an epoch of a mix; needs --stop steps");
  flags.add("--plan", plan.plan_path, "Recreate a saved plan exactly; see `dovetail plan --save`").shown_as("FILE");
  flags.add("--from-state", plan.state_path, "Continue where this state was taken; it sets order, seed and tail")
      .shown_as("FILE");
}

Result<Plan> PlanRequest::plan(std::shared_ptr<const DatasetShape> dataset) const {
  if (saved) {
    DOVETAIL_TRY(check_saved(*saved, options));
    if (dataset->fingerprint != saved->dataset) {
      return Error(Errc::state_mismatch, "this is another dataset: its fingerprint is " +
                                             dataset->fingerprint.to_hex() + ", the saved plan has " +
                                             saved->dataset.to_hex());
    }
  }
  Result<Plan> plan =
      state ? Plan::resume(std::move(dataset), options, *state) : Plan::make(std::move(dataset), options);
  if (!plan || !saved) return plan;
  DOVETAIL_TRY(check_saved(*saved, *plan));
  return plan;
}

Result<PlanRequest> plan_request(const PlanFlags& flags, std::optional<State> read) {
  PlanRequest request;
  if (!flags.plan_path.empty()) {
    DOVETAIL_ASSIGN(SavedPlan saved, load_plan(flags.plan_path));
    request.options = saved.options;
    request.state = saved.state;
    request.saved = std::move(saved);
  }
  if (!flags.state_path.empty()) {
    DOVETAIL_ASSIGN(State state, read ? Result<State>(std::move(*read)) : read_state(flags.state_path));
    if (!request.saved) request.options = state.options(1, 1);
    request.state = std::move(state);
  }
  if (!request.saved && !flags.batch) return Error(Errc::invalid_option, "--batch is required");
  DOVETAIL_TRY(take_all(flags, request.options));
  return request;
}

}  // namespace dovetail::tools
