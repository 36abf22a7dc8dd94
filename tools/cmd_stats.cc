// SPDX-License-Identifier: Apache-2.0
// `dovetail stats`: compares the statistics of several ranks and names the slow one.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/text/count_of.h"
#include "format/text/number_text.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "format/try.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/json.h"
#include "tools/command/render.h"
#include "tools/command/sink.h"
#include "tools/command/text_file.h"

namespace dovetail::tools {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
/// If a trainer waits for less than this share of its time, its batches come in time.
constexpr double kInTime = 0.05;
constexpr double kMostSeconds = 1e10;  // some centuries

struct State {
  const char* name;  ///< As in the statistics.
  const char* heading;
  const char* meaning;  ///< What the trainer waited for; null if it did not wait.
};
constexpr std::array<State, 6> kStates = {{
    {"waiting_for_storage", "storage", "storage"},
    {"waiting_for_decode", "decode", "checking and decoding"},
    {"waiting_for_transform", "transform", "the transform"},
    {"waiting_for_slot", "slot", "a free slot: the trainer holds too many batches"},
    {"waiting_for_consumer", "consumer", nullptr},
    {"filling", "filling", nullptr},
}};

/// The statistics of one rank.
struct RankStats {
  std::string file;
  std::optional<std::uint64_t> rank;
  std::string job;  ///< Plan and epoch, if known.
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::uint64_t damaged_places = 0;
  std::uint64_t lost_rows = 0;  ///< Substituted or left empty.
  std::array<double, kStates.size()> seconds{};
  double trainer_idle = 0;
  std::string slowest_shard;  ///< In words; empty if no read waited.

