// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/plan_file.h"

#include <string_view>
#include <utility>

#include <dovetail/bytes.h>
#include <boost/json/serialize.hpp>

#include "format/try.h"
#include "format/words/plan_words.h"
#include "tools/command/json.h"
#include "tools/command/text_file.h"

namespace dovetail::tools {

namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kMaxPlanBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxStateBytes = 4096;
constexpr std::string_view kTextPrefix = "dvt:";
// The binary form begins with its version number, which is not a character of the text form.
constexpr unsigned char kLastVersionByte = 8;

boost::json::object to_json(const Mix& mix) {
  boost::json::array schedule;
  for (const MixWeights& entry : mix.schedule) {
    schedule.push_back(boost::json::object{
        {"from_step", entry.from_step}, {"weights", boost::json::array(entry.weights.begin(), entry.weights.end())}});
  }
  return {{"stop", format::word_of(format::kMixStopWords, mix.stop)},
          {"steps", mix.steps},
          {"schedule", std::move(schedule)}};
}

std::string take_weights(const boost::json::value& value, MixWeights& weights) {
  JsonFields fields(value);
  fields.take("from_step", weights.from_step);
  const auto* list = fields.find("weights");
  if (list == nullptr || !list->is_array()) return "weights are not a list";
  for (const boost::json::value& weight : list->get_array()) {
    const boost::json::value entry = {{"weight", weight}};
    fields.fail(JsonFields(entry).take("weight", weights.weights.emplace_back()).failure());
  }
  return fields.failure();
}

std::string take_mix(const boost::json::value& value, Mix& mix) {
  JsonFields fields(value);
  fields.take("stop", format::kMixStopWords, mix.stop).take("steps", mix.steps);
  const auto* schedule = fields.find("schedule");
  if (schedule == nullptr || !schedule->is_array()) return "schedule is not a list";
  for (const boost::json::value& entry : schedule->get_array()) {
    if (std::string failure = take_weights(entry, mix.schedule.emplace_back()); !failure.empty()) return failure;
  }
  return fields.failure();
}

std::string take_options(const boost::json::value& value, PlanOptions& options) {
  JsonFields fields(value);
  fields.take("world", options.world)
      .take("batch", options.batch)
      .take("replicate", options.replicate)
      .take("lanes", options.lanes)
      .take("order", format::kOrderWords, options.order)
      .take("assign", format::kAssignWords, options.assign)
      .take("tail", format::kTailWords, options.tail)
      .take("open_runs", options.open_runs)
      .take("pool", options.pool)
      .take("seed", options.seed)
      .take("sticky", options.sticky);
  if (const auto* mix = fields.find("mix")) {
    if (const std::string failure = take_mix(*mix, options.mix); !failure.empty()) fields.fail("mix: " + failure);
  }
  return fields.failure();
}

Error no_plan(const std::string& why) {
  return Error(Errc::bad_state, "it is not a saved plan: " + why);
}

void compare(std::string& differences, std::string_view name, const boost::json::value* now,
             const boost::json::value* saved) {
  const auto text = [](const boost::json::value* value) {
    return value == nullptr ? std::string("not set") : boost::json::serialize(*value);
  };
  if (text(now) == text(saved)) return;
  differences +=
      (differences.empty() ? "" : "; ") + std::string(name) + " is " + text(now) + ", in the saved plan " + text(saved);
}

Result<void> same(const boost::json::object& now, const boost::json::object& saved) {
  std::string differences;
  for (const auto& field : now) compare(differences, field.key(), &field.value(), saved.if_contains(field.key()));
  for (const auto& field : saved) {
    if (!now.contains(field.key())) compare(differences, field.key(), nullptr, &field.value());
  }
  if (differences.empty()) return {};
  return Error(Errc::state_mismatch, differences);
}

/// The options with the actual number of lanes in place of 0, which means one per reader.
PlanOptions exact_options(const Plan& plan) {
  PlanOptions options = plan.options();
  options.lanes = plan.lanes();
  return options;
}

boost::json::object identity(const SavedPlan& saved) {
  return {{"dataset", saved.dataset.to_hex()},
          {"records", saved.records},
          {"order_id", saved.order_id.to_hex()},
          {"plan_id", saved.plan_id.to_hex()}};
}

}  // namespace

