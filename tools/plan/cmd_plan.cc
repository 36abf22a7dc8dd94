// SPDX-License-Identifier: Apache-2.0
// `dovetail plan`: what every rank gets in an epoch, from the manifest alone.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/mixing.h>
#include <dovetail/plan.h>

#include "format/try.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/json.h"
#include "tools/command/messages.h"
#include "tools/command/render.h"
#include "tools/command/sink.h"
#include "tools/command/text_file.h"
#include "tools/plan/digest_check.h"
#include "tools/plan/label_mixing.h"
#include "tools/plan/plan_arguments.h"
#include "tools/plan/plan_file.h"
#include "tools/plan/plan_report.h"
#include "tools/plan/plan_svg.h"

namespace dovetail::tools {

namespace {

struct PlanArguments {
  std::vector<std::string> paths;
  PlanFlags plan;
  std::optional<std::uint32_t> epoch;
  bool shuffle_report = false;
  std::string labels;
  std::string svg_path;
  std::string save_path;
  std::vector<std::string> digest_paths;
  bool json = false;
};

int exit_code(DigestVerdict::Kind kind) noexcept {
  if (kind == DigestVerdict::Kind::good) return kExitGood;
  return kind == DigestVerdict::Kind::unusable ? kExitUsage : kExitDamaged;
}

Result<int> check(const PlanArguments& arguments, const Plan& plan, const std::optional<State>& state,
                  std::uint32_t epoch, const std::shared_ptr<const DatasetShape>& dataset) {
  DOVETAIL_ASSIGN(const std::vector<RankDigest> reports, read_digests(arguments.digest_paths));
  DOVETAIL_ASSIGN(const DigestVerdict verdict, check_digests(plan, state, epoch, dataset, reports));
  return print(arguments.json ? to_line(to_json(verdict)) : to_text(verdict), exit_code(verdict.kind));
}

Result<void> measure(const PlanArguments& arguments, const Dataset& dataset, PlanReport& report) {
  report.mixing = measure_mixing(report.plan, report.epoch);
  if (arguments.labels.empty()) return {};
  DOVETAIL_ASSIGN(const LabelMixing labels, read_labels(dataset, report.plan, report.epoch, arguments.labels));
  add_labels(*report.mixing, labels);
  return {};
}

Result<int> show(const PlanArguments& arguments, const Dataset& dataset, const Plan& plan, std::uint32_t number) {
  DOVETAIL_ASSIGN(const EpochPlan epoch, plan.epoch(number));
  PlanReport report = report_plan(plan, epoch);
  if (arguments.shuffle_report || !arguments.svg_path.empty()) {
    DOVETAIL_TRY(measure(arguments, dataset, report));
  }
  if (!arguments.svg_path.empty()) {
    DOVETAIL_ASSIGN(const std::string drawing, draw_plan(report, joined(arguments.paths, ", ")));
    DOVETAIL_TRY(replace_text(arguments.svg_path, drawing));
  }
  // A drawing needs the mixing, but the report shows it only on request.
  if (!arguments.shuffle_report) report.mixing.reset();
  DOVETAIL_TRY(print(arguments.json ? to_line(to_json(report)) : to_text(report)));
  if (report.mixing && report.mixing->weak()) {
    warn("the mixing is weak; see the report for the reason and the remedy");
  }
  return kExitGood;
}

Result<int> run(const PlanArguments& arguments) {
  if (!arguments.labels.empty() && !arguments.shuffle_report) {
    return Error(Errc::invalid_option, "--labels needs --shuffle-report");
  }
  const PlanFlags& flags = arguments.plan;
  if (!arguments.digest_paths.empty() && !flags.world && flags.plan_path.empty() && flags.state_path.empty()) {
    return Error(Errc::invalid_option, "--check-digests needs --world, the number of ranks that read");
  }
  DOVETAIL_TRY(check_outputs({arguments.svg_path, arguments.save_path}, arguments.paths));
  DOVETAIL_ASSIGN(const Dataset dataset, open_datasets(arguments.paths));
  DOVETAIL_ASSIGN(const PlanRequest request, plan_request(arguments.plan));
  const Result<Plan> plan = request.plan(dataset.shape());
  if (!plan) return plan.error().in_file(arguments.paths.front());
  if (!arguments.save_path.empty()) {
    const SavedPlan saved = saved_plan(*plan, request.state);
    DOVETAIL_TRY(save_plan(arguments.save_path, saved));
  }
  const std::uint32_t epoch = arguments.epoch.value_or(plan->start().epoch);
  if (!arguments.digest_paths.empty()) return check(arguments, *plan, request.state, epoch, dataset.shape());
  Result<int> shown = show(arguments, dataset, *plan, epoch);
  if (!shown) return shown.error().in_file(arguments.paths.front());
  return shown;
}

}  // namespace

void add_plan(CommandLine& line) {
  const auto arguments = std::make_shared<PlanArguments>();
  Flags flags = line.subcommand("plan", "Show what every rank gets in an epoch, without reading records",
                                {"dovetail plan data --world 8 --batch 16",
                                 "dovetail plan data --world 8 --batch 16 --shuffle-report --svg epoch.svg"},
                                [arguments] { return run(*arguments); });
  add_paths(flags, arguments->paths);
  add_json(flags, arguments->json);
  flags.add("--shuffle-report", arguments->shuffle_report,
            "Measure the mixing of the batches, compared with a true shuffle");
  flags
      .add("--labels", arguments->labels,
           "With --shuffle-report: count the values of this feature per batch, in a sample of the records")
      .shown_as("COLUMN");
  flags.add("--svg", arguments->svg_path, "Draw the epoch: the line of shards, the share of each rank, the mixing")
      .shown_as("FILE");
  flags.add("--save", arguments->save_path, "Save the plan, for --plan").shown_as("FILE");
  flags
      .add("--check-digests", arguments->digest_paths,
           "Compare outputs of `read --json` of a whole epoch with the plan; exit code 1: digests differ or rows "
           "were lost to damage or rejected, 2: files missing or contradictory")
      .shown_as("FILE")
      .takes_all();
  flags.group("What is read");
  flags.add("--world", arguments->plan.world, "Number of ranks").preset("1");
  add_plan_arguments(flags, arguments->plan);
  flags.add("--epoch", arguments->epoch, "The epoch to plan; default: 0, or that of the state");
}

}  // namespace dovetail::tools
