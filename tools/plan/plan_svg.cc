// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/plan_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include <dovetail/mixing.h>
#include <dovetail/shard_line.h>

#include "format/text/count_of.h"
#include "format/text/number_text.h"
#include "format/try.h"
#include "format/words/plan_words.h"
#include "tools/command/render.h"
#include "tools/command/svg.h"
#include "tools/plan/mixing_report.h"

namespace dovetail::tools {

namespace {

constexpr double kWidth = 1200;
constexpr double kMargin = 40;
constexpr double kInner = kWidth - 2 * kMargin;
// The most items of a kind that can be told apart at this width.
constexpr std::size_t kMaxParts = 1120;
constexpr std::uint32_t kMaxCuts = 280;
constexpr std::size_t kMaxBars = 120;
constexpr std::uint32_t kMaxSources = 6;
constexpr std::uint32_t kMapColumns = 160;
constexpr double kLeastColumns = 16;
// Cells with fewer rows on average would show mostly chance.
constexpr double kRowsPerCell = 8;

const Svg::TextStyle kHeading{.size = 15, .anchor = Svg::Anchor::start, .colour = "#111", .bold = true};
const Svg::TextStyle kNote{.size = 12, .anchor = Svg::Anchor::start, .colour = "#555"};
const Svg::TextStyle kCentred{.size = 11, .anchor = Svg::Anchor::middle};
const Svg::TextStyle kRight{.size = 11, .anchor = Svg::Anchor::end};

class Drawing {
 public:
  Drawing(const PlanReport& report, const std::string& name)
      : report_(report),
        plan_(report.plan),
        options_(report.plan.options()),
        shards_(static_cast<std::uint32_t>(report.plan.dataset().shards.size())),
        svg_(kWidth, "Dovetail plan of " + name) {
    draw_title(name);
  }

  Result<void> draw_line();
  void draw_ranks();
  void draw_maps();
  std::string finish() const { return svg_.finish(y_ + 10); }

 private:
  void draw_title(const std::string& name);
  std::string line_note(const std::vector<LinePart>& line) const;
  void draw_source(const std::vector<LinePart>& line, double scale);
  void draw_cuts(const std::vector<LinePart>& line, double scale);
  void draw_lane_names(const std::vector<double>& edges);
  void draw_scale();
  void draw_bars(double x, double width, const std::string& title, const std::vector<double>& values,
                 const std::function<std::string(double)>& text);
  void draw_map(double x, double width, double height, const std::string& title, std::optional<std::uint32_t> rank);
  void draw_cells(const MixingMap& map, double x, double y, double width, double height);
  void draw_legend();
  void draw_numbers();
  /// Whether every lane draws from the whole dataset.
  bool has_no_cuts() const noexcept { return options_.order == OrderKind::global || options_.assign == Assign::runs; }
  std::string colour_of(std::uint32_t shard) const {
    return scale_colour(shards_ < 2 ? 0.5 : static_cast<double>(shard) / (shards_ - 1));
  }

