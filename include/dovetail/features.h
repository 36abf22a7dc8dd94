// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/schema.h>

namespace dovetail {

namespace detail {
class Collector;
}

/// What the list of a feature holds.
enum class ValueKind : std::uint8_t {
  none,    ///< No list, in all records that have the feature.
  bytes,   ///< bytes_list.
  floats,  ///< float_list.
  ints,    ///< int64_list.
};

/// "none", "bytes", "float" or "int64".
DOVETAIL_EXPORT std::string_view to_text(ValueKind kind) noexcept;

/// How often a value occurs.
struct TopValue {
  /// A number in decimal; a float with the shortest digits that give it back. For `bytes`, the
  /// bytes themselves, which need not be UTF-8.
  std::string value;
  std::uint64_t count = 0;
};

/// Histogram: bars of equal width over [from, to]. For whole numbers `to` is one past the largest,
/// rounded to double: above 2^53 it may be equal to the largest.
struct Histogram {
  double from = 0;
  double to = 0;
  std::vector<std::uint64_t> counts;  ///< Values in each bar; up to 16 bars, none without values.
  bool estimated = false;             ///< From a sample of the lists.

  /// Where bar `i` begins.
  double begin(std::size_t i) const noexcept {
    return from + (to - from) / static_cast<double>(counts.size()) * static_cast<double>(i);
  }
};

/// Statistics of all lists that have one name and one kind. A name whose lists differ in kind has
/// one of these for each.
struct DOVETAIL_EXPORT FeatureStats {
  std::string name;
  ValueKind kind = ValueKind::none;
  std::uint64_t records = 0;      ///< Records that have it, with a list of this kind.
  std::uint64_t empty_lists = 0;  ///< Of these, those whose list has no values.
  /// The least id of the records whose list has values; 0 if no list has any.
  std::uint64_t first_record = 0;

  // Lengths of lists, without empty ones.
  std::uint64_t least_values = 0;
  std::uint64_t most_values = 0;
  std::uint64_t values = 0;  ///< In all lists together.
  double mean_values() const noexcept;
  /// Whether all lists that have values have the same number of them.
  bool fixed() const noexcept { return least_values == most_values; }

  // For `bytes`, the lengths in bytes; for other kinds, the numbers themselves. Floats that are not
  // finite, and JSON numbers beyond the range of a float, are only counted.
  double least = 0;
  double mean = 0;  ///< From an exact sum; only the floats of one list are added in double.
  double most = 0;
  std::int64_t least_int = 0;  ///< Exact; for `ints` and `bytes`.
  std::int64_t most_int = 0;
  std::uint64_t nans = 0;
  std::uint64_t infinities = 0;

  /// Number of different values; all NaNs are one, and so are both zeros.
  std::uint64_t distinct = 0;
  /// Relative standard error of `distinct`; 0 if it is exact.
  double distinct_error = 0;
  /// Up to 10 of the values that occur more than once, the most frequent first; for `bytes`, only
  /// those of up to 48 bytes. Empty if no value is known to be frequent.
  std::vector<TopValue> top;
  /// Whether these counts are estimates, from a sample of the lists; they are exact where
  /// `distinct` is.
  bool top_estimated = false;
  /// Of the finite numbers, or of the lengths.
  Histogram histogram;
};

/// Most names in a report.
inline constexpr std::size_t kMaxReportedFeatures = 10'000;

/// The features of the records of a dataset.
struct FeaturesReport {
  std::uint64_t records = 0;   ///< Records that were read.
  std::uint64_t examples = 0;  ///< Of these, tf.train.Examples with a feature.
  /// Other records that are JSON objects, including empty ones. Members are features; `outer.inner`
  /// is a member of a member. Whole numbers of int64, true and false are ints. Whole numbers from
  /// 2^63 to 2^64 - 1 are bytes: their digits. Other numbers are floats, with the precision of a
  /// double. Strings are bytes. Lists of one of these have its kind, of integers and floats that of
  /// floats; other lists are bytes: their text. null and [] count as missing. Of equal names in one
  /// object the last counts. `a.b` beside `{"a": {"b": ...}}` makes a record none of these.
  std::uint64_t json_objects = 0;
  /// Why the first record that is neither is not counted; names its id.
  std::optional<Error> first_other;
  std::uint64_t first_other_record = 0;  ///< Its id.

  std::uint64_t damaged_blocks = 0;  ///< Skipped, and shards too damaged to open.
  std::uint64_t lost_records = 0;    ///< Records in these.
  std::optional<Error> first_damage;

