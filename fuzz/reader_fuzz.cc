// SPDX-License-Identifier: Apache-2.0
// Reads batches of a dataset whose files are changed, before it is opened or while it is read, with
// options of the input's. Steps, rows and ids are the planned ones until an error, and under
// `substitute` and `empty` always. A row has the bytes of its record, or is marked. The budget
// holds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/batch_reader.h>
#include <dovetail/record_reader.h>

#include "fuzz/hostile_dataset.h"
#include "fuzz/support.h"
#include "tests/format/column_reference.h"

namespace dovetail::fuzz {
namespace {

// A manifest may promise 2^55 records.
constexpr std::uint64_t kMostSteps = 64;
constexpr std::size_t kOwnMemory = std::size_t{48} << 20;

struct Case {
  bool with_manifest = true;
  std::uint64_t change_at = 0;  ///< Before so many batches; at 0 before the dataset is opened.
  ReaderOptions options;
};

Case case_of(Input& input, Layout layout) {
  Case out;
  const unsigned bits = input.byte();
  out.with_manifest = (bits & 1) != 0;
  ReaderOptions& options = out.options;
  options.on_damage = static_cast<OnDamage>(bits / 2 % 4 % 3);
  options.oversize = (bits & 8) != 0 ? Oversize::spill : Oversize::fail;
  options.plan.assign = (bits & 16) == 0 ? Assign::even : (bits & 8) != 0 ? Assign::files : Assign::runs;
  options.plan.sticky = (bits & 32) != 0;
  if (layout == Layout::examples && (bits & 64) == 0) options.columns = parse_schema(kExampleColumns).value();
  const unsigned shape = input.byte();
  options.plan.order = static_cast<OrderKind>(shape % 4 % 3);
  options.plan.tail = static_cast<Tail>(shape / 4 % 4 % 3);
  options.plan.world = 1 + shape / 16 % 4;
  options.plan.lanes = shape / 64 * options.plan.world;
  options.plan.replicate = options.plan.world == 4 && (bits & 128) != 0 ? 2 : 1;
  options.plan.batch = 1 + input.byte() % 24;
  options.ranks = {.rank = input.byte() % options.plan.world, .world = options.plan.world};
  options.plan.open_runs = 1 + input.byte() % 16;
  options.plan.pool = 1 + input.byte() % 64;
  options.plan.seed = input.byte();
  options.epochs = 1 + input.byte() % 2;
  const unsigned depth = input.byte();
  options.prefetch = 1 + depth % 4;
  options.max_held = 1 + depth / 4 % 2;
  options.decode_threads = 1 + depth / 8 % 2;
  options.memory_bytes = 64u * input.u16() + (depth < 64 ? 1u << 24 : 1u << 15);
  options.start.step = input.byte() % 8;
  out.change_at = input.byte() % 8;
  options.io_threads = 1;
  options.storage = StorageKind::pread;
  options.registration = Registration::off;
  return out;
}

/// What the files hold, whatever was done to them: what a reader in order finds there.
class Truth {
 public:
  Truth(const Dataset& dataset, const HostileDataset& files) : dataset_(dataset), files_(files) {}

  std::optional<std::string> found(std::uint64_t id) {
    const Dataset::Place place = dataset_.locate(id);
    RecordReader* const reader = open(place.shard);
    if (reader == nullptr || !reader->seek(place.record)) return std::nullopt;
    const auto record = reader->next();
    if (!record || !*record) return std::nullopt;
    return std::string(as_chars(**record));
  }

  /// Not a shard whose metadata are damaged, of which batches are read all the same: they need
  /// none.
  bool opens(std::uint64_t id) { return open(dataset_.locate(id).shard) != nullptr; }

  const std::string* written(std::uint64_t id) const {
    const Dataset::Place place = dataset_.locate(id);
    return files_.written(dataset_.shard_path(place.shard), place.record);
  }

 private:
  RecordReader* open(std::uint32_t shard) {
    auto& reader = readers_[shard];
    if (!reader) {
      auto opened = RecordReader::open(dataset_, shard);
      if (opened) reader = std::make_unique<RecordReader>(std::move(*opened));
    }
    return reader.get();
  }

