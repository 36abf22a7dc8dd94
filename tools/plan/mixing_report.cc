// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/mixing_report.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "format/text/count_of.h"
#include "format/text/number_text.h"
#include "tools/command/render.h"

namespace dovetail::tools {

namespace {

boost::json::value to_json(const std::optional<double>& number) {
  return number ? boost::json::value(*number) : boost::json::value(nullptr);
}

boost::json::object to_json(const BatchMixing& mixing) {
  return {{"mean_slices", mixing.mean_slices}, {"least_slices", mixing.least_slices},
          {"mean_shards", mixing.mean_shards}, {"least_shards", mixing.least_shards},
          {"neighbours", mixing.neighbours},   {"shared", to_json(mixing.shared)}};
}

boost::json::object to_json(const Mixing& mixing) {
  return {
      {"rank", to_json(mixing.rank)}, {"global", to_json(mixing.global)}, {"correlation", to_json(mixing.correlation)}};
}

boost::json::object to_json(const LabelMixing& labels) {
  return {{"batches", labels.batches},
          {"records", labels.records},
          {"mean", labels.mean},
          {"least", labels.least},
          {"true_shuffle_mean", labels.shuffle_mean},
          {"true_shuffle_least", labels.shuffle_least},
          {"judged", labels.judged()}};
}

std::string percent_of(const std::optional<double>& share) {
  return share ? percent(*share, 2) : "not measured";
}

void add_rows(std::vector<MixingRow>& rows, const std::string& batch, const BatchMixing& plan,
              const BatchMixing& shuffle) {
  const auto pair = [&](const std::string& name, double mean, std::uint64_t least, double shuffled_mean,
                        std::uint64_t shuffled_least) {
    rows.push_back({name + " in " + batch + ", mean and least", format::fixed(mean, 1) + ", " + std::to_string(least),
                    format::fixed(shuffled_mean, 1) + ", " + std::to_string(shuffled_least)});
  };
  pair("slices", plan.mean_slices, plan.least_slices, shuffle.mean_slices, shuffle.least_slices);
  pair("shards", plan.mean_shards, plan.least_shards, shuffle.mean_shards, shuffle.least_shards);
  rows.push_back(
      {"records with their neighbour in " + batch, percent_of(plan.neighbours), percent_of(shuffle.neighbours)});
  rows.push_back(
      {"pairs that share " + batch + " in the other epoch too", percent_of(plan.shared), percent_of(shuffle.shared)});
}

/// Advises to open more runs if a lane has enough of them; see docs/mixing.md.
std::string more_open_runs(const PlanReport& report) {
  const std::uint32_t now = report.plan.options().open_runs;
  if (runs_ordered_together(report) < 2 * std::uint64_t{now}) return {};
  return "raise --open-runs, " + std::to_string(now) + " now, or ";
}

/// Advises how batches can spread over more of the dataset.
std::string spread_advice(const PlanReport& report) {
  const PlanOptions& options = report.plan.options();
  if (options.order == OrderKind::sequential) {
    return "--order sequential does not mix, because it is for evaluation; train with --order shuffle or global";
  }
  if (options.order == OrderKind::global) return "--order global is a true shuffle, so this is chance";
  if (const std::optional<std::string> narrow = narrow_lanes(report)) return *narrow;
  if (options.assign == Assign::files && report.epoch.lanes() > 1) return std::string(kDealRuns);
  return more_open_runs(report) + "use --order global";
}

/// The ratio of the plan to a true shuffle.
double short_of(const BatchMixing& plan, const BatchMixing& shuffle) {
  const auto ratio = [](double ours, double shuffled) { return shuffled > 0 ? ours / shuffled : 1; };
  return std::min(ratio(plan.mean_slices, shuffle.mean_slices), ratio(plan.mean_shards, shuffle.mean_shards));
}

std::string few_text(const MixingReport& mixing) {
  const bool of_rank =
      short_of(mixing.plan.rank, mixing.true_shuffle.rank) <= short_of(mixing.plan.global, mixing.true_shuffle.global);
  const BatchMixing& plan = of_rank ? mixing.plan.rank : mixing.plan.global;
  const BatchMixing& shuffle = of_rank ? mixing.true_shuffle.rank : mixing.true_shuffle.global;
  return std::string(of_rank ? "a batch" : "a global batch") + " has records of " + format::fixed(plan.mean_slices, 1) +
         " slices and " + format::fixed(plan.mean_shards, 1) + " shards on average, the least mixed one " +
         std::to_string(plan.least_slices) + " and " + std::to_string(plan.least_shards) + ", in a true shuffle " +
         format::fixed(shuffle.mean_slices, 1) + " and " + format::fixed(shuffle.mean_shards, 1);
}

}  // namespace

std::vector<MixingRow> mixing_rows(const PlanReport& report) {
  const MixingReport& mixing = *report.mixing;
  const bool one = report.plan.readers() == 1;
  std::vector<MixingRow> rows;
  if (mixing.batches == 0) return rows;
  add_rows(rows, one ? "a batch" : "a rank's batch", mixing.plan.rank, mixing.true_shuffle.rank);
  if (!one) add_rows(rows, "the global batch", mixing.plan.global, mixing.true_shuffle.global);
  const auto number = [](const std::optional<double>& value) {
    return value ? format::fixed(*value, 2) : std::string("not measured");
  };
  rows.push_back({"correlation of steps with the other epoch", number(mixing.plan.correlation),
                  number(mixing.true_shuffle.correlation)});
  const std::string name = "labels in a batch, mean and least";
  if (const auto& labels = mixing.labels; labels && !labels->judged()) {
    rows.push_back({name, "not judged", "not judged"});
  } else if (labels) {
    rows.push_back({name, format::fixed(labels->mean, 1) + ", " + std::to_string(labels->least),
                    format::fixed(labels->shuffle_mean, 1) + ", " + std::to_string(labels->shuffle_least)});
  }
  return rows;
}

std::string mixing_extent(const PlanReport& report) {
  const MixingReport& mixing = *report.mixing;
  const std::string batch_rows = format::count_of(report.plan.options().batch, "row");
  if (mixing.batches == 0 && mixing.all_batches > 0) return "not measured: batches of " + batch_rows + " are too large";
  std::string text = "measured " + std::to_string(mixing.batches) + " of " + std::to_string(mixing.all_batches) +
                     " batches of " + batch_rows;
  if (mixing.readers < report.plan.readers()) {
    text += ", on " + std::to_string(mixing.readers) + " of " + std::to_string(report.plan.readers()) + " readers";
  }
  if (mixing.labels) {
    text += ", and the labels of " + format::count_of(mixing.labels->records, "record") + " in " +
            format::count_of(mixing.labels->batches, "batch", "batches");
    if (!mixing.labels->judged()) text += ", too few to judge";
  }
  return text;
}

std::optional<std::string> good_text(const PlanReport& report) {
  const MixingReport& mixing = *report.mixing;
  if (mixing.batches == 0 || mixing.weak()) return {};
  const bool unjudged = mixing.labels && !mixing.labels->judged();
  return std::string("good: the batches are mixed well") + (unjudged ? "; the labels were not judged" : "");
}

std::vector<std::string> advice(const PlanReport& report) {
  const MixingReport& mixing = *report.mixing;
  const auto has = [&](MixingFlaw flaw) {
    return std::find(mixing.flaws.begin(), mixing.flaws.end(), flaw) != mixing.flaws.end();
  };
  std::vector<std::string> sentences;
  if (has(MixingFlaw::few_slices) || has(MixingFlaw::few_shards) || has(MixingFlaw::poor_batch)) {
    sentences.push_back(few_text(mixing) + "; " + spread_advice(report));
  }
  if (has(MixingFlaw::few_labels)) {
    sentences.push_back("a batch has " + format::fixed(mixing.labels->mean, 1) + " labels, in a true shuffle " +
                        format::fixed(mixing.labels->shuffle_mean, 1) + "; pack with convert --shuffle; or " +
                        spread_advice(report));
  }
  // For a plan that does not mix at all, one sentence is enough.
  if (report.plan.options().order == OrderKind::sequential && !sentences.empty()) return sentences;
  if (has(MixingFlaw::same_places)) {
    sentences.push_back("records come at similar steps in both epochs, with a correlation of " +
                        format::fixed(mixing.plan.correlation.value_or(0), 2) + "; use --order global");
  }
  if (has(MixingFlaw::same_mates)) {
    const double most = std::max(mixing.plan.rank.shared.value_or(0), mixing.plan.global.shared.value_or(0));
    sentences.push_back(percent_of(most) + " of the pairs in a batch also share a batch in the other epoch; " +
                        more_open_runs(report) + "raise --pool, or use --order global");
  }
  if (has(MixingFlaw::neighbours)) {
    const double most = std::max(mixing.plan.rank.neighbours, mixing.plan.global.neighbours);
    sentences.push_back(percent_of(most) + " of the records share their batch with their neighbour in the shard; " +
                        more_open_runs(report) + "use --order global");
  }
  return sentences;
}

boost::json::object mixing_json(const PlanReport& report) {
  const MixingReport& mixing = *report.mixing;
  boost::json::array flaws;
  for (const MixingFlaw flaw : mixing.flaws) flaws.push_back(boost::json::string(to_text(flaw)));
  const std::vector<std::string> sentences = advice(report);
  return {{"plan", to_json(mixing.plan)},
          {"true_shuffle", to_json(mixing.true_shuffle)},
          {"batches", mixing.batches},
          {"all_batches", mixing.all_batches},
          {"readers", mixing.readers},
          {"labels", mixing.labels ? boost::json::value(to_json(*mixing.labels)) : boost::json::value(nullptr)},
          {"weak", mixing.weak()},
          {"flaws", std::move(flaws)},
          {"advice", boost::json::array(sentences.begin(), sentences.end())}};
}

std::string mixing_text(const PlanReport& report) {
  Table table({"mixing", "this plan", "true shuffle"});
  const std::vector<MixingRow> rows = mixing_rows(report);
  for (const auto& [name, ours, shuffled] : rows) table.add({name, ours, shuffled});
  std::string text = (rows.empty() ? "" : table.to_text()) + mixing_extent(report) + '\n';
  if (const std::optional<std::string> good = good_text(report)) text += *good + '\n';
  for (const std::string& sentence : advice(report)) text += "weak: " + sentence + '\n';
  return text;
}

}  // namespace dovetail::tools