  const PlanReport& report_;
  const Plan& plan_;
  const PlanOptions& options_;
  std::uint32_t shards_;
  Svg svg_;
  double y_ = 0;
};

void Drawing::draw_title(const std::string& name) {
  const EpochPlan& epoch = report_.epoch;
  svg_.text(kMargin, 34, name, {.size = 20, .anchor = Svg::Anchor::start, .colour = "#111", .bold = true});
  svg_.text(kMargin, 56,
            "epoch " + std::to_string(epoch.epoch()) + ": " + format::count_of(plan_.records(), "record") + " in " +
                format::count_of(shards_, "shard") + ", " + format::count_of(epoch.steps(), "step") + " of " +
                format::count_of(options_.batch, "row") + " on " + format::count_of(options_.world, "rank") + ", " +
                format::count_of(epoch.dropped(), "record") + " dropped, " + format::count_of(epoch.padded(), "row") +
                " padded",
            kNote);
  std::string order = "order " + std::string(format::word_of(format::kOrderWords, options_.order));
  if (options_.order == OrderKind::shuffle) {
    order += ", assign " + std::string(format::word_of(format::kAssignWords, options_.assign)) + ", at least " +
             format::count_of(options_.open_runs, "run") + " open, a pool of " + std::to_string(options_.pool) +
             (options_.sticky ? ", sticky" : "");
  }
  svg_.text(kMargin, 74, order + ", seed " + std::to_string(options_.seed) + "; plan " + plan_.plan_id().to_hex(),
            kNote);
  y_ = 110;
}

std::string Drawing::line_note(const std::vector<LinePart>& line) const {
  if (options_.order == OrderKind::global) {
    return "Every rank draws single records from all shards, so there are no cuts.";
  }
  if (options_.assign == Assign::runs) return "Every rank gets runs of all shards, so there are no cuts.";
  const std::string drawn = line.size() > kMaxParts ? " There are " + std::to_string(line.size()) +
                                                          " parts; each stripe shows the one in its middle."
                                                    : "";
  const std::string whose = report_.epoch.first_step() > 0 ? " The lanes are those with which the epoch began." : "";
  if (options_.assign == Assign::files) return "Whole shards, dealt to the lanes in turn." + whose + drawn;
  const std::string cuts = line.empty() || line.back().lane < kMaxCuts ? "the cuts are where lanes begin."
                                                                       : "the cuts into lanes are too close to draw.";
  return "The shards of this epoch end to end, in their order; " + cuts + whose + drawn;
}

Result<void> Drawing::draw_line() {
  DOVETAIL_ASSIGN(std::vector<LinePart> line, shard_line(plan_, report_.epoch.epoch()));
  svg_.begin_group("line");
  svg_.text(kMargin, y_, "The line", kHeading);
  svg_.text(kMargin, y_ + 18, line_note(line), kNote);
  y_ += 30;
  if (has_no_cuts()) {
    for (std::uint32_t shard = 0; shard < shards_; ++shard) {
      const std::uint64_t records = plan_.dataset().shards[shard].records;
      if (records > 0) line.push_back({0, 0, shard, 0, records});
    }
  }
  std::uint64_t longest = 1;
  std::vector<std::vector<LinePart>> sources;
  for (const LinePart& part : line) {
    if (sources.empty() || sources.back().front().source != part.source) sources.emplace_back();
    sources.back().push_back(part);
  }
  const auto length = [](const std::vector<LinePart>& parts) {
    return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const LinePart& part) { return sum + part.end - part.begin; });
  };
  for (const auto& parts : sources) longest = std::max(longest, length(parts));
  for (const auto& parts : sources) {
    if (&parts - sources.data() == kMaxSources) {
      svg_.text(kMargin, y_ + 10, "and " + format::count_of(sources.size() - kMaxSources, "more source"), kNote);
      y_ += 20;
      break;
    }
    if (sources.size() > 1) {
      svg_.text(kMargin, y_ + 10, "source " + std::to_string(parts.front().source), kNote);
      y_ += 16;
    }
    draw_source(parts, kInner / static_cast<double>(longest));
  }
  draw_scale();
  svg_.end_group();
  y_ += 50;
  return {};
}

void Drawing::draw_source(const std::vector<LinePart>& line, double scale) {
  constexpr double kHeight = 36;
  std::vector<double> ends;
  ends.reserve(line.size());
  double x = kMargin;
  for (const LinePart& part : line) ends.push_back(x += scale * static_cast<double>(part.end - part.begin));
  if (line.size() <= kMaxParts) {
    double begin = kMargin;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const LinePart& part = line[i];
      // If there is room, leave a gap at the end of a shard.
      const double gap = ends[i] - begin > 4 ? 1 : 0;
      svg_.rect(begin, y_, ends[i] - begin - gap, kHeight, colour_of(part.shard), "part",
                "shard " + std::to_string(part.shard) + ", records " + std::to_string(part.begin) + " to " +
                    std::to_string(part.end - 1));
      if (ends[i] - begin > 30) {
        svg_.text((begin + ends[i]) / 2, y_ + kHeight / 2 + 4, std::to_string(part.shard),
                  {.size = 11, .anchor = Svg::Anchor::middle, .colour = part.shard * 2 < shards_ ? "#fff" : "#111"});
      }
      begin = ends[i];
    }
  } else {
    for (std::size_t stripe = 0; stripe < kMaxParts; ++stripe) {
      const double width = (ends.back() - kMargin) / static_cast<double>(kMaxParts);
      const double middle = kMargin + (static_cast<double>(stripe) + 0.5) * width;
      const auto found = std::upper_bound(ends.begin(), ends.end() - 1, middle) - ends.begin();
      svg_.rect(middle - width / 2, y_, width, kHeight, colour_of(line[static_cast<std::size_t>(found)].shard), "part");
    }
  }
  if (has_no_cuts()) {
    y_ += kHeight + 10;
    return;
  }
  draw_cuts(line, scale);
  y_ += kHeight + 30;
}

