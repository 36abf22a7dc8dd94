// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <utility>

#include "format/try.h"
#include "format/words/plan_words.h"
#include "reader/plan/plan_builder.h"

namespace dovetail::detail {
namespace {

/// Collects the differences between a state and the options of the plan that continues from it.
class Differences {
 public:
  void compare(const char* name, std::string_view options, std::string_view state) {
    if (options == state) return;
    add(std::string(name).append(" is ").append(options).append(", but was ").append(state) +
        " when the state was taken");
  }
  void compare(const char* name, std::uint64_t options, std::uint64_t state) {
    compare(name, std::to_string(options), std::to_string(state));
  }
  void add(const std::string& difference) { text_ += (text_.empty() ? "" : "; ") + difference; }

  Result<void> result() const {
    if (text_.empty()) return {};
    return Error(Errc::state_mismatch, text_);
  }

 private:
  std::string text_;
};

Result<void> compare(const PlanFacts& facts, const State& state) {
  const PlanOptions& options = facts.options;
  Differences differences;
  const Hash128 content = state_content(facts);
  const bool mixed = facts.mix != nullptr;
  if (mixed != state.mixed) {
    differences.add(mixed ? "the state was taken without a mix" : "the state was taken from a mix of datasets");
  } else if (mixed) {
    if (content.high != state.content.high) differences.add("the mix has other datasets");
    if (content.low != state.content.low) differences.add("weights, stop rule or sources of the mix differ");
  } else if (content != state.content) {
    differences.add("this is another dataset: its fingerprint is " + content.to_hex() + ", the state has " +
                    state.content.to_hex() + "; if its records have changed, begin an epoch without the state");
  }
  using namespace format;  // words
  differences.compare("order", word_of(kOrderWords, options.order), word_of(kOrderWords, state.order));
  differences.compare("assign", word_of(kAssignWords, options.assign), word_of(kAssignWords, state.assign));
  differences.compare("tail", word_of(kTailWords, options.tail), word_of(kTailWords, state.tail));
  differences.compare("sticky", options.sticky, state.sticky);
  differences.compare("open_runs", options.open_runs, state.open_runs);
  differences.compare("pool", options.pool, state.pool);
  differences.compare("seed", options.seed, state.seed);
  return differences.result();
}

/// Whether `options` continue the lanes of `phase` unchanged.
bool fits(const PlanOptions& options, const State::Phase& phase) {
  if (options.replicate == 0 || options.world < options.replicate) return false;
  const std::uint64_t readers = options.world / options.replicate;
  return (options.lanes == 0 || options.lanes == phase.lanes) && phase.lanes % readers == 0 &&
         readers * options.batch == std::uint64_t{phase.lanes} * phase.rows_per_lane;
}

}  // namespace

Result<PlanFacts> resume_facts(std::shared_ptr<const DatasetShape> dataset, const PlanOptions& options,
                               const State& state) {
  DOVETAIL_TRY(check_state(state));
  const State::Phase present = state.phases.back();
  const bool same_lanes = fits(options, present);
  PlanOptions continued = options;
  if (same_lanes) continued.lanes = present.lanes;
  DOVETAIL_ASSIGN(PlanFacts facts, make_facts(std::move(dataset), continued));
  DOVETAIL_TRY(compare(facts, state));

  EpochPast past{state.epoch, state.phases};
  // A phase without steps took nothing from the rest before it.
  if (same_lanes || present.steps == 0) past.phases.pop_back();
  if (past.phases.size() > State::kMaxChanges) {
    return Error(Errc::too_many_changes,
                 "epoch " + std::to_string(state.epoch) + " has changed its world " +
                     std::to_string(State::kMaxChanges) + " times: continue with a world and batch of " +
                     std::to_string(std::uint64_t{present.lanes} * present.rows_per_lane) +
                     " rows per step, or begin epoch " + std::to_string(std::uint64_t{state.epoch} + 1));
  }
  facts.start = state.position();
  facts.changed_at_start = !same_lanes && !past.phases.empty();
  if (!past.phases.empty()) facts.past = std::move(past);
  derive_ids(facts);
  return facts;
}

}  // namespace dovetail::detail
