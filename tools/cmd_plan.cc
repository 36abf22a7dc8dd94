// SPDX-License-Identifier: Apache-2.0
// `dovetail plan`: what every rank of an epoch would get, from the manifest alone.
#include <memory>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/plan.h>

#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/json.h"
#include "tools/plan_arguments.h"
#include "tools/render.h"
#include "tools/sink.h"

namespace dovetail::tools {

namespace {

struct Arguments {
  std::string path;
  PlanOptions options;
  std::uint32_t epoch = 0;
  bool json = false;
};

boost::json::object to_json(const Plan& plan, const EpochPlan& epoch) {
  boost::json::array ranks;
  for (std::uint32_t rank = 0; rank < plan.options().world; ++rank) {
    const RankShare share = epoch.share(rank);
    ranks.push_back(boost::json::object{{"rank", rank},
                                        {"records", share.records},
                                        {"shards", share.shards},
                                        {"bytes_estimate", share.bytes_estimate}});
  }
  return {{"plan_id", plan.plan_id().to_hex()},
          {"order_id", plan.order_id().to_hex()},
          {"dataset", plan.dataset().fingerprint.to_hex()},
          {"check", hex64(plan.check())},
          {"records", plan.records()},
          {"shards", plan.dataset().shards.size()},
          {"world", plan.options().world},
          {"batch", plan.options().batch},
          {"lanes", plan.lanes()},
          {"steps", epoch.steps()},
          {"rows", epoch.rows()},
          {"dropped", epoch.dropped()},
          {"padded", epoch.padded()},
          {"digest", epoch.digest().to_hex()},
          {"ranks", std::move(ranks)}};
}

std::string to_text(const Plan& plan, const EpochPlan& epoch) {
  Listing listing;
  listing.add("plan", plan.plan_id().to_hex());
  listing.add("order", plan.order_id().to_hex());
  listing.add("dataset", plan.dataset().fingerprint.to_hex());
  listing.add("check", hex64(plan.check()));
  listing.add("records",
              std::to_string(plan.records()) + " in " + std::to_string(plan.dataset().shards.size()) + " shards");
  listing.add("epoch", epoch.epoch());
  listing.add("steps", std::to_string(epoch.steps()) + " of " + std::to_string(plan.options().batch) +
                           " rows on each of " + std::to_string(plan.options().world) + " ranks");
  listing.add("rows", std::to_string(epoch.rows()) + ", dropped records " + std::to_string(epoch.dropped()) +
                          ", padded rows " + std::to_string(epoch.padded()));
  listing.add("digest", epoch.digest().to_hex());

  Table table({"rank", "steps", "records", "shards", "bytes (estimate)"});
  for (std::uint32_t rank = 0; rank < plan.options().world; ++rank) {
    const RankShare share = epoch.share(rank);
    table.add({std::to_string(rank), std::to_string(epoch.steps()), std::to_string(share.records),
               std::to_string(share.shards), human_bytes(share.bytes_estimate)});
  }
  return listing.to_text() + '\n' + table.to_text();
}

Result<int> run(const Arguments& arguments) {
  const Result<Dataset> dataset = Dataset::open(arguments.path);
  if (!dataset) return dataset.error();
  const Result<Plan> plan = Plan::make(dataset->shape(), arguments.options);
  if (!plan) return plan.error().in_file(arguments.path);
  const Result<EpochPlan> epoch = plan->epoch(arguments.epoch);
  if (!epoch) return epoch.error().in_file(arguments.path);

  Sink out = Sink::standard_output();
  out.write(arguments.json ? to_line(to_json(*plan, *epoch)) : to_text(*plan, *epoch));
  if (const Result<void> written = out.finish(); !written) return written.error();
  return kExitGood;
}

}  // namespace

void add_plan(CommandLine& line) {
  const auto arguments = std::make_shared<Arguments>();
  Flags flags = line.subcommand("plan", "Show what every rank gets in an epoch, without reading records",
                                [arguments] { return run(*arguments); });
  add_path(flags, arguments->path);
  add_json(flags, arguments->json);
  flags.group("What is read");
  flags.add("--world", arguments->options.world, "Ranks").required().preset("");
  add_plan_arguments(flags, arguments->options);
  flags.add("--epoch", arguments->epoch, "The epoch to plan");
}

}  // namespace dovetail::tools
