// SPDX-License-Identifier: Apache-2.0
// Prints `step row shard record status` for every row of a rank, from the plan alone. Takes the
// arguments of tests/integration/order.py, which must print the same.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dovetail/plan.h>
#include <dovetail/state.h>

namespace {

using Arguments = std::map<std::string, std::string, std::less<>>;

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::uint64_t number(const Arguments& arguments, std::string_view name, std::uint64_t otherwise) {
  const auto found = arguments.find(name);
  if (found == arguments.end()) return otherwise;
  const auto value = to_number(found->second);
  if (!value) throw std::string(name) + " takes a number";
  return *value;
}

std::uint32_t number32(const Arguments& arguments, std::string_view name, std::uint32_t otherwise) {
  return static_cast<std::uint32_t>(number(arguments, name, otherwise));
}

template <class T>
T choice(const Arguments& arguments, std::string_view name, const std::map<std::string, T, std::less<>>& choices,
         T otherwise) {
  const auto found = arguments.find(name);
  if (found == arguments.end()) return otherwise;
  const auto chosen = choices.find(found->second);
  if (chosen == choices.end()) throw std::string(name) + " does not know " + found->second;
  return chosen->second;
}

/// Calls `take` for every part of a text that `separator` cuts.
template <class Take>
void for_each_part(std::string_view text, char separator, const Take& take) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(separator));
    take(part);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
}

/// "records:run_records,..."
std::shared_ptr<dovetail::DatasetShape> parse_shards(std::string_view text) {
  auto shape = std::make_shared<dovetail::DatasetShape>();
  while (!text.empty()) {
    const std::string_view shard = text.substr(0, text.find(','));
    const std::size_t colon = shard.find(':');
    const auto records = to_number(shard.substr(0, colon));
    const auto run_records = colon == shard.npos ? std::nullopt : to_number(shard.substr(colon + 1));
    if (!records || !run_records) throw std::string("--shards takes RECORDS:RUN_RECORDS,...");
    shape->shards.push_back({.records = *records, .run_records = *run_records});
    text.remove_prefix(std::min(text.size(), shard.size() + 1));
  }
  return shape;
}

std::uint32_t to_number32(std::string_view text) {
  const auto value = to_number(text);
  if (!value) throw std::string(text) + " is not a number";
  return static_cast<std::uint32_t>(*value);
}

/// "step=weight:weight,..."
dovetail::Mix parse_mix(const Arguments& arguments) {
  dovetail::Mix mix;
  const auto weights = arguments.find("--weights");
  if (weights == arguments.end()) return mix;
  for_each_part(weights->second, ',', [&](std::string_view entry) {
    const std::size_t equals = entry.find('=');
    if (equals == entry.npos) throw std::string("--weights takes STEP=W0:W1:...,...");
    dovetail::MixWeights& added = mix.schedule.emplace_back();
    added.from_step = to_number32(entry.substr(0, equals));
    for_each_part(entry.substr(equals + 1), ':',
                  [&](std::string_view weight) { added.weights.push_back(to_number32(weight)); });
  });
  mix.stop = choice<dovetail::MixStop>(
      arguments, "--stop",
      {{"first", dovetail::MixStop::first}, {"all", dovetail::MixStop::all}, {"steps", dovetail::MixStop::steps}},
      mix.stop);
  mix.steps = number(arguments, "--mix-steps", 0);
  return mix;
}

dovetail::PlanOptions parse_options(const Arguments& arguments) {
  using dovetail::Assign;
  using dovetail::OrderKind;
  using dovetail::Tail;
  dovetail::PlanOptions options;
  options.world = number32(arguments, "--world", options.world);
  options.batch = number32(arguments, "--batch", options.batch);
  options.replicate = number32(arguments, "--replicate", options.replicate);
  options.lanes = number32(arguments, "--lanes", options.lanes);
  options.open_runs = number32(arguments, "--open-runs", options.open_runs);
  options.pool = number32(arguments, "--pool", options.pool);
  options.seed = number(arguments, "--seed", options.seed);
  options.sticky = number(arguments, "--sticky", 0) != 0;
  options.order = choice<OrderKind>(
      arguments, "--order",
      {{"shuffle", OrderKind::shuffle}, {"sequential", OrderKind::sequential}, {"global", OrderKind::global}},
      options.order);
  options.assign =
      choice<Assign>(arguments, "--assign", {{"even", Assign::even}, {"files", Assign::files}, {"runs", Assign::runs}},
                     options.assign);
  options.tail =
      choice<Tail>(arguments, "--tail", {{"drop", Tail::drop}, {"pad", Tail::pad}, {"wrap", Tail::wrap}}, options.tail);
  options.mix = parse_mix(arguments);
  return options;
}

