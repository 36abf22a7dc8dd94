// SPDX-License-Identifier: Apache-2.0
#include "convert/conversion.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>

#include "format/block_bounds.h"
#include "format/text/count_of.h"
#include "format/text/utf8.h"

namespace dovetail::detail {

namespace {

/// Folders are packed in order, so each shard has records of few classes.
std::optional<std::string> class_order(const ConvertReport& report, bool shuffled) {
  const bool several = std::any_of(report.sources.begin(), report.sources.end(),
                                   [](const ConvertedSource& source) { return source.classes.size() > 1; });
  if (shuffled || !several) return std::nullopt;
  return "the shards hold one class after the other; --shuffle packs in random order";
}

/// The run length is derived from the first records. Larger records later make larger runs, and
/// smaller ones make smaller runs, which read slower.
std::optional<std::string> unlike_runs(const ConvertReport& report, std::uint64_t run_bytes) {
  if (run_bytes == 0 || report.records == 0 || report.datasets.empty()) return std::nullopt;
  const std::uint64_t records = report.datasets.front().shards.front().run_records;
  const std::uint64_t bytes = format::mean_run_bytes(report.records, report.raw_bytes, records);
  const auto longer = format::longer_run(report.records, report.raw_bytes, records, run_bytes);
  const bool large = records > 1 && bytes > 2 * run_bytes;
  if (!large && !longer) return std::nullopt;
  const std::string text =
      "a run has " + format::count_of(records, "record") + ": on average " + format::human_bytes(bytes);
  if (longer) return text + "; convert with --run-records " + std::to_string(*longer) + " for longer reads";
  return text +
         "; unless a few large records make up the average, lower --run-records so that readers need less memory";
}

/// A pattern that matches nothing in any source is misspelt or superfluous.
std::optional<std::string> useless_patterns(const std::vector<ConvertedSource>& sources) {
  if (sources.empty()) return std::nullopt;
  std::string text;
  for (const std::string& pattern : sources.front().unmatched) {
    const bool useless = std::all_of(sources.begin(), sources.end(), [&pattern](const ConvertedSource& source) {
      return std::find(source.unmatched.begin(), source.unmatched.end(), pattern) != source.unmatched.end();
    });
    if (useless) text += (text.empty() ? "" : ", ") + pattern;
  }
  if (text.empty()) return std::nullopt;
  return "no file matches these patterns of --include and --exclude: " + text;
}

/// Columns of numbers that an odd value has made texts.
std::optional<std::string> numbers_as_bytes(const std::vector<ConvertedSource>& sources) {
  constexpr std::size_t kMostShown = 3;
  constexpr std::size_t kShownName = 40;
  const auto with_columns = std::find_if(sources.begin(), sources.end(),
                                         [](const ConvertedSource& source) { return !source.columns.empty(); });
  if (with_columns == sources.end()) return std::nullopt;
  std::string text;
  std::size_t found = 0;
  for (const CsvColumn& column : with_columns->columns) {
    if (column.reason.empty() || ++found > kMostShown) continue;
    text += (text.empty() ? "" : ", ") + format::shortened(column.name, kShownName) + " is bytes because of " +
            column.reason;
  }
  if (found == 0) return std::nullopt;
  if (found > kMostShown) text += " and " + format::count_of(found - kMostShown, "more column");
  return text + "; --csv-null names values that mean a missing number, --csv-type sets the type of a column";
}

/// More shards than records are mostly a mistake, and each empty one is a file.
std::optional<std::string> empty_shards(const ConvertReport& report) {
  if (report.shards == 1 || report.shards <= report.records) return std::nullopt;
  return "there are more shards than records, so at least " + std::to_string(report.shards - report.records) + " of " +
         std::to_string(report.shards) + " are empty; ask for fewer shards";
}

}  // namespace

std::vector<std::string> conversion_notes(const ConvertReport& report, bool shuffled, std::uint64_t run_bytes) noexcept
    try {
  std::vector<std::string> notes;
  for (const auto& note : {useless_patterns(report.sources), numbers_as_bytes(report.sources), empty_shards(report),
                           class_order(report, shuffled), unlike_runs(report, run_bytes)}) {
    if (note) notes.push_back(*note);
  }
  return notes;
} catch (const std::exception&) {
  return {};
}

}  // namespace dovetail::detail
