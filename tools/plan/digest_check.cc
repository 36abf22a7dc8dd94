// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/digest_check.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "format/text/count_of.h"
#include "format/try.h"
#include "tools/command/json.h"
#include "tools/command/text_file.h"
#include "tools/plan/step_rows.h"

namespace dovetail::tools {

namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

std::string name_of(const RankDigest& report) {
  return "rank " + std::to_string(report.rank) + " of " + std::to_string(report.world) + " (" + report.file + ")";
}
std::string range(std::uint64_t first, std::uint64_t end) {
  return "steps [" + std::to_string(first) + ", " + std::to_string(end) + ")";
}
std::string range(const RankDigest& report) {
  return range(report.first_step, report.end_step());
}

/// Steps [first, second).
using StepRange = std::pair<std::uint64_t, std::uint64_t>;

std::string list(const std::vector<StepRange>& stretches) {
  std::string text;
  for (const auto& [first, end] : stretches) text += (text.empty() ? "" : " and ") + range(first, end);
  return text.empty() ? "nothing" : text;
}

Result<RankDigest> parse(const std::string& file) {
  DOVETAIL_ASSIGN(const std::string text,
                  read_marked(file, kMaxFileBytes, "\"plan_id\"", "an output of `dovetail read --json`"));
  const Result<boost::json::value> value = parse_json(text);
  if (!value) return value.error().in_file(file);
  RankDigest report;
  report.file = file;
  std::uint64_t substituted = 0;
  std::uint64_t empty = 0;
  JsonFields fields(*value);
  fields.take("plan_id", report.plan_id)
      .take("rank", report.rank)
      .take("world", report.world)
      .take("batch", report.batch)
      .take("replicate", report.replicate)
      .take("epoch", report.epoch)
      .take("steps", report.steps)
      .take("substituted", substituted)
      .take("damaged_empty", empty)
      .take("digest", report.digest);
  if (fields.find("first_step") != nullptr) fields.take("first_step", report.first_step);
  if (report.replicate == 0 || report.rank >= report.world || report.first_step > ~std::uint64_t{0} - report.steps) {
    fields.fail("rank, replicate or steps are out of range");
  }
  const std::uint64_t rows = report.steps * report.batch;
  if (substituted > rows || empty > rows - substituted) fields.fail("more rows are lost than were read");
  report.lost_rows = substituted + empty;
  if (fields.failure().empty()) return report;
  return Error(Errc::bad_state, "it is not an output of `dovetail read --json`: " + fields.failure()).in_file(file);
}

/// A plan that steps of the epoch were read with: the requested one, or one from before its state.
struct Era {
  Plan plan;
  EpochPlan epoch;
  std::uint64_t end_step = 0;  ///< End of the phase.
  std::vector<const RankDigest*> reports;
};

class Checker {
 public:
  Checker(const Plan& plan, const EpochPlan& epoch, const std::optional<State>& state,
          const std::shared_ptr<const DatasetShape>& dataset)
      : plan_(plan), epoch_(epoch), dataset_(dataset) {
    if (state && state->epoch == epoch.epoch()) state_ = *state;
  }

  Result<DigestVerdict> check(const std::vector<RankDigest>& reports);

 private:
  void problem(std::string text) { verdict_.problems.push_back(std::move(text)); }
  void assign(const RankDigest& report);
  Era* era_of(const RankDigest& report);
  std::optional<Era> past_era(const RankDigest& report, std::size_t phase) const;
  void check_era(Era& era);
  bool belongs(const Era& era, const RankDigest& report);
  std::vector<StepRange> read_by(std::vector<const RankDigest*>& reports);
  void check_tiling();
  void find_culprits();
  void find_losses(const std::vector<RankDigest>& reports);

