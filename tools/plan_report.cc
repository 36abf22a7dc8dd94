// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_report.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tools/plan_words.h"
#include "tools/render.h"
#include "tools/weights.h"

namespace dovetail::tools {

namespace {

constexpr std::array<std::pair<std::string_view, MixingFlaw>, 5> kFlawWords{{{"few_shards", MixingFlaw::few_shards},
                                                                             {"poor_batch", MixingFlaw::poor_batch},
                                                                             {"top_heavy", MixingFlaw::top_heavy},
                                                                             {"in_place", MixingFlaw::in_place},
                                                                             {"neighbours", MixingFlaw::neighbours}}};

boost::json::object to_json(const Mixing& mixing) {
  return {{"mean_shards", mixing.mean_shards},   {"least_shards", mixing.least_shards},
          {"mean_top_two", mixing.mean_top_two}, {"most_top_two", mixing.most_top_two},
          {"displacement", mixing.displacement}, {"neighbours", mixing.neighbours}};
}

boost::json::object mixing_json(const PlanReport& report) {
  const MixingReport& mixing = *report.mixing;
  boost::json::array flaws;
  for (const MixingFlaw flaw : mixing.flaws) flaws.push_back(boost::json::string(word_of(kFlawWords, flaw)));
  const std::vector<std::string> sentences = advice(report);
  return {{"plan", to_json(mixing.plan)}, {"full_shuffle", to_json(mixing.full_shuffle)},
          {"batches", mixing.batches},    {"all_batches", mixing.all_batches},
          {"rows", mixing.rows},          {"weak", mixing.weak()},
          {"flaws", std::move(flaws)},    {"advice", boost::json::array(sentences.begin(), sentences.end())}};
}

std::string mixing_text(const PlanReport& report) {
  const MixingReport& mixing = *report.mixing;
  const Mixing& plan = mixing.plan;
  const Mixing& full = mixing.full_shuffle;
  Table table({"mixing", "this plan", "full shuffle"});
  const auto numbers = [&](const char* name, double ours, double best, int digits) {
    table.add({name, decimal(ours, digits), decimal(best, digits)});
  };
  const auto shares = [&](const char* name, double ours, double best) {
    table.add({name, decimal(100 * ours, 2) + " %", decimal(100 * best, 2) + " %"});
  };
  numbers("shards in a batch, mean", plan.mean_shards, full.mean_shards, 1);
  table.add({"worst batch", std::to_string(plan.least_shards), std::to_string(full.least_shards)});
  shares("from its two most frequent shards, mean", plan.mean_top_two, full.mean_top_two);
  shares("worst batch", plan.most_top_two, full.most_top_two);
  numbers("displacement of records", plan.displacement, full.displacement, 3);
  shares("neighbours that stay neighbours", plan.neighbours, full.neighbours);
  std::string text = table.to_text();
  text += "measured " + std::to_string(mixing.batches) + " of " + std::to_string(mixing.all_batches) + " batches of " +
          std::to_string(report.plan.options().batch) + " rows\n";
  if (mixing.batches > 0 && !mixing.weak()) text += "good: the mixing is not weak\n";
  for (const std::string& sentence : advice(report)) text += "weak: " + sentence + '\n';
  return text;
}

/// Why batches have few shards, and what helps.
std::string shards_advice(const PlanReport& report) {
  const PlanOptions& options = report.plan.options();
  if (options.order == OrderKind::sequential) {
    return "the order sequential does not mix; it is for evaluation: train with --order shuffle or global";
  }
  std::uint32_t least = ~std::uint32_t{0};
  for (const RankShare& share : report.shares) least = std::min(least, share.shards);
  const double wanted = std::min(32.0, report.mixing->full_shuffle.mean_shards);
  if (options.order == OrderKind::shuffle && least < wanted) {
    return "a rank's share touches only " + std::to_string(least) +
           " shards: pack into more and smaller shards, or use --order global";
  }
  if (options.order == OrderKind::global) return "the dataset itself is uneven: a full shuffle does no better";
  return "raise --open-runs, " + std::to_string(options.open_runs) +
         " now, pack with fewer --run-records, or use --order global";
}

std::string few_text(const MixingReport& mixing) {
  return "a batch comes from " + decimal(mixing.plan.mean_shards, 1) + " shards, the worst from " +
         std::to_string(mixing.plan.least_shards) + ", and in a full shuffle from " +
         decimal(mixing.full_shuffle.mean_shards, 1);
}

}  // namespace

PlanReport report_plan(const Plan& plan, const EpochPlan& epoch, bool with_mixing) {
  PlanReport report{plan, epoch, {}, std::nullopt};
  for (std::uint32_t rank = 0; rank < plan.options().world; ++rank) {
    const bool replica = rank % plan.options().replicate != 0;
    report.shares.push_back(replica ? report.shares.back() : epoch.share(rank));
  }
  if (with_mixing) report.mixing = measure_mixing(plan, epoch);
  return report;
}

std::vector<std::string> advice(const PlanReport& report) {
  std::vector<std::string> sentences;
  if (!report.mixing || !report.mixing->weak()) return sentences;
  const MixingReport& mixing = *report.mixing;
  const auto has = [&](MixingFlaw flaw) {
    return std::find(mixing.flaws.begin(), mixing.flaws.end(), flaw) != mixing.flaws.end();
  };
  if (has(MixingFlaw::few_shards) || has(MixingFlaw::poor_batch)) {
    sentences.push_back(few_text(mixing) + "; " + shards_advice(report));
  } else if (has(MixingFlaw::top_heavy)) {
    sentences.push_back("two shards make up " + decimal(100 * mixing.plan.mean_top_two, 1) +
                        " % of a batch, and in a " + "full shuffle " +
                        decimal(100 * mixing.full_shuffle.mean_top_two, 1) + " %; " + shards_advice(report));
  }
  if (report.plan.options().order == OrderKind::sequential && !sentences.empty()) return sentences;
  if (has(MixingFlaw::in_place)) {
    sentences.push_back("records stay near the place that they have in the dataset; " +
                        (report.plan.options().order == OrderKind::sequential
                             ? shards_advice(report)
                             : "pack with fewer --run-records, raise --pool, or use --order global"));
  }
  if (has(MixingFlaw::neighbours) && report.plan.options().order != OrderKind::sequential) {
    sentences.push_back(decimal(100 * mixing.plan.neighbours, 1) +
                        " % of the rows follow their neighbour in the dataset; raise --open-runs or --pool");
  }
  return sentences;
}

boost::json::object to_json(const PlanReport& report) {
  const Plan& plan = report.plan;
  const EpochPlan& epoch = report.epoch;
  boost::json::array ranks;
  for (std::uint32_t rank = 0; rank < plan.options().world; ++rank) {
    const RankShare& share = report.shares[rank];
    ranks.push_back(boost::json::object{{"rank", rank},
                                        {"records", share.records},
                                        {"shards", share.shards},
                                        {"bytes_estimate", share.bytes_estimate}});
  }
  boost::json::object object = {{"plan_id", plan.plan_id().to_hex()},
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
  if (epoch.first_step() > 0) object["first_step"] = epoch.first_step();
  if (report.mixing) object["mixing"] = mixing_json(report);
  return object;
}

std::string to_text(const PlanReport& report) {
  const Plan& plan = report.plan;
  const EpochPlan& epoch = report.epoch;
  Listing listing;
  listing.add("plan", plan.plan_id().to_hex());
  listing.add("order", plan.order_id().to_hex());
  listing.add("dataset", plan.dataset().fingerprint.to_hex());
  listing.add("check", hex64(plan.check()));
  listing.add("records",
              std::to_string(plan.records()) + " in " + std::to_string(plan.dataset().shards.size()) + " shards");
  if (const Mix& mix = plan.options().mix; mix.enabled()) {
    listing.add("mix", "weights " + to_text(mix.schedule) + ", stop " + std::string(word_of(kStopWords, mix.stop)));
  }
  listing.add("epoch", epoch.epoch());
  listing.add("steps", std::to_string(epoch.steps()) + " of " + std::to_string(plan.options().batch) +
                           " rows on each of " + std::to_string(plan.options().world) + " ranks" +
                           (epoch.first_step() > 0
                                ? "; the first " + std::to_string(epoch.first_step()) + " were in another world"
                                : ""));
  listing.add("rows", std::to_string(epoch.rows()) + ", dropped records " + std::to_string(epoch.dropped()) +
                          ", padded rows " + std::to_string(epoch.padded()));
  listing.add("digest", epoch.digest().to_hex());

  Table table({"rank", "steps", "records", "shards", "bytes (estimate)"});
  for (std::uint32_t rank = 0; rank < plan.options().world; ++rank) {
    const RankShare& share = report.shares[rank];
    table.add({std::to_string(rank), std::to_string(epoch.steps() - epoch.first_step()), std::to_string(share.records),
               std::to_string(share.shards), human_bytes(share.bytes_estimate)});
  }
  const std::string text = listing.to_text() + '\n' + table.to_text();
  return report.mixing ? text + '\n' + mixing_text(report) : text;
}

}  // namespace dovetail::tools