  double life() const {
    double sum = 0;
    for (const double part : seconds) sum += part;
    return sum;
  }
  double share(std::size_t state) const { return life() > 0 ? seconds[state] / life() : 0; }
  /// The state in which the trainer waited longest.
  std::size_t longest_wait() const {
    std::size_t longest = 0;
    for (std::size_t state = 0; state != kStates.size(); ++state) {
      if (kStates[state].meaning != nullptr && seconds[state] > seconds[longest]) longest = state;
    }
    return longest;
  }
  std::string name() const { return rank ? "rank " + std::to_string(*rank) : format::visible(file); }
};

std::string slowest_shard(const boost::json::value* shards) {
  if (shards == nullptr || !shards->is_array() || shards->get_array().empty()) return {};
  const boost::json::value& first = shards->get_array().front();
  JsonFields fields(first);
  std::uint64_t reads = 0;
  fields.take("reads", reads);
  const boost::json::value* const file = fields.find("file");
  const boost::json::value* const mean = fields.find("mean");
  if (!fields.failure().empty() || file == nullptr || !file->is_string() || mean == nullptr || !mean->is_number()) {
    return {};
  }
  return format::visible(std::string_view(file->get_string())) + ", " + std::to_string(reads) + " reads of " +
         format::fixed(1e3 * mean->to_number<double>(), 1) + " ms on average";
}

/// Accepts the output of `dovetail read --json`, or the statistics alone.
Result<RankStats> read_stats(const std::string& path) {
  DOVETAIL_ASSIGN(const std::string text, read_text(path, kMaxBytes, "the output of `dovetail read --json`"));
  const Result<boost::json::value> value = parse_json(text);
  const auto wrong = [&](const std::string& why) {
    return Error(Errc::unknown_format, "not the statistics of a reader: " + why +
                                           "; save the output of `dovetail read --json`, or "
                                           "a reader's `stats()` as JSON")
        .in_file(path);
  };
  if (!value) return wrong("not JSON");
  RankStats stats;
  stats.file = path;
  const boost::json::value* of_reader = &*value;
  JsonFields whole(*value);
  if (const boost::json::value* const inner = whole.find("stats")) {
    of_reader = inner;
    std::uint64_t rank = 0;
    whole.take("rank", rank);
    if (!whole.failure().empty()) return wrong(whole.failure());
    stats.rank = rank;
    const boost::json::value* const plan = whole.find("plan_id");
    const boost::json::value* const epoch = whole.find("epoch");
    if (plan != nullptr && epoch != nullptr) stats.job = to_line(*plan) + to_line(*epoch);
  }
  JsonFields fields(*of_reader);
  std::uint64_t substituted = 0;
  fields.take("rows", stats.rows)
      .take("bytes", stats.bytes)
      .take("rows_substituted", substituted)
      .take("rows_damaged_empty", stats.lost_rows);
  stats.lost_rows += substituted;
  const auto take_fraction = [&](const char* name, double most, double& into) {
    const boost::json::value* const found = fields.find(name);
    into = found != nullptr && found->is_number() ? found->to_number<double>() : -1;
    if (!(into >= 0 && into <= most)) fields.fail(std::string(name) + " is not a number in range");
  };
  for (std::size_t state = 0; state != kStates.size(); ++state) {
    take_fraction(kStates[state].name, kMostSeconds, stats.seconds[state]);
  }
  take_fraction("trainer_idle", 1, stats.trainer_idle);
  if (!fields.failure().empty()) return wrong(fields.failure());
  if (const boost::json::value* const damaged = fields.find("damaged"); damaged != nullptr && damaged->is_array()) {
    stats.damaged_places = damaged->get_array().size();
  }
  stats.slowest_shard = slowest_shard(fields.find("slowest_shards"));
  return stats;
}

/// Names the rank whose trainer waited for the largest share of its time, and the cause.
std::string verdict(const std::vector<RankStats>& ranks) {
  const auto less_idle = [](const RankStats& a, const RankStats& b) { return a.trainer_idle < b.trainer_idle; };
  const RankStats& slow = *std::max_element(ranks.begin(), ranks.end(), less_idle);
  if (slow.trainer_idle < kInTime) {
    return "no trainer waited for more than " + percent(kInTime, 1) + " of its time: reading is not the limit";
  }
  const std::size_t state = slow.longest_wait();
  std::string text = "waited longest: " + slow.name() + ", whose trainer waited " + percent(slow.trainer_idle, 1) +
                     " of its time, longest for " + kStates[state].meaning;
  if (state == 0 && !slow.slowest_shard.empty()) text += "; slowest shard: " + slow.slowest_shard;
  return text;
}

std::string to_text(const std::vector<RankStats>& ranks) {
  std::vector<std::string> heading = {"rank", "rows", "rate", "trainer idle"};
  for (const State& state : kStates) heading.emplace_back(state.heading);
  heading.insert(heading.end(), {"lost rows", "file"});
  Table table(std::move(heading), true);
  for (const RankStats& stats : ranks) {
    const double life = stats.life();
    std::vector<std::string> row = {stats.rank ? std::to_string(*stats.rank) : "-", std::to_string(stats.rows),
                                    life > 0 ? human_rate(static_cast<double>(stats.bytes) / life) : "-",
                                    percent(stats.trainer_idle, 1)};
    for (std::size_t state = 0; state != kStates.size(); ++state) row.push_back(percent(stats.share(state), 1));
    row.push_back(std::to_string(stats.lost_rows));
    row.push_back(stats.file);
    table.add(std::move(row));
  }
  std::string losses;
  for (const RankStats& stats : ranks) {
    if (stats.lost_rows == 0) continue;
    losses += stats.name() + ": " + format::count_of(stats.lost_rows, "row") + " lost to damage or rejected\n";
  }
  return table.to_text() + '\n' + losses + verdict(ranks) + '\n';
}

boost::json::value to_json(const std::vector<RankStats>& ranks) {
  boost::json::array list;
  for (const RankStats& stats : ranks) {
    boost::json::object shares;
    for (std::size_t state = 0; state != kStates.size(); ++state) shares[kStates[state].name] = stats.share(state);
    list.push_back(boost::json::object{{"file", format::to_utf8(stats.file)},
                                       {"rank", stats.rank ? boost::json::value(*stats.rank) : boost::json::value()},
                                       {"rows", stats.rows},
                                       {"bytes", stats.bytes},
                                       {"seconds", stats.life()},
                                       {"trainer_idle", stats.trainer_idle},
                                       {"shares", std::move(shares)},
                                       {"damaged", stats.damaged_places},
                                       {"lost_rows", stats.lost_rows}});
  }
  return boost::json::object{{"ranks", std::move(list)}, {"verdict", verdict(ranks)}};
}

struct StatsArguments {
  std::vector<std::string> files;
  bool json = false;
};

/// Ranks are comparable only within one epoch of one plan. Statistics without the output of `read`
/// do not name plan and rank.
Result<void> check_one_job(const std::vector<RankStats>& ranks) {
  const RankStats* known = nullptr;  // its plan
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankStats& stats = ranks[i];
    if (i > 0 && stats.rank && stats.rank == ranks[i - 1].rank) {
      return Error(Errc::invalid_option, "it is of the same rank as " + ranks[i - 1].file).in_file(stats.file);
    }
    if (stats.job.empty()) continue;
    if (known != nullptr && stats.job != known->job) {
      return Error(Errc::invalid_option,
                   "it is of another plan or epoch than " + known->file + ": compare ranks of one epoch")
          .in_file(stats.file);
    }
    known = &stats;
  }
  return {};
}

Result<int> run(const StatsArguments& arguments) {
  std::vector<RankStats> ranks;
  for (const std::string& file : arguments.files) {
    DOVETAIL_ASSIGN(RankStats stats, read_stats(file));
    ranks.push_back(std::move(stats));
  }
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankStats& a, const RankStats& b) { return a.rank < b.rank; });
  DOVETAIL_TRY(check_one_job(ranks));
  return print(arguments.json ? to_line(to_json(ranks)) : to_text(ranks));
}

}  // namespace

void add_stats(CommandLine& line) {
  const auto arguments = std::make_shared<StatsArguments>();
  Flags flags =
      line.subcommand("stats", "Compare the statistics of ranks and name the one whose trainer waited longest",
                      {"dovetail stats rank-0.json rank-1.json", "dovetail stats rank-0.json --json"},
                      [arguments] { return run(*arguments); });
  flags
      .add("FILE", arguments->files,
           "Output of `dovetail read --json`, or a reader's stats() as JSON; one file per rank. `trainer idle` is the "
           "share of its time in which a trainer waited for a batch")
      .required();
  add_json(flags, arguments->json);
}

}  // namespace dovetail::tools