template <class T>
T value_of(dovetail::Result<T> result) {
  if (!result) throw result.error().to_string();
  return std::move(*result);
}

/// A plan, and where in which epoch a run of it stands.
struct Run {
  dovetail::Plan plan;
  dovetail::Position position;
};

/// Goes through "steps:world:batch:lanes,...".
Run replay(const Arguments& arguments, const std::shared_ptr<const dovetail::DatasetShape>& shape) {
  dovetail::PlanOptions options = parse_options(arguments);
  Run run{value_of(dovetail::Plan::make(shape, options)), {number32(arguments, "--epoch", 0), 0}};
  const auto changes = arguments.find("--changes");
  if (changes == arguments.end()) return run;
  for_each_part(changes->second, ',', [&](std::string_view change) {
    std::vector<std::uint32_t> numbers;
    for_each_part(change, ':', [&](std::string_view part) { numbers.push_back(to_number32(part)); });
    if (numbers.size() != 4) throw std::string("--changes takes STEPS:WORLD:BATCH:LANES,...");
    run.position.step += numbers[0];
    const auto state = value_of(dovetail::State::from_bytes(value_of(run.plan.state(run.position)).to_bytes()));
    options.world = numbers[1];
    options.batch = numbers[2];
    options.lanes = numbers[3];
    run.plan = value_of(dovetail::Plan::resume(shape, options, state));
  });
  return run;
}

void print_rows(const dovetail::EpochPlan& epoch, std::uint32_t rank) {
  std::vector<dovetail::LaneCursor> cursors;
  for (std::uint32_t i = 0; i < epoch.lanes_per_rank(); ++i) {
    cursors.push_back(epoch.lane(epoch.first_lane(rank) + i).cursor());
  }
  std::vector<dovetail::Pick> picks(epoch.rows_per_lane());
  for (std::uint64_t step = epoch.first_step(); step < epoch.steps(); ++step) {
    std::uint64_t row = 0;
    for (dovetail::LaneCursor& cursor : cursors) {
      cursor.next(picks);
      for (const dovetail::Pick& pick : picks) {
        std::cout << step << ' ' << row++ << ' ';
        if (pick.planned()) {
          const dovetail::Run run = cursor.run_of(pick);
          std::cout << run.shard << ' ' << run.first_record + pick.record;
        } else {
          std::cout << "-1 -1";
        }
        std::cout << ' ' << static_cast<int>(cursor.record(pick).status) << '\n';
      }
    }
  }
}

int run(const Arguments& arguments) {
  const auto shards = arguments.find("--shards");
  if (shards == arguments.end()) throw std::string("--shards is missing");
  const auto shape = parse_shards(shards->second);
  if (const auto sources = arguments.find("--sources"); sources != arguments.end()) {
    for_each_part(sources->second, ',',
                  [&](std::string_view count) { shape->source_shards.push_back(to_number32(count)); });
  }
  if (const auto fingerprint = arguments.find("--fingerprint"); fingerprint != arguments.end()) {
    shape->fingerprint = value_of(dovetail::Hash128::from_hex(fingerprint->second));
  }
  const Run made = replay(arguments, shape);
  const auto epoch = value_of(made.plan.epoch(made.position.epoch));
  dovetail::Position position = made.position;
  position.step += number(arguments, "--at", 0);
  if (arguments.contains("--state")) std::cout << value_of(made.plan.state(position)).to_text() << '\n';
  if (arguments.contains("--ids")) {
    std::ostringstream check;
    check << std::hex << std::setfill('0') << std::setw(16) << made.plan.plan_checksum(position);
    std::cout << "plan_id " << made.plan.plan_id().to_hex() << "\norder_id " << made.plan.order_id().to_hex()
              << "\nplan_checksum " << check.str() << '\n';
  }
  if (arguments.contains("--state") || arguments.contains("--ids")) return 0;
  const std::uint32_t rank = number32(arguments, "--rank", 0);
  if (rank >= made.plan.options().world) throw std::string("--rank must be below --world");
  print_rows(epoch, rank);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Arguments arguments;
    for (int i = 1; i + 1 < argc; i += 2) arguments[argv[i]] = argv[i + 1];
    return run(arguments);
  } catch (const std::string& message) {
    std::cerr << message << '\n';
    return 2;
  }
}
