// SPDX-License-Identifier: Apache-2.0
// Prints `step row shard record status` for every row of a rank, from the plan alone. Takes the arguments of
// tests/integration/order.py, which must print the same.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/plan.h>

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
  options.order = choice<OrderKind>(
      arguments, "--order", {{"shuffle", OrderKind::shuffle}, {"sequential", OrderKind::sequential}}, options.order);
  options.assign =
      choice<Assign>(arguments, "--assign", {{"even", Assign::even}, {"files", Assign::files}}, options.assign);
  options.tail =
      choice<Tail>(arguments, "--tail", {{"drop", Tail::drop}, {"pad", Tail::pad}, {"wrap", Tail::wrap}}, options.tail);
  return options;
}

void print_rows(const dovetail::EpochPlan& epoch, std::uint32_t rank) {
  std::vector<dovetail::LaneOrder> lanes;
  std::vector<dovetail::LaneCursor> cursors;
  for (std::uint32_t i = 0; i < epoch.lanes_per_rank(); ++i) {
    lanes.push_back(epoch.lane(epoch.first_lane(rank) + i));
    cursors.push_back(lanes.back().cursor());
  }
  std::vector<dovetail::Pick> picks(epoch.rows_per_lane());
  for (std::uint64_t step = 0; step < epoch.steps(); ++step) {
    std::uint64_t row = 0;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      cursors[i].next(picks);
      for (const dovetail::Pick& pick : picks) {
        std::cout << step << ' ' << row++ << ' ';
        if (pick.planned()) {
          const dovetail::Run run = lanes[i].run(pick.run);
          std::cout << run.shard << ' ' << run.first_record + pick.record;
        } else {
          std::cout << "-1 -1";
        }
        std::cout << ' ' << static_cast<int>(lanes[i].status(pick)) << '\n';
      }
    }
  }
}

int run(const Arguments& arguments) {
  const auto shards = arguments.find("--shards");
  if (shards == arguments.end()) throw std::string("--shards is missing");
  const auto plan = dovetail::Plan::make(parse_shards(shards->second), parse_options(arguments));
  if (!plan) throw plan.error().to_string();
  const auto epoch = plan->epoch(number32(arguments, "--epoch", 0));
  if (!epoch) throw epoch.error().to_string();
  const std::uint32_t rank = number32(arguments, "--rank", 0);
  if (rank >= plan->options().world) throw std::string("--rank must be below --world");
  print_rows(*epoch, rank);
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
