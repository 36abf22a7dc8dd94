// SPDX-License-Identifier: Apache-2.0
#include "convert/infer_schema.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dovetail/features.h>

#include "convert/workers.h"
#include "format/example/example_wire.h"
#include "format/text/count_of.h"
#include "format/text/json_remedy.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "format/try.h"

namespace dovetail::detail {
namespace {

constexpr std::size_t kShownName = 60;

Error cannot_infer(const std::string& why) {
  return Error(Errc::invalid_option, "schema: cannot be inferred: " + why);
}

/// Returns whether the record is a valid Example without features.
bool has_no_features(ByteView record) {
  format::ExampleCursor cursor(record);
  ByteView entry;
  return !cursor.next(entry) && cursor.fault().what == nullptr;
}

std::string shown(std::string_view name) {
  return '"' + format::visible(format::shortened(name, kShownName)) + '"';
}

/// The statistics of a feature, in the order bytes, floats, integers, without those of lists
/// without values.
std::vector<const FeatureStats*> kinds_of(const FeaturesReport& report, const std::string& name) {
  std::vector<const FeatureStats*> kinds;
  for (const FeatureStats& stats : report.features) {
    if (stats.name == name && stats.values != 0) kinds.push_back(&stats);
  }
  return kinds;
}

std::uint64_t records_with_values(const FeatureStats& stats) {
  return stats.records - stats.empty_lists;
}

std::string text_of(const FeatureStats& stats) {
  std::string text = std::string(to_text(stats.kind)) + " in " + format::count_of(records_with_values(stats), "record");
  if (stats.kind != ValueKind::ints) return text;
  return text + " (" + std::to_string(stats.least_int) + " to " + std::to_string(stats.most_int) + ')';
}

/// Collects the features of all records, several shares of the line at a time.
///
/// No thread knows how many records are before its share. So the id of a record is made of the
/// number of its share and its number there.
class FeaturePass {
 public:
  FeaturePass(const InputLine& line, unsigned jobs, const std::function<bool()>& cancelled)
      : line_(line), cancelled_(cancelled) {
    constexpr std::uint64_t kLeastShareBytes = std::uint64_t{64} << 10;
    constexpr std::uint64_t kSharesPerThread = 4;  // so that threads end at about the same time
    threads_ = std::clamp(jobs, 1U, kMostThreads);
    // A thread that begins inside a file reads it from its beginning. So shares are large.
    records_.resize(std::clamp<std::uint64_t>(line.bytes() / kLeastShareBytes, 1, threads_ * kSharesPerThread));
  }

  Result<FeaturesReport> run() {
    FailureGate gate;
    run_workers(std::min<unsigned>(threads_, shares()), gate, [&] { work(gate); });
    DOVETAIL_TRY(gate.outcome());
    FeaturesReport report = all_.report();
    if (!report.first_other && without_features_) {
      all_.add(*without_features_, {});
      report = all_.report();  // now its columns have fallbacks
      report.first_other.reset();
    }
    return report;
  }

  /// The number of records in the whole line.
  std::uint64_t records() const { return std::accumulate(records_.begin(), records_.end(), std::uint64_t{0}); }
  /// The number of a record in the whole line.
  std::uint64_t number_of(std::uint64_t id) const {
    return std::accumulate(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(id / kShareIds),
                           id % kShareIds);
  }

  /// Moves to a record, which may take long. Returns whether it is there. Errors: as `LineCursor`.
  Result<bool> find(LineCursor& cursor, std::uint64_t id) const {
    cursor.watch(cancelled_);
    DOVETAIL_TRY(cursor.seek(line_.begin_of(id / kShareIds, shares())));
    for (std::uint64_t i = 0; cursor.has_record() && i != id % kShareIds; ++i) {
      DOVETAIL_TRY(cursor.advance());
    }
    return cursor.has_record();
  }

 private:
  static constexpr unsigned kMostThreads = 8;
  static constexpr std::uint64_t kShareIds = std::uint64_t{1} << 48;

  std::uint32_t shares() const noexcept { return static_cast<std::uint32_t>(records_.size()); }

  void work(FailureGate& gate) {
    FeatureCollector collector;
    std::optional<std::uint64_t> without_features;
    std::uint32_t share = 0;
    LineCursor cursor(line_);
    // Polled while input is skipped, too, which may take long.
    cursor.watch([&] { return gate.stops(share) || (cancelled_ && cancelled_()); });
    for (share = next_++; share < shares() && !gate.stops(share); share = next_++) {
      if (auto read = read_share(cursor, share, gate, collector, without_features); !read) {
        if (!gate.stops(share)) gate.fail(share, read.error());
        break;
      }
    }
    const std::lock_guard lock(mutex_);
    all_.merge(collector);
    if (!without_features_) without_features_ = without_features;
  }