void Drawing::draw_cuts(const std::vector<LinePart>& line, double scale) {
  std::vector<double> edges;  // begin of each lane, and end of the last
  std::uint32_t lane = 0;
  double x = kMargin;
  for (const LinePart& part : line) {
    for (; lane <= part.lane; ++lane) edges.push_back(x);
    x += scale * static_cast<double>(part.end - part.begin);
  }
  edges.push_back(x);
  if (edges.size() - 1 <= kMaxCuts) {
    for (std::size_t i = 1; i + 1 < edges.size(); ++i)
      svg_.line(edges[i], y_ - 5, edges[i], y_ + 41, "#d01c1c", edges.size() < 60 ? 2 : 1, "cut");
  }
  draw_lane_names(edges);
}

void Drawing::draw_lane_names(const std::vector<double>& edges) {
  const bool by_rank = report_.epoch.first_step() == 0;
  const std::size_t lanes = edges.size() - 1;
  const std::size_t each = by_rank ? report_.epoch.lanes_per_rank() : 1;
  const std::size_t names = std::max<std::size_t>(1, lanes / each);
  // Show as many names as fit.
  const auto skip = static_cast<std::size_t>(std::ceil(64 * static_cast<double>(names) / kInner));
  for (std::size_t i = 0; i < names; i += std::max<std::size_t>(1, skip)) {
    const double begin = edges[std::min(i * each, lanes)];
    const double end = edges[std::min((i + 1) * each, lanes)];
    const std::size_t number = by_rank ? i * options_.replicate : i;
    svg_.text((begin + end) / 2, y_ + 54, (by_rank ? "rank " : "lane ") + std::to_string(number), kCentred);
  }
}

void Drawing::draw_scale() {
  constexpr int kSteps = 32;
  svg_.text(kMargin, y_ + 12, "shard 0", kNote);
  for (int i = 0; i < kSteps; ++i) {
    svg_.rect(kMargin + 54 + 5 * i, y_ + 2, 5, 12, scale_colour(static_cast<double>(i) / (kSteps - 1)), "scale");
  }
  svg_.text(kMargin + 54 + 5 * kSteps + 8, y_ + 12, "shard " + std::to_string(shards_ - 1) + " of the dataset", kNote);
}

void Drawing::draw_ranks() {
  svg_.begin_group("ranks");
  svg_.text(kMargin, y_, "What each rank gets", kHeading);
  const std::size_t world = report_.shares.size();
  std::string note = "In this epoch, from 0 upwards, rank 0 at the left.";
  if (report_.epoch.first_step() > 0) note = "From step " + std::to_string(report_.epoch.first_step()) + " on.";
  if (world > kMaxBars) note += " Each bar is the mean of some " + format::count_of(world / kMaxBars, "rank") + ".";
  svg_.text(kMargin, y_ + 18, note, kNote);
  y_ += 34;
  std::vector<double> records;
  std::vector<double> bytes;
  std::vector<double> shards;
  for (const RankShare& share : report_.shares) {
    records.push_back(static_cast<double>(share.records));
    bytes.push_back(static_cast<double>(share.bytes_estimate));
    if (share.shards) shards.push_back(static_cast<double>(*share.shards));
  }
  const auto plain = [](double value) { return format::fixed(value, 0); };
  const double width = (kInner - 60) / 3;
  draw_bars(kMargin, width, "records", records, plain);
  draw_bars(kMargin + width + 30, width, "bytes (estimate)", bytes,
            [](double value) { return format::human_bytes(static_cast<std::uint64_t>(value)); });
  if (!shards.empty()) draw_bars(kMargin + 2 * (width + 30), width, "shards", shards, plain);
  svg_.end_group();
  y_ += 175;
}