  const Plan& plan_;
  const EpochPlan& epoch_;
  const std::shared_ptr<const DatasetShape>& dataset_;
  std::optional<State> state_;
  std::vector<Era> eras_;
  // The steps that the readers of each era have read.
  std::vector<StepRange> stretches_;
  DigestVerdict verdict_;
};

Result<DigestVerdict> Checker::check(const std::vector<RankDigest>& reports) {
  verdict_.files = reports.size();
  verdict_.planned = epoch_.digest();
  for (const RankDigest& report : reports) assign(report);
  for (Era& era : eras_) check_era(era);
  if (verdict_.problems.empty()) check_tiling();
  if (!verdict_.problems.empty()) {
    verdict_.kind = DigestVerdict::Kind::unusable;
    return verdict_;
  }
  if (verdict_.found != verdict_.planned) {
    verdict_.kind = DigestVerdict::Kind::differs;
    find_culprits();
  }
  find_losses(reports);
  return verdict_;
}

void Checker::assign(const RankDigest& report) {
  if (report.epoch != epoch_.epoch()) {
    problem(name_of(report) + " read epoch " + std::to_string(report.epoch) + ", not " +
            std::to_string(epoch_.epoch()));
    return;
  }
  Era* const era = era_of(report);
  if (era == nullptr) {
    problem(name_of(report) + " read another plan: its plan_id is " + report.plan_id.to_hex() +
            ", the plan_id of this one is " + plan_.plan_id().to_hex());
    return;
  }
  era->reports.push_back(&report);
}

Era* Checker::era_of(const RankDigest& report) {
  const auto known =
      std::find_if(eras_.begin(), eras_.end(), [&](const Era& era) { return era.plan.plan_id() == report.plan_id; });
  if (known != eras_.end()) return &*known;
  if (report.plan_id == plan_.plan_id()) {
    return &eras_.emplace_back(Era{plan_, epoch_, epoch_.steps(), {}});
  }
  for (std::size_t phase = 0; state_ && phase < state_->phases.size(); ++phase) {
    if (auto era = past_era(report, phase)) return &eras_.emplace_back(std::move(*era));
  }
  return nullptr;
}

/// The era of a phase; empty if the report does not name its plan.
std::optional<Era> Checker::past_era(const RankDigest& report, std::size_t phase) const {
  PlanOptions options = plan_.options();
  options.world = report.world;
  options.batch = report.batch;
  options.replicate = report.replicate;
  options.lanes = state_->phases[phase].lanes;
  const Result<Plan> plan = Plan::resume(dataset_, options, begin_of_phase(*state_, phase));
  if (!plan || plan->plan_id() != report.plan_id) return std::nullopt;
  const Result<EpochPlan> epoch = plan->epoch(state_->epoch);
  if (!epoch) return std::nullopt;
  return Era{*plan, *epoch, epoch->first_step() + state_->phases[phase].steps, {}};
}

bool Checker::belongs(const Era& era, const RankDigest& report) {
  const PlanOptions& options = era.plan.options();
  if (report.world != options.world || report.replicate != options.replicate || report.batch != options.batch) {
    problem(name_of(report) + " names this plan, but has another world, batch or number of replicas");
    return false;
  }
  if (report.first_step < era.epoch.first_step() || report.end_step() > era.end_step) {
    problem(name_of(report) + " read " + range(report) + ", but its plan holds " +
            range(era.epoch.first_step(), era.end_step));
    return false;
  }
  return true;
}

/// Checks that all readers of an era have read the same steps.
void Checker::check_era(Era& era) {
  const std::uint32_t replicate = era.plan.options().replicate;
  const std::string of_world = " of " + std::to_string(era.plan.options().world);
  std::map<std::uint32_t, std::vector<const RankDigest*>> by_reader;
  for (const RankDigest* report : era.reports) {
    if (belongs(era, *report)) by_reader[report->rank / replicate].push_back(report);
  }
  std::optional<std::vector<StepRange>> common;
  std::string common_rank;
  for (std::uint32_t reader = 0; reader < era.plan.readers(); ++reader) {
    const std::string who = "rank " + std::to_string(reader * replicate) + of_world;
    const auto reports = by_reader.find(reader);
    if (reports == by_reader.end()) {
      problem("there is no file of " + who + (replicate > 1 ? " or of a replica of it" : ""));
      continue;
    }
    std::vector<StepRange> read = read_by(reports->second);
    if (!common) {
      common = std::move(read);
      common_rank = who;
    } else if (read != *common) {
      problem(who + " read " + list(read) + ", but " + common_rank + " read " + list(*common));
    }
  }
  if (common) stretches_.insert(stretches_.end(), common->begin(), common->end());
}

/// The steps of one reader's reports. Reports may touch but not overlap, except those of replicas
/// that agree.
std::vector<StepRange> Checker::read_by(std::vector<const RankDigest*>& reports) {
  std::erase_if(reports, [](const RankDigest* report) { return report->steps == 0; });
  std::sort(reports.begin(), reports.end(), [](const RankDigest* a, const RankDigest* b) {
    return std::tuple(a->first_step, a->steps, a->rank) < std::tuple(b->first_step, b->steps, b->rank);
  });
  std::vector<StepRange> read;
  const RankDigest* last = nullptr;
  for (const RankDigest* report : reports) {
    const bool overlaps = last != nullptr && report->first_step < last->end_step();
    if (!overlaps) {
      verdict_.found += report->digest;
      if (!read.empty() && read.back().second == report->first_step) {
        read.back().second = report->end_step();
      } else {
        read.emplace_back(report->first_step, report->end_step());
      }
    } else if (report->first_step != last->first_step || report->steps != last->steps || report->rank == last->rank) {
      problem(name_of(*last) + " read " + range(*last) + " and " + name_of(*report) + " read " + range(*report) +
              ": some steps twice");
    } else if (report->digest != last->digest) {
      problem(name_of(*last) + " and its replica " + name_of(*report) + " disagree on " + range(*report));
    }
    last = report;
  }
  return read;
}

void Checker::check_tiling() {
  std::sort(stretches_.begin(), stretches_.end());
  std::uint64_t next = 0;
  for (const auto& [first, end] : stretches_) {
    if (first > next) problem("no file covers " + range(next, first));
    if (first < next) problem(range(first, std::min(next, end)) + " were read twice, under different plans");
    next = std::max(next, end);
  }
  if (next < epoch_.steps()) problem("no file covers " + range(next, epoch_.steps()));
}

Hash128 planned_digest(const EpochPlan& epoch, const RankDigest& report) {
  Hash128 digest;
  std::vector<Pick> picks(epoch.rows_per_lane());
  for (std::uint32_t lane = 0; lane < epoch.lanes_per_rank(); ++lane) {
    LaneCursor cursor = epoch.lane(epoch.first_lane(report.rank) + lane).cursor(epoch.first_output(report.first_step));
    for (std::uint64_t step = 0; step < report.steps; ++step) {
      cursor.next(picks);
      for (const Pick& pick : picks) {
        const PlannedRecord record = cursor.record(pick);
        if (record.status == RowStatus::first) digest += record_digest(record.id);
      }
    }
  }
  return digest;
}

void Checker::find_culprits() {
  for (const Era& era : eras_) {
    for (const RankDigest* report : era.reports) {
      const Hash128 planned = planned_digest(era.epoch, *report);
      if (planned == report->digest) continue;
      problem(name_of(*report) + " read other records than planned in " + range(*report) + ": its digest is " +
              report->digest.to_hex() + ", the plan's is " + planned.to_hex());
    }
  }
}

void Checker::find_losses(const std::vector<RankDigest>& reports) {
  for (const RankDigest& report : reports) {
    if (report.lost_rows == 0) continue;
    verdict_.lost_rows += report.lost_rows;
    problem(name_of(report) + " lost " + format::count_of(report.lost_rows, "row") + " to damage or rejection");
  }
  if (verdict_.lost_rows > 0 && verdict_.kind == DigestVerdict::Kind::good) verdict_.kind = DigestVerdict::Kind::lost;
}

}  // namespace

