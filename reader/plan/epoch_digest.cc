// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reader/plan/digest.h"
#include "reader/plan/epoch_layout.h"
#include "reader/plan/pick_walk.h"
#include "reader/plan/wide_math.h"

namespace dovetail::detail {
namespace {

/// Sums digests over outputs of base lanes.
class EpochSums {
 public:
  explicit EpochSums(const EpochLayout& epoch) : epoch_(epoch), orders_(epoch), sums_(epoch.facts->records) {}

  Hash128 everything() const { return sums_.over(0, epoch_.facts->records); }

  /// The sum over consecutive outputs of one base lane.
  Hash128 over(const BaseRange& range) {
    Hash128 sum;
    epoch_.for_each_pass(range, [&](const PassRange& part) { sum += over(range.lane, part); });
    return sum;
  }

  /// The sum over all outputs of all base lanes of a mix.
  Hash128 mixed() {
    Hash128 sum;
    for (std::uint32_t source = 0; source < epoch_.facts->sources.size(); ++source) sum += mixed(source);
    return sum;
  }

 private:
  /// A pass that every lane completes gives each record of the source once, so such passes are
  /// summed at once. The other passes are walked pass by pass, because their lanes share one shard
  /// line.
  Hash128 mixed(std::uint32_t source) {
    const Source& all = epoch_.facts->sources[source];
    const LaneLengths& lanes = epoch_.lanes.base();
    std::uint64_t complete = ~std::uint64_t{0};
    std::uint64_t begun = 0;
    for (std::uint32_t lane = 0; lane < lanes.lanes(); ++lane) {
      const std::uint64_t outputs = epoch_.outputs_of(source, lanes.length(lane));
      // Lanes of a source with weight 0 may have no records; avoid a division by 0.
      const std::uint64_t length = std::max<std::uint64_t>(1, epoch_.source_records(source, lane));
      complete = std::min(complete, outputs / length);
      begun = std::max(begun, divide_up(outputs, length));
    }
    Hash128 sum = multiply({0, complete}, sums_.over(all.first_id, all.records));
    for (std::uint64_t pass = complete; pass < begun; ++pass) {
      for (std::uint32_t lane = 0; lane < lanes.lanes(); ++lane) {
        const std::uint64_t outputs = epoch_.outputs_of(source, lanes.length(lane));
        const std::uint64_t length = epoch_.source_records(source, lane);
        const std::uint64_t before = pass * length;
        if (outputs > before) sum += over(lane, {source, pass, 0, std::min(length, outputs - before)});
      }
    }
    return sum;
  }

  Hash128 over(std::uint32_t lane, const PassRange& part) {
    const PassOrder order = orders_.order(lane, part.source, part.pass);
    if (scattered()) return records(order, part.begin, part.end);
    return left(lane, part, order, part.begin) - left(lane, part, order, part.end);
  }

  bool scattered() const noexcept { return epoch_.facts->options.order == OrderKind::global; }

  /// With `OrderKind::global` each output is a run of its own.
  Hash128 records(const PassOrder& pass, std::uint64_t begin, std::uint64_t end) const {
    Hash128 sum;
    for (std::uint64_t output = begin; output < end; ++output) sum += over(pass.run(output));
    return sum;
  }

  /// The sum over the records that leave the pass at `output` or later. Whole pieces and whole runs
  /// are summed at once.
  Hash128 left(std::uint32_t lane, const PassRange& part, const PassOrder& pass, std::uint64_t output) {
    Hash128 sum;
    if (output == pass.records()) return sum;
    if (output == 0) {
      orders_.runs(lane, part.source, part.pass).for_each_part([&](const ShardPart& records) {
        sum += sums_.over(records.first_id, records.count);
      });
      return sum;
    }
    const PickWalk walk(pass, output, [] { return PickRuns(0); });
    for (const Pick& pick : walk.pooled()) sum += record_digest(pass.run(pick.run).first_id + pick.record);
    for (const OpenRun& open : walk.open_runs()) {
      const Run run = pass.run(open.run);
      const Stride records = pass.deal(open.run, run.count);
      if (open.given < run.count / 2) {
        sum += over(run) - given(run, records, 0, open.given);
      } else {
        sum += given(run, records, open.given, run.count);
      }
    }
    for (std::uint64_t run = walk.next_run(); run < pass.runs(); ++run) sum += over(pass.run(run));
    return sum;
  }

  Hash128 over(const Run& run) const { return sums_.over(run.first_id, run.count); }

  /// The sum over the records that a run gives as numbers [from, to).
  static Hash128 given(const Run& run, const Stride& records, std::uint64_t from, std::uint64_t to) {
    Hash128 sum;
    for (std::uint64_t i = from; i < to; ++i) sum += record_digest(run.first_id + records.at(i));
    return sum;
  }

  const EpochLayout& epoch_;
  PassOrders orders_;
  DigestSums sums_;
};

}  // namespace

Hash128 epoch_digest(const EpochLayout& epoch) {
  EpochSums sums(epoch);
  Hash128 digest = epoch.mixed ? sums.mixed() : sums.everything();
  if (epoch.facts->options.tail != Tail::drop) return digest;
  // Earlier phases pass their rest on to the next phase; only the last phase leaves records out.
  const LaneLengths& lengths = epoch.lanes.lengths();
  for (std::uint32_t lane = 0; lane < lengths.lanes(); ++lane) {
    std::uint64_t at = lengths.begin(lane) + std::min(lengths.length(lane), epoch.lane_outputs);
    while (at < lengths.begin(std::uint64_t{lane} + 1)) {
      BaseRange range = epoch.lanes.locate(at);
      range.count = std::min(range.count, lengths.begin(std::uint64_t{lane} + 1) - at);
      digest = digest - sums.over(range);
      at += range.count;
    }
  }
  return digest;
}

}  // namespace dovetail::detail