void Drawing::draw_bars(double x, double width, const std::string& title, const std::vector<double>& values,
                        const std::function<std::string(double)>& text) {
  constexpr double kHeight = 100;
  const std::size_t bars = std::min(values.size(), kMaxBars);
  const double most = std::max(1.0, *std::max_element(values.begin(), values.end()));
  const double least = *std::min_element(values.begin(), values.end());
  const double base = y_ + 20 + kHeight;
  svg_.text(x, y_ + 10, title + ": " + text(least) + (least == most ? "" : " to " + text(most)));
  for (std::size_t bar = 0; bar < bars; ++bar) {
    const std::size_t begin = bar * values.size() / bars;
    const std::size_t end = (bar + 1) * values.size() / bars;
    double sum = 0;
    for (std::size_t rank = begin; rank < end; ++rank) sum += values[rank];
    const double mean = sum / static_cast<double>(end - begin);
    const double step = width / static_cast<double>(bars);
    const std::string whose =
        "rank " + std::to_string(begin) + (end - begin > 1 ? " to " + std::to_string(end - 1) : "");
    svg_.rect(x + step * static_cast<double>(bar), base - kHeight * mean / most, step * (bars > 60 ? 1 : 0.85),
              kHeight * mean / most, "#3b518b", "bar", whose + ": " + text(mean));
  }
  svg_.line(x, base, x + width, base, "#999");
  svg_.text(x, base + 14, "rank 0", {.size = 11, .anchor = Svg::Anchor::start, .colour = "#555"});
  if (values.size() > 1) svg_.text(x + width, base + 14, "rank " + std::to_string(values.size() - 1), kRight);
}

void Drawing::draw_maps() {
  const std::uint64_t steps = report_.epoch.steps() - report_.epoch.first_step();
  svg_.begin_group("mixing");
  svg_.text(kMargin, y_, "The mixing", kHeading);
  if (steps == 0) {
    svg_.text(kMargin, y_ + 18, "No step is left.", kNote);
    y_ += 30;
    svg_.end_group();
    return;
  }
  if (report_.mixing) draw_numbers();
  svg_.text(kMargin, y_ + 18,
            "How often each sixteenth of the dataset occurs at a step, relative to its share. Even colour is good "
            "mixing; patches and stripes are weak mixing.",
            kNote);
  y_ += 30;
  draw_legend();
  constexpr double kHeight = 16 * kMixingSlices;
  if (plan_.readers() == 1) {
    draw_map(kMargin, kInner, kHeight, options_.world == 1 ? "all rows" : "all ranks, which are replicas", 0);
  } else {
    const double width = (kInner - 50) / 2;
    draw_map(kMargin, width, kHeight, "rank 0", 0);
    draw_map(kMargin + width + 50, width, kHeight, "all ranks", std::nullopt);
  }
  svg_.end_group();
  y_ += kHeight + 60;
}

void Drawing::draw_numbers() {
  constexpr double kLine = 17;
  constexpr double kPlanColumn = kMargin + 520;
  constexpr double kShuffleColumn = kPlanColumn + 140;
  svg_.begin_group("numbers");
  const Svg::TextStyle verdict{
      .size = 13, .anchor = Svg::Anchor::start, .colour = report_.mixing->weak() ? "#b01010" : "#186018", .bold = true};
  if (const std::optional<std::string> good = good_text(report_)) svg_.text(kMargin, y_ + 20, *good, verdict);
  for (const std::string& sentence : advice(report_)) {
    // Put the flaw and the remedy on separate lines, because together they are too wide.
    const std::size_t end = std::min(sentence.find("; "), sentence.size());
    svg_.text(kMargin, y_ + 20, "weak: " + sentence.substr(0, end), verdict);
    y_ += kLine;
    if (end == sentence.size()) continue;
    svg_.text(kMargin, y_ + 20, sentence.substr(end + 2), kNote);
    y_ += kLine;
  }
  y_ += report_.mixing->weak() ? 24 : 24 + kLine;
  const auto row = [&](const std::string& name, const std::string& ours, const std::string& shuffled) {
    svg_.text(kMargin, y_, name, kNote);
    svg_.text(kPlanColumn, y_, ours, kRight);
    svg_.text(kShuffleColumn, y_, shuffled, kRight);
    y_ += kLine;
  };
  const std::vector<MixingRow> rows = mixing_rows(report_);
  row(mixing_extent(report_), rows.empty() ? "" : "this plan", rows.empty() ? "" : "true shuffle");
  for (const auto& [name, ours, shuffled] : rows) row(name, ours, shuffled);
  svg_.end_group();
}

/// The shade of a cell, by the ratio of its rows to the average. Limits are inclusive.
struct Shade {
  double limit;
  std::string_view colour;
  std::string_view text;
};
constexpr std::array<Shade, 7> kShades{{{0, "#ffffff", "never"},
                                        {0.25, "#e8f0f8", "to 1/4"},
                                        {0.67, "#c3dbee", "to 2/3"},
                                        {1.5, "#7fb4d8", "its share"},
                                        {3, "#3c85bd", "to 3 times"},
                                        {8, "#12529a", "to 8 times"},
                                        {1e300, "#08214f", "more"}}};