Result<std::vector<RankDigest>> read_digests(const std::vector<std::string>& files) {
  std::vector<RankDigest> reports;
  for (const std::string& file : files) {
    DOVETAIL_ASSIGN(RankDigest report, parse(file));
    reports.push_back(std::move(report));
  }
  return reports;
}

Result<DigestVerdict> check_digests(const Plan& plan, const std::optional<State>& state, std::uint32_t epoch,
                                    const std::shared_ptr<const DatasetShape>& dataset,
                                    const std::vector<RankDigest>& reports) {
  DOVETAIL_ASSIGN(const EpochPlan planned, plan.epoch(epoch));
  return Checker(plan, planned, state, dataset).check(reports);
}

boost::json::object to_json(const DigestVerdict& verdict) {
  constexpr std::array<std::string_view, 4> kWords{"good", "lost", "differs", "unusable"};
  return {{"verdict", kWords[static_cast<std::size_t>(verdict.kind)]},
          {"files", verdict.files},
          {"planned", verdict.planned.to_hex()},
          {"found", verdict.found.to_hex()},
          {"lost_rows", verdict.lost_rows},
          {"problems", boost::json::array(verdict.problems.begin(), verdict.problems.end())}};
}

std::string to_text(const DigestVerdict& verdict) {
  std::string text;
  for (const std::string& problem : verdict.problems) text += problem + '\n';
  switch (verdict.kind) {
    case DigestVerdict::Kind::good:
      return text + "good: the digests of " + format::count_of(verdict.files, "file") +
             (verdict.files == 1 ? " adds" : " add") + " up to the plan's, " + verdict.planned.to_hex() + '\n';
    case DigestVerdict::Kind::lost:
      return text + "lost: the digests agree, but " + format::count_of(verdict.lost_rows, "row") +
             (verdict.lost_rows == 1 ? " was" : " were") + " lost to damage or rejected\n";
    case DigestVerdict::Kind::differs:
      return text + "differs: the digests add up to " + verdict.found.to_hex() + ", and the plan's is " +
             verdict.planned.to_hex() + '\n';
    case DigestVerdict::Kind::unusable:
      break;
  }
  return text + "unusable: the files do not cover every step of every reader exactly once\n";
}

}  // namespace dovetail::tools