boost::json::object to_json(const PlanOptions& options) {
  boost::json::object object = {{"world", options.world},
                                {"batch", options.batch},
                                {"replicate", options.replicate},
                                {"lanes", options.lanes},
                                {"order", format::word_of(format::kOrderWords, options.order)},
                                {"assign", format::word_of(format::kAssignWords, options.assign)},
                                {"tail", format::word_of(format::kTailWords, options.tail)},
                                {"open_runs", options.open_runs},
                                {"pool", options.pool},
                                {"seed", options.seed},
                                {"sticky", options.sticky}};
  if (options.mix.enabled()) object["mix"] = to_json(options.mix);
  return object;
}

SavedPlan saved_plan(const Plan& plan, const std::optional<State>& state) {
  return {.options = exact_options(plan),
          .state = state,
          .plan_id = plan.plan_id(),
          .order_id = plan.order_id(),
          .dataset = plan.dataset().fingerprint,
          .records = plan.records()};
}

std::string to_text(const SavedPlan& saved) {
  boost::json::object object = {{"dovetail_plan", kVersion}, {"options", to_json(saved.options)}};
  for (const auto& field : identity(saved)) object.emplace(field.key(), field.value());
  if (saved.state) object["state"] = saved.state->to_text();
  return to_line(object);
}

Result<SavedPlan> saved_plan_from_text(const std::string& text) {
  DOVETAIL_ASSIGN(const boost::json::value value, parse_json(text));
  JsonFields fields(value);
  std::uint64_t version = 0;
  fields.take("dovetail_plan", version);
  if (!fields.failure().empty()) return no_plan(fields.failure());
  if (version > kVersion) {
    return Error(Errc::unsupported_version, "the saved plan has version " + std::to_string(version) +
                                                ", but this program reads version " + std::to_string(kVersion));
  }
  SavedPlan saved;
  fields.take("dataset", saved.dataset)
      .take("records", saved.records)
      .take("order_id", saved.order_id)
      .take("plan_id", saved.plan_id);
  const auto* options = fields.find("options");
  if (options == nullptr) return no_plan("options are missing");
  if (const std::string wrong = take_options(*options, saved.options); !wrong.empty()) fields.fail(wrong);
  if (const auto* state = fields.find("state")) {
    DOVETAIL_ASSIGN(saved.state, State::from_text(state->is_string() ? std::string_view(state->get_string()) : ""));
  }
  if (!fields.failure().empty()) return no_plan(fields.failure());
  return saved;
}

Result<void> save_plan(const std::string& path, const SavedPlan& saved) {
  return replace_text(path, to_text(saved));
}

Result<SavedPlan> load_plan(const std::string& path) {
  DOVETAIL_ASSIGN(const std::string text, read_marked(path, kMaxPlanBytes, "\"dovetail_plan\"",
                                                      "a saved plan; `dovetail plan --save FILE` writes one"));
  Result<SavedPlan> saved = saved_plan_from_text(text);
  if (!saved) return saved.error().in_file(path);
  return saved;
}

Result<void> check_saved(const SavedPlan& saved, const PlanOptions& options) {
  return same(to_json(options), to_json(saved.options));
}

Result<void> check_saved(const SavedPlan& saved, const Plan& plan) {
  DOVETAIL_TRY(check_saved(saved, exact_options(plan)));
  return same(identity(saved_plan(plan, {})), identity(saved));
}

Result<State> read_state(const std::string& path) {
  constexpr auto kWhat = "a state of a reader; `dovetail read --state-out FILE` writes one";
  DOVETAIL_ASSIGN(const std::string content, read_text(path, kMaxStateBytes, kWhat));
  const bool bytes = !content.empty() && static_cast<unsigned char>(content.front()) <= kLastVersionByte;
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (!bytes && first != std::string::npos && content.compare(first, kTextPrefix.size(), kTextPrefix) != 0) {
    return Error(Errc::unknown_format, std::string("this is not ") + kWhat).in_file(path);
  }
  Result<State> state = bytes ? State::from_bytes(as_bytes(content)) : State::from_text(content);
  if (!state) return state.error().in_file(path);
  return state;
}

Result<void> write_state(const std::string& path, const State& state) {
  return replace_text(path, state.to_text() + '\n');
}

}  // namespace dovetail::tools