void Drawing::draw_legend() {
  double x = kMargin;
  for (const Shade& shade : kShades) {
    svg_.rect(x, y_, 16, 12, "#bbb");
    svg_.rect(x + 0.5, y_ + 0.5, 15, 11, shade.colour, "shade");
    svg_.text(x + 22, y_ + 10, shade.text, kNote);
    x += 40 + 7 * static_cast<double>(shade.text.size());
  }
  y_ += 24;
}

void Drawing::draw_map(double x, double width, double height, const std::string& title,
                       std::optional<std::uint32_t> rank) {
  const std::uint64_t steps = report_.epoch.steps() - report_.epoch.first_step();
  const double readers = rank ? 1 : plan_.readers();
  double columns = static_cast<double>(std::min<std::uint64_t>(kMapColumns, steps));
  const double cells = static_cast<double>(steps) * options_.batch * readers / kRowsPerCell;
  columns = std::max(std::min(columns, kLeastColumns), std::min(columns, std::floor(cells / kMixingSlices)));
  const MixingMap map =
      map_mixing(plan_, report_.epoch, {.rank = rank, .max_step_bins = static_cast<std::uint32_t>(columns)});
  const std::string extent = map.first_step.empty() ? ", not measured" : ", in a sample of the rows";
  svg_.text(x, y_ + 12, title + (map.complete ? "" : extent), {});
  svg_.rect(x, y_ + 20, width, height, "#bbb");
  if (!map.first_step.empty()) draw_cells(map, x + 0.5, y_ + 20.5, width - 1, height - 1);
  svg_.text(x, y_ + height + 34, "step " + std::to_string(report_.epoch.first_step()), kNote);
  svg_.text(x + width, y_ + height + 34, "step " + std::to_string(report_.epoch.steps() - 1), kRight);
  svg_.text(x - 6, y_ + 20, "first records",
            {.size = 11, .anchor = Svg::Anchor::end, .colour = "#555", .bold = false, .turned = true});
  svg_.text(x - 6, y_ + 20 + height, "last records",
            {.size = 11, .anchor = Svg::Anchor::start, .colour = "#555", .bold = false, .turned = true});
}

void Drawing::draw_cells(const MixingMap& map, double x, double y, double width, double height) {
  const std::size_t columns = map.first_step.size();
  const std::size_t rows = kMixingSlices;
  std::vector<double> by_column(columns);
  std::vector<double> by_row(rows);
  double all = 0;
  for (std::size_t i = 0; i < map.rows.size(); ++i) {
    const auto count = static_cast<double>(map.rows[i]);
    by_row[i / columns] += count;
    by_column[i % columns] += count;
    all += count;
  }
  // Use one path per shade: separate rectangles would make the drawing ten times as large.
  std::array<std::string, kShades.size()> paths;
  const std::string size = 'h' + length_text(width / static_cast<double>(columns)) + 'v' +
                           length_text(height / static_cast<double>(rows)) + 'h' +
                           length_text(-width / static_cast<double>(columns)) + 'z';
  for (std::size_t i = 0; i < map.rows.size(); ++i) {
    const std::size_t row = i / columns;
    const std::size_t column = i % columns;
    // In a mix, the weights determine the share of each slice.
    const double share = options_.mix.enabled() ? by_row[row] / all : 1.0 / kMixingSlices;
    const double average = share * by_column[column];
    const double ratio = average == 0 ? 0 : static_cast<double>(map.rows[i]) / average;
    std::size_t shade = 0;
    while (ratio > kShades[shade].limit) ++shade;
    paths[shade] += 'M' + length_text(x + width * static_cast<double>(column) / static_cast<double>(columns)) + ' ' +
                    length_text(y + height * static_cast<double>(row) / static_cast<double>(rows)) + size;
  }
  for (std::size_t shade = 0; shade < paths.size(); ++shade) {
    if (!paths[shade].empty()) svg_.path(paths[shade], kShades[shade].colour, "cells");
  }
}

}  // namespace

Result<std::string> draw_plan(const PlanReport& report, const std::string& name) {
  Drawing drawing(report, name);
  DOVETAIL_TRY(drawing.draw_line());
  drawing.draw_ranks();
  drawing.draw_maps();
  return drawing.finish();
}

}  // namespace dovetail::tools