  Result<void> read_share(LineCursor& cursor, std::uint32_t share, const FailureGate& gate, FeatureCollector& collector,
                          std::optional<std::uint64_t>& without_features) {
    DOVETAIL_TRY(cursor.seek(line_.begin_of(share, shares())));
    const std::uint64_t end = line_.begin_of(share + 1, shares());
    std::uint64_t id = share * kShareIds;
    for (; cursor.has_record() && cursor.place() < end && !gate.stops(share); ++id) {
      if (has_no_features(cursor.record())) {
        without_features = id;
      } else {
        collector.add(id, cursor.record());
      }
      DOVETAIL_TRY(cursor.advance());
    }
    records_[share] = id % kShareIds;
    return {};
  }

  const InputLine& line_;
  const std::function<bool()>& cancelled_;
  unsigned threads_ = 1;
  std::vector<std::uint64_t> records_;  // in each share
  std::atomic<std::uint32_t> next_{0};
  std::mutex mutex_;
  // Guarded by `mutex_` while threads run.
  FeatureCollector all_;
  std::optional<std::uint64_t> without_features_;
};

/// The error for the first record that is no Example, with its number in the line.
Error no_example(const FeaturePass& pass, const InputLine& line, std::uint64_t id, const Error& reason) {
  LineCursor cursor(line);
  const auto found = pass.find(cursor, id);
  if (!found) return found.error();
  if (!*found) return cannot_infer(reason.detail());
  FeatureCollector again;
  again.add(pass.number_of(id), cursor.record());
  const FeaturesReport report = again.report();
  return cannot_infer(report.first_other.value_or(reason).detail());
}

/// The error for a feature that needs a column and has none.
Error no_column(const std::string& name, const std::vector<const FeatureStats*>& kinds, const InputLine& line,
                const FeaturePass& pass) {
  std::string why = "the feature " + shown(name) + " cannot be a column: ";
  const char* separator = "";
  for (const FeatureStats* stats : kinds) why += std::exchange(separator, ", ") + text_of(*stats);
  if (kinds.size() == 1) {
    return cannot_infer(why + "; a schema has at most " + std::to_string(kMaxColumns) +
                        " columns; name the columns that you need in a schema");
  }
  const FeatureStats& rarest = **std::min_element(kinds.begin(), kinds.end(), [](const auto* a, const auto* b) {
    return records_with_values(*a) < records_with_values(*b);
  });
  LineCursor cursor(line);
  const auto sought = pass.find(cursor, rarest.first_record);
  if (!sought) return sought.error();
  const bool found = *sought;
  why += "; " + std::string(to_text(rarest.kind)) + " first in ";
  if (found && cursor.line() != 0) {
    why += "line " + std::to_string(cursor.line());
  } else {
    why += "record " + std::to_string(pass.number_of(rarest.first_record));
    if (found && !cursor.key().empty()) why += ", " + shown(cursor.key());
  }
  const bool numbers = kinds.front()->kind != ValueKind::bytes;
  if (numbers) why += "; a column of both needs lists of one length, and no number beyond 2^53";
  why += numbers ? "; name the columns in a schema, or give the feature one kind" : "; give the feature one kind";
  const Error error = cannot_infer(why);
  return found ? error.at(cursor.file(), cursor.offset()) : error;
}

/// Names columns that some records lack.
std::string note_of(const FeaturesReport& report, std::uint64_t records) {
  constexpr std::size_t kMostShown = 3;
  std::string note;
  std::size_t found = 0;
  for (const Column& column : report.schema.columns) {
    if (!column.fallback) continue;
    std::uint64_t lack = records;
    for (const FeatureStats* stats : kinds_of(report, column.name)) lack -= records_with_values(*stats);
    if (lack == 0 || ++found > kMostShown) continue;
    const std::string value = column.ragged ? "[]" : column.fallback->empty() ? "\"\"" : *column.fallback;
    note += (note.empty() ? "" : "; ") + format::visible(format::shortened(column.name, kShownName)) +
            " lacks a value in " + std::to_string(lack) + " of " + format::count_of(records, "record") + ": rows get " +
            value;
  }
  return found > kMostShown ? note + "; so do " + format::count_of(found - kMostShown, "more column") : note;
}

}  // namespace

Result<InferredSchema> infer_schema(const InputLine& line, unsigned jobs, const std::function<bool()>& cancelled) {
  FeaturePass pass(line, jobs, cancelled);
  DOVETAIL_ASSIGN(FeaturesReport report, pass.run());
  if (report.first_other) return no_example(pass, line, report.first_other_record, *report.first_other);
  if (report.json_objects > 0) {
    return cannot_infer(format::count_of(report.json_objects, "record") + " of JSON; " +
                        std::string(format::kJsonRemedy));
  }
  if (report.names_left_out > 0) {
    return cannot_infer("there are more than " + std::to_string(kMaxReportedFeatures) +
                        " features, or names of more than " + std::to_string(kMaxColumnNameBytes) +
                        " bytes; name the columns that you need in a schema");
  }
  for (const std::string& name : report.without_column) {
    const std::vector<const FeatureStats*> kinds = kinds_of(report, name);
    if (kinds.empty()) continue;  // without values it needs no column
    return no_column(name, kinds, line, pass);
  }
  if (report.schema.columns.empty()) return cannot_infer("no record has a feature with values");
  std::string note = note_of(report, pass.records());
  return InferredSchema{std::move(report.schema), std::move(note)};
}

}  // namespace dovetail::detail