  /// By name and kind, in bytewise order: the first 10,000 names of up to 1 KiB. Fewer if long
  /// names do not fit into the memory.
  std::vector<FeatureStats> features;
  /// Number of further names: an estimate with a standard error of 0.8 %.
  std::uint64_t names_left_out = 0;

  /// Columns for `ReaderOptions::columns` and `--columns`. They fit every record that was read
  /// here. They fit the whole dataset only without `max_records`, damage and other records.
  ///
  /// - Integers are i64, floats f32. If lists differ in length, and for several texts, a column is
  ///   ragged.
  /// - Integers in some records and floats in others are f32, or f64 if an integer is beyond 2^24.
  /// - If a record lacks the feature, or has an empty list, there is a fallback: nan, "" or []; for
  ///   integers -1, or 0 if some are negative.
  /// - There are none if records are JSON objects, because readers cannot decode those into
  ///   columns.
  Schema schema;
  /// Names without a column: of mixed kinds, without values, or beyond the limits of a schema. Also
  /// integers and floats with a number beyond 2^53, or with lists that differ in length.
  std::vector<std::string> without_column;
};

/// Default memory of a `FeatureCollector`.
inline constexpr std::size_t kFeatureMemoryBytes = std::size_t{24} << 20;

/// Collects statistics of features, record by record.
///
/// The report depends only on records, ids and memory. The order of the records, and how they are
/// divided among merged collectors, changes at most estimates when names are left out.
///
/// - Distinct values are counted exactly up to 512 of a feature. Above that the count is an
///   estimate by HyperLogLog with 2^14 registers: standard error 0.8 % (Flajolet et al. 2007, with
///   the estimator of Ertl 2017, arXiv:1702.01284).
/// - Top values and histogram are exact if the distinct count is. Otherwise they come from a sample
///   of lists, chosen by a hash of the record's id: up to 512 values, up to 32 numbers or 8 texts
///   of one list.
/// - If memory runs short, these limits are halved for all features, as often as needed: registers,
///   exact values, and sample. 24 MiB hold 250 features of texts, or 700 of numbers, without that.
///   1000 of texts have a standard error of 1.6 %, and 10,000 one of 6.5 %, after six times. Names
///   that do not fit then are left out, from the last.
///
/// Ownership: copies what it keeps.
/// Threads:   one thread at a time, also for `report`; collectors are independent of each other.
/// Errors:    none; records that are neither Examples nor JSON objects are counted.
/// Cost:      no allocation per Example in the steady state. Takes `memory_bytes` and 1.5 MiB, and for
///            the largest record up to 350 bytes for each feature in it; of JSON up to 25 times the
///            record.
class DOVETAIL_EXPORT FeatureCollector {
 public:
  /// Needs: at least 1 MiB.
  explicit FeatureCollector(std::size_t memory_bytes = kFeatureMemoryBytes);
  FeatureCollector(FeatureCollector&&) noexcept;
  FeatureCollector& operator=(FeatureCollector&&) noexcept;
  ~FeatureCollector();

  /// Needs: an id that no other record has.
  void add(std::uint64_t id, ByteView record);
  /// Adds the records of another one. Needs: the same `memory_bytes`, and other ids.
  void merge(const FeatureCollector& other);
  std::uint64_t records() const noexcept;
  FeaturesReport report() const;

 private:
  std::unique_ptr<detail::Collector> impl_;
};

/// How a dataset is read for its features.
struct FeatureOptions {
  /// Threads, up to 8; 0 (default) uses all cores. If the first records have thousands of features,
  /// one thread reads everything.
  unsigned threads = 0;
  /// 0 (default) reads all records. Otherwise reads blocks at equal distances with about this many
  /// records in total.
  std::uint64_t max_records = 0;
  /// Called before each MiB or so is read, and before each larger block, by one thread at a time;
  /// returning true cancels. An exception ends the pass and propagates to the caller.
  std::function<bool()> cancelled = {};
  /// Called like `cancelled`, with the records and bytes of records read so far.
  std::function<void(std::uint64_t records, std::uint64_t bytes)> progress = {};
};

/// Reads a dataset once and describes the features of its records. The number of threads changes
/// nothing in the report, except estimates when names are left out.
///
/// Damaged blocks are left out and counted; nothing else of a shard is checked. With `max_records`,
/// only shards that hold one of the blocks are opened.
///
/// Errors: those of opening shards, except for damage; the system's; `operation_canceled`.
/// Cost:   a pass over all blocks. Takes 45 MiB for statistics, and for each thread the largest
///         block and what `FeatureCollector` takes for its records. An open shard takes its index.
DOVETAIL_EXPORT Result<FeaturesReport> describe_features(const Dataset& dataset, const FeatureOptions& options = {});

}  // namespace dovetail