  const Dataset& dataset_;
  const HostileDataset& files_;
  std::map<std::uint32_t, std::unique_ptr<RecordReader>> readers_;
};

/// The rows of one rank, as they are planned.
class Planned {
 public:
  Planned(const Plan& plan, std::uint32_t rank) : plan_(plan), rank_(rank) {}

  /// Needs: a step of the epoch.
  std::vector<PlannedRecord> rows(std::uint32_t epoch, std::uint64_t step) const {
    const EpochPlan layout = plan_.epoch(epoch).value();
    std::vector<PlannedRecord> rows;
    std::vector<Pick> picks(layout.rows_per_lane());
    for (std::uint32_t lane = 0; lane < layout.lanes_per_rank(); ++lane) {
      LaneCursor cursor = layout.lane(layout.first_lane(rank_) + lane).cursor(layout.first_output(step));
      cursor.next(picks);
      for (const Pick& pick : picks) rows.push_back(cursor.record(pick));
    }
    return rows;
  }
  std::uint64_t rows_per_lane(std::uint32_t epoch) const { return plan_.epoch(epoch).value().rows_per_lane(); }

 private:
  const Plan& plan_;
  std::uint32_t rank_;
};

bool good(RowStatus status) {
  return status == RowStatus::first || status == RowStatus::repeated;
}

bool substituted(RowStatus status) {
  return status == RowStatus::substituted || status == RowStatus::repeated_substituted;
}

/// Whether files may hold records, with good checksums, that were not written there.
enum class Forged : std::uint8_t { no, before, meanwhile };

/// One batch against its plan and the files.
class BatchCheck {
 public:
  BatchCheck(const Batch& batch, Truth& truth, Forged forged, std::uint64_t rows_per_lane)
      : batch_(batch), truth_(truth), forged_(forged), rows_per_lane_(rows_per_lane) {}

  void run(const std::vector<PlannedRecord>& planned, OnDamage on_damage) {
    require(batch_.rows() == planned.size(), "a batch has the planned rows");
    std::uint32_t first = 0;
    for (std::uint32_t row = 0; row < batch_.rows(); ++row) {
      const RowStatus status = batch_.status()[row];
      require(batch_.ids()[row] == planned[row].id, "a row has the planned id");
      first += status == RowStatus::first;
      if (status == planned[row].status) continue;
      require(good(planned[row].status), "only a record is damaged");
      require(on_damage != OnDamage::fail, "no row is passed over unasked");
      require(is_damaged(status) && (on_damage == OnDamage::substitute || !substituted(status)),
              "a damaged row is marked as asked");
      require(is_repetition(status) == is_repetition(planned[row].status), "a damaged row keeps what it was to be");
    }
    require(batch_.valid() == first, "as many rows count as are first");
    std::vector<std::optional<std::string>> contents;
    for (std::uint32_t row = 0; row < batch_.rows(); ++row) contents.push_back(content(row));
    if (batch_.schema() == nullptr) return bytes(contents);
    // Which of two records made a row cannot be seen, nor what one is that only batches read.
    if (forged_ == Forged::meanwhile || unknown_) return;
    const auto expected = test::reference_columns(*batch_.schema(), contents);
    require(expected.has_value(), "records that are delivered fit the columns");
    require(test::decoded_columns(*batch_.schema(), *batch_.column_layout(), batch_.values()) == *expected,
            "columns are those of the records");
  }

 private:
  /// What a row must hold. Of a good row one of two: what was written, and what the files hold now.
  std::optional<std::string> content(std::uint32_t row) {
    const RowStatus status = batch_.status()[row];
    if (substituted(status)) return content(nearest(row));
    if (!good(status)) return std::nullopt;
    const std::uint64_t id = batch_.ids()[row];
    const std::string* written = truth_.written(id);
    if (forged_ == Forged::no) {
      require(written != nullptr, "a record was written");
      return *written;
    }
    const std::string_view delivered = as_chars(batch_.row(row));
    if (batch_.schema() == nullptr && written != nullptr && delivered == *written) return *written;
    auto found = truth_.found(id);
    if (!found && !truth_.opens(id)) {
      unknown_ = true;
      return std::string(delivered);
    }
    if (!found && written != nullptr) return *written;
    require(found.has_value(), "what is delivered is in the file");
    return found;
  }

