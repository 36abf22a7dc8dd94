// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/label_mixing.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "format/example/example_wire.h"
#include "format/try.h"
#include "inspect/record_picker.h"
#include "tools/records/record_json.h"

namespace dovetail::tools {

namespace {

constexpr std::uint64_t kMostRecords = 4096;
constexpr std::uint64_t kMostSampledBytes = std::uint64_t{64} << 20;
// The number of batches that the limits should allow even if each row is in a block of its own.
constexpr std::uint64_t kWantedBatches = 16;
constexpr std::uint64_t kLeastRows = 8;
constexpr std::uint64_t kMostRows = 256;

/// The number of rows that are read of each batch.
std::uint64_t rows_to_read(const Dataset& dataset) {
  std::uint64_t largest = 1;
  for (const ShardInfo& shard : dataset.shards()) largest = std::max<std::uint64_t>(largest, shard.max_block_stored);
  return std::clamp(kMostSampledBytes / (kWantedBatches * largest), kLeastRows, kMostRows);
}

/// Keeps only `rows` ids, at even distances.
void thin(std::vector<std::uint64_t>& ids, std::uint64_t rows) {
  if (ids.size() <= rows) return;
  for (std::uint64_t i = 0; i < rows; ++i) ids[i] = ids[i * ids.size() / rows];
  ids.resize(rows);
}

class LabelReader {
 public:
  LabelReader(const Dataset& dataset, std::string feature)
      : dataset_(dataset), picker_(dataset), feature_(std::move(feature)) {}

  bool exhausted() const noexcept { return picker_.bytes_read() >= kMostSampledBytes; }
  bool any_found() const noexcept { return found_; }

  /// The number of the record's label; empty for a damaged record.
  Result<std::optional<std::uint64_t>> read(std::uint64_t id) {
    const Result<ByteView> record = picker_.read(dataset_.locate(id));
    if (!record && record.error().kind() == ErrorKind::damaged) return std::optional<std::uint64_t>();
    if (!record) return record.error();
    if (const Result<void> parsed = features_.parse(*record); !parsed) {
      return Error(Errc::invalid_option, "--labels needs tf.train.Example records, but record " + std::to_string(id) +
                                             " is not one: " + parsed.error().detail());
    }
    std::string values = "none";
    if (const format::FeatureView* feature = features_.find(feature_)) {
      if (feature->kind == format::FeatureKind::floats) {
        return Error(Errc::invalid_option, "--labels = " + feature_ +
                                               ": a label must be an int64_list or a bytes_list, but " + "record " +
                                               std::to_string(id) + " has a float_list");
      }
      found_ = true;
      values.clear();
      append_values(values, *feature);
    }
    return std::optional(numbers_.emplace(std::move(values), numbers_.size()).first->second);
  }

 private:
  const Dataset& dataset_;
  inspect::RecordPicker picker_;
  std::string feature_;
  format::ExampleFeatures features_;
  std::map<std::string, std::uint64_t> numbers_;
  bool found_ = false;
};

}  // namespace

Result<LabelMixing> read_labels(const Dataset& dataset, const Plan& plan, const EpochPlan& epoch,
                                const std::string& feature) {
  LabelReader reader(dataset, feature);
  const std::uint64_t rows = rows_to_read(dataset);
  std::vector<std::vector<std::uint64_t>> labels;
  for (std::vector<std::uint64_t>& ids : sample_batches(plan, epoch, kMostRecords)) {
    if (reader.exhausted()) break;
    thin(ids, rows);
    // Read in file order, so that each block is read once per batch.
    std::sort(ids.begin(), ids.end());
    std::vector<std::uint64_t>& batch = labels.emplace_back();
    for (const std::uint64_t id : ids) {
      if (reader.exhausted()) {
        labels.pop_back();
        break;
      }
      DOVETAIL_ASSIGN(const std::optional<std::uint64_t> label, reader.read(id));
      if (label.has_value()) batch.push_back(*label);
    }
  }
  if (!labels.empty() && !reader.any_found()) {
    return Error(Errc::invalid_option, "--labels = " + feature + ": no record in the sample has that feature");
  }
  return measure_labels(labels);
}

}  // namespace dovetail::tools
