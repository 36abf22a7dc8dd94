// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/plan_report.h"

#include <algorithm>
#include <span>
#include <utility>

#include "format/text/count_of.h"
#include "format/text/hex.h"
#include "format/words/plan_words.h"
#include "tools/command/render.h"
#include "tools/plan/mixing_report.h"
#include "tools/plan/weights.h"

namespace dovetail::tools {

namespace {

// A batch of fewer shards or runs misses much of the dataset. With 32, each sixteenth of the
// dataset is in 7 of 8 batches.
constexpr std::uint64_t kWide = 32;

std::uint64_t count_runs(std::span<const ShardShape> shards) {
  std::uint64_t runs = 0;
  for (const ShardShape& shard : shards) {
    runs += shard.records / shard.run_records + (shard.records % shard.run_records != 0 ? 1 : 0);
  }
  return runs;
}

}  // namespace

PlanReport report_plan(const Plan& plan, const EpochPlan& epoch) {
  PlanReport report{plan, epoch, {}, std::nullopt};
  for (std::uint32_t rank = 0; rank < plan.options().world; ++rank) {
    const bool replica = rank % plan.options().replicate != 0;
    report.shares.push_back(replica ? report.shares.back() : epoch.share(rank));
  }
  return report;
}

std::uint64_t runs_ordered_together(const PlanReport& report) {
  const DatasetShape& dataset = report.plan.dataset();
  std::span<const ShardShape> shards = dataset.shards;
  if (!report.plan.options().mix.enabled()) return count_runs(shards) / report.epoch.lanes();
  std::uint64_t most = 0;
  for (const std::uint32_t count : dataset.source_shards) {
    most = std::max(most, count_runs(shards.first(count)));
    shards = shards.subspan(count);
  }
  return most / report.epoch.lanes();
}

std::optional<std::string> narrow_lanes(const PlanReport& report) {
  const PlanOptions& options = report.plan.options();
  if (options.order != OrderKind::shuffle || report.plan.readers() == 1) return {};
  if (options.assign == Assign::runs) {
    const std::uint64_t runs = count_runs(report.plan.dataset().shards) / report.epoch.lanes();
    if (runs >= kWide) return {};
    return "a lane has only " + format::count_of(runs, "run") +
           ": pack with fewer --run-records, or use --order global";
  }
  if (options.assign != Assign::even) return {};
  std::uint64_t least = kWide;
  for (const RankShare& share : report.shares) least = std::min<std::uint64_t>(least, share.shards.value_or(kWide));
  if (least >= kWide) return {};
  return "a rank's share is from only " + format::count_of(least, "shard") + ": " + std::string(kDealRuns);
}

boost::json::object to_json(const PlanReport& report) {
  const Plan& plan = report.plan;
  const EpochPlan& epoch = report.epoch;
  boost::json::array ranks;
  for (std::uint32_t rank = 0; rank < plan.options().world; ++rank) {
    const RankShare& share = report.shares[rank];
    ranks.push_back(boost::json::object{{"rank", rank},
                                        {"records", share.records},
                                        {"shards", share.shards ? boost::json::value(*share.shards) : nullptr},
                                        {"bytes_estimate", share.bytes_estimate}});
  }
  boost::json::array notes;
  if (const std::optional<std::string> narrow = narrow_lanes(report)) notes.emplace_back(*narrow);
  boost::json::object object = {{"plan_id", plan.plan_id().to_hex()},
                                {"order_id", plan.order_id().to_hex()},
                                {"dataset", plan.dataset().fingerprint.to_hex()},
                                {"plan_checksum", format::hex64(plan.plan_checksum())},
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
                                {"ranks", std::move(ranks)},
                                {"notes", std::move(notes)}};
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
  listing.add("plan checksum", format::hex64(plan.plan_checksum()));
  listing.add("records",
              std::to_string(plan.records()) + " in " + format::count_of(plan.dataset().shards.size(), "shard"));
  if (const Mix& mix = plan.options().mix; mix.enabled()) {
    listing.add("mix", "weights " + to_text(mix.schedule) + ", stop " +
                           std::string(format::word_of(format::kMixStopWords, mix.stop)));
  }
  listing.add("epoch", epoch.epoch());
  listing.add("steps", std::to_string(epoch.steps()) + " of " + format::count_of(plan.options().batch, "row") +
                           " on each of " + format::count_of(plan.options().world, "rank") +
                           (epoch.first_step() > 0
                                ? "; the first " + std::to_string(epoch.first_step()) + " were read in another world"
                                : ""));
  listing.add("rows", std::to_string(epoch.rows()) + ", dropped records " + std::to_string(epoch.dropped()) +
                          ", padded rows " + std::to_string(epoch.padded()));
  listing.add("digest", epoch.digest().to_hex());

  Table table({"rank", "steps", "records", "shards", "bytes (estimate)"});
  for (std::uint32_t rank = 0; rank < plan.options().world; ++rank) {
    const RankShare& share = report.shares[rank];
    table.add({std::to_string(rank), std::to_string(epoch.steps() - epoch.first_step()), std::to_string(share.records),
               share.shards ? std::to_string(*share.shards) : "-", format::human_bytes(share.bytes_estimate)});
  }
  std::string text = listing.to_text() + '\n' + table.to_text();
  if (const std::optional<std::string> narrow = narrow_lanes(report)) text += "note: " + *narrow + '\n';
  return report.mixing ? text + '\n' + mixing_text(report) : text;
}

}  // namespace dovetail::tools