  std::uint32_t nearest(std::uint32_t row) {
    const auto lane = static_cast<std::uint32_t>(row / rows_per_lane_ * rows_per_lane_);
    const auto end = static_cast<std::uint32_t>(lane + rows_per_lane_);
    for (std::uint32_t other = row; other-- > lane;) {
      if (good(batch_.status()[other])) return other;
    }
    for (std::uint32_t other = row; other < end; ++other) {
      if (good(batch_.status()[other])) return other;
    }
    require(false, "a substitute is a good row of the same lane and batch");
    return row;
  }

  void bytes(const std::vector<std::optional<std::string>>& contents) {
    std::int64_t end = 0;
    for (std::uint32_t row = 0; row < batch_.rows(); ++row) {
      require(batch_.offsets()[row] == end, "rows follow each other");
      require(as_chars(batch_.row(row)) == contents[row].value_or(""), "a row has the bytes of its record");
      end = batch_.offsets()[row + 1];
    }
    require(static_cast<std::size_t>(end) == batch_.values().size(), "values are the rows");
  }

  const Batch& batch_;
  Truth& truth_;
  Forged forged_;
  std::uint64_t rows_per_lane_;
  bool unknown_ = false;
};

void check_stats(const ReaderStats& stats, bool damaged) {
  require(stats.read_ahead_peak + stats.slots * stats.slot_bytes <= stats.budget_bytes, "the budget is kept");
  const bool marked = stats.rows_substituted + stats.rows_damaged_empty > 0;
  require(!marked || !stats.damaged.empty(), "damage is told");
  require(damaged || stats.damaged.empty(), "what is not damaged is not called so");
}

void check_error(const Error& error, OnDamage on_damage, bool damaged) {
  require(!error.to_string().empty(), "a failure says what it is");
  if (error.is(Errc::batch_too_large) || error.is(Errc::budget_too_small) || error.is(Errc::no_steps)) return;
  require(on_damage == OnDamage::fail, "damage that is passed over ends nothing");
  require(damaged, "what is not damaged is read");
}

void read(HostileDataset& files, Case& what, Input& input) {
  Forged forged = Forged::no;
  if (what.change_at == 0 && files.change(input, what.with_manifest)) forged = Forged::before;
  const auto dataset = Dataset::open(files.path(what.with_manifest), {.threads = 1});
  if (!dataset) return require(!dataset.error().to_string().empty(), "a failure says what it is");
  auto reader = BatchReader::open(*dataset, what.options);
  if (!reader) return require(!reader.error().to_string().empty(), "a failure says what it is");

  const Planned planned(reader->plan(), what.options.ranks.rank);
  Truth truth(*dataset, files);
  Position at = what.options.start;
  for (std::uint64_t taken = 0; taken < kMostSteps; ++taken) {
    if (taken + 1 == what.change_at && files.change(input, what.with_manifest)) forged = Forged::meanwhile;
    const auto batch = reader->next();
    if (!batch) {
      check_error(batch.error(), what.options.on_damage, files.changed() || what.options.columns);
      break;
    }
    const std::uint64_t steps = reader->steps(at.epoch).value();
    if (!*batch) {
      require(at.step == steps, "an epoch has its planned steps");
      if (++at.epoch == what.options.epochs) break;
      at.step = 0;
      continue;
    }
    require((*batch)->epoch() == at.epoch && (*batch)->step() == at.step && at.step < steps, "steps follow each other");
    BatchCheck(**batch, truth, forged, planned.rows_per_lane(at.epoch))
        .run(planned.rows(at.epoch, at.step), what.options.on_damage);
    ++at.step;
  }
  check_stats(reader->stats(), files.changed() || what.options.columns);
}

void judge(Input input) {
  HostileDataset& files = hostile_dataset(input.byte());
  Case what = case_of(input, files.layout());
  const MemoryLimit limit(kOwnMemory + 2 * what.options.memory_bytes);
  read(files, what, input);
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge({data, size});
  return 0;
}
