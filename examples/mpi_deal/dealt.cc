// SPDX-License-Identifier: Apache-2.0
#include "dealt.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace deal {

namespace {

// A step takes two messages to each rank: what a slab has in front of its values, which has one
// size for all, and then the values, whose size the receiver reads there.

void wait(MPI_Request& request) {
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int as_count(std::uint64_t bytes) {
  if (bytes > std::uint64_t{std::numeric_limits<int>::max()}) {
    throw std::length_error("MPI counts to 2^31 - 1: a step of " + std::to_string(bytes) +
                            " bytes cannot be dealt at once, use smaller batches");
  }
  return static_cast<int>(bytes);
}

/// Rank 0: reads the global batches, keeps its own rows, and sends the others theirs.
class Dealer final : public RowSource {
 public:
  Dealer(Batches batches, std::uint32_t ranks, std::uint32_t rows)
      : batches_(std::move(batches)), rows_(rows), layout_(dovetail::SlabLayout::for_rows(rows)) {
    for (Sending& step : steps_) {
      step.fronts.resize(ranks * layout_.values);
      step.counts.resize(ranks);
      step.begins.resize(ranks);
    }
    start(steps_[0]);
  }

  std::optional<Rows> next() override {
    Sending& given = steps_[turn_];
    turn_ = 1 - turn_;
    // The step before this one: its rows are used here, and its lease is needed for the one behind.
    finish(steps_[turn_]);
    start(steps_[turn_]);
    if (!given.batch.has_value()) return std::nullopt;
    const auto bytes = static_cast<std::size_t>(given.counts[0]);
    return Rows{given.batch->offsets().first(rows_ + 1), given.batch->ids().first(rows_),
                given.batch->status().first(rows_), given.batch->values().first(bytes)};
  }

 private:
  /// A step on its way. MPI reads all of it until both requests are done.
  struct Sending {
    std::optional<dovetail::Batch> batch;
    std::vector<std::byte> fronts;  ///< One per rank.
    std::vector<int> counts;        ///< Bytes of each rank's values,
    std::vector<int> begins;        ///< and where they lie in those of the batch.
    MPI_Request front_request = MPI_REQUEST_NULL;
    MPI_Request value_request = MPI_REQUEST_NULL;
  };

  void start(Sending& step) {
    step.batch = batches_.next();
    if (!step.batch.has_value()) return;
    as_count(step.batch->values().size());
    for (std::size_t rank = 0; rank < step.counts.size(); ++rank) pack(step, rank);
    MPI_Iscatter(step.fronts.data(), as_count(layout_.values), MPI_BYTE, MPI_IN_PLACE, 0, MPI_BYTE, 0, MPI_COMM_WORLD,
                 &step.front_request);
    MPI_Iscatterv(step.batch->values().data(), step.counts.data(), step.begins.data(), MPI_BYTE, MPI_IN_PLACE, 0,
                  MPI_BYTE, 0, MPI_COMM_WORLD, &step.value_request);
  }

  void pack(Sending& step, std::size_t rank) const {
    const std::size_t first = rank * rows_;
    const auto offsets = step.batch->offsets().subspan(first, rows_ + 1);
    step.begins[rank] = static_cast<int>(offsets.front());
    step.counts[rank] = static_cast<int>(offsets.back() - offsets.front());
    std::byte* front = step.fronts.data() + rank * layout_.values;
    std::transform(offsets.begin(), offsets.end(), reinterpret_cast<std::int64_t*>(front + layout_.offsets),
                   [begin = offsets.front()](std::int64_t offset) { return offset - begin; });
    std::ranges::copy(std::as_bytes(step.batch->ids().subspan(first, rows_)), front + layout_.ids);
    std::ranges::copy(std::as_bytes(step.batch->status().subspan(first, rows_)), front + layout_.status);
  }

  static void finish(Sending& step) {
    wait(step.front_request);
    wait(step.value_request);
    step.batch.reset();
  }

  Batches batches_;
  std::uint32_t rows_;
  dovetail::SlabLayout layout_;
  std::array<Sending, 2> steps_;
  std::size_t turn_ = 0;
};

/// The other ranks: receive their rows into two slabs in turn.
class Hand final : public RowSource {
 public:
  Hand(std::uint64_t steps, std::uint32_t rows)
      : left_(steps), rows_(rows), layout_(dovetail::SlabLayout::for_rows(rows)) {
    for (Receiving& step : steps_) step.slab.resize(layout_.values);
    expect_front(steps_[0]);
    expect_values(steps_[0]);
  }

  std::optional<Rows> next() override {
    if (left_ == 0) return std::nullopt;
    --left_;
    Receiving& given = steps_[turn_];
    turn_ = 1 - turn_;
    Receiving& following = steps_[turn_];
    if (left_ > 0) expect_front(following);
    wait(given.value_request);
    if (left_ > 0) expect_values(following);
    return rows_of(given);
  }

 private:
  struct Receiving {
    std::vector<std::byte> slab;
    MPI_Request front_request = MPI_REQUEST_NULL;
    MPI_Request value_request = MPI_REQUEST_NULL;
  };

  void expect_front(Receiving& step) const {
    MPI_Iscatter(nullptr, 0, MPI_BYTE, step.slab.data(), static_cast<int>(layout_.values), MPI_BYTE, 0, MPI_COMM_WORLD,
                 &step.front_request);
  }

  void expect_values(Receiving& step) const {
    wait(step.front_request);
    const auto bytes = static_cast<std::size_t>(offsets_of(step).back());
    if (step.slab.size() < layout_.values + bytes) step.slab.resize(layout_.values + bytes);
    MPI_Iscatterv(nullptr, nullptr, nullptr, MPI_BYTE, step.slab.data() + layout_.values, static_cast<int>(bytes),
                  MPI_BYTE, 0, MPI_COMM_WORLD, &step.value_request);
  }

  std::span<const std::int64_t> offsets_of(const Receiving& step) const {
    return {reinterpret_cast<const std::int64_t*>(step.slab.data() + layout_.offsets), rows_ + 1};
  }

  Rows rows_of(const Receiving& step) const {
    const std::byte* slab = step.slab.data();
    return {offsets_of(step),
            {reinterpret_cast<const std::uint64_t*>(slab + layout_.ids), rows_},
            {reinterpret_cast<const dovetail::RowStatus*>(slab + layout_.status), rows_},
            {slab + layout_.values, static_cast<std::size_t>(offsets_of(step).back())}};
  }

  std::uint64_t left_;
  std::size_t rows_;
  dovetail::SlabLayout layout_;
  std::array<Receiving, 2> steps_;
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<RowSource> deal_rows(const mpi_job::Job& job, const Settings& settings) {
  std::uint64_t steps = 0;
  std::optional<Batches> batches;
  if (job.first()) {
    const auto ranks = static_cast<std::uint32_t>(job.world());
    batches.emplace(open_reader(settings, dovetail::RankContext(), ranks * settings.batch, ranks), settings.epochs);
    steps = batches->left();
  }
  // The others neither have a plan nor the dataset to make one from.
  MPI_Bcast(&steps, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (!job.first()) return std::make_unique<Hand>(steps, settings.batch);
  return std::make_unique<Dealer>(std::move(*batches), static_cast<std::uint32_t>(job.world()), settings.batch);
}

}  // namespace deal
