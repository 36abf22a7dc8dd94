// SPDX-License-Identifier: Apache-2.0
// Exact evaluation with Dovetail and Open MPI: any number of ranks gives the metric of a plain
// loop, to the last bit.
//
//   mpirun -np 3 mpi_evaluation DATASET 32 1000          with batches of 32 rows, then of 1000
//
// Each rank scores its share of the records on batches of one shape. The scores are put back into
// dataset order before they are added up, because a sum of floating-point numbers depends on their
// order.
#include <mpi.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <dovetail/batch_reader.h>
#include <dovetail/gathered.h>
#include <dovetail/record_reader.h>

#include "job.h"
#include "score.h"

namespace evaluation {

using mpi_job::Job;

namespace {

/// Rows with their scores, of one rank or of all.
struct Scored {
  std::vector<std::uint64_t> ids;
  std::vector<dovetail::RowStatus> status;
  std::vector<float> scores;
  std::uint64_t empty_batches = 0;  ///< Without any record.
};

Scored score_my_rows(const dovetail::Dataset& dataset, std::uint32_t batch_rows) {
  dovetail::ReaderOptions options;
  options.ranks = dovetail::RankContext::from_environment().value();
  options.plan.batch = batch_rows;
  options.plan.order = dovetail::OrderKind::sequential;
  options.plan.tail = dovetail::Tail::pad;
  options.epochs = 1;
  auto reader = dovetail::BatchReader::open(dataset, options).value();
  Scored mine;
  for (const dovetail::Batch& batch : reader.epoch()) {
    mine.ids.insert(mine.ids.end(), batch.ids().begin(), batch.ids().end());
    mine.status.insert(mine.status.end(), batch.status().begin(), batch.status().end());
    // A model would run on all rows, whose shape never changes; what it says of an empty row is
    // dropped in the end.
    for (std::uint32_t row = 0; row < batch.rows(); ++row) mine.scores.push_back(log_likelihood(batch.row(row)));
    mine.empty_batches += batch.valid() == 0 ? 1 : 0;
  }
  return mine;
}

/// The values of all ranks, on rank 0. All have equally many: every rank makes the same steps of
/// the same rows.
template <class Value>
std::vector<Value> gather(const Job& job, const std::vector<Value>& mine, MPI_Datatype type) {
  if (mine.size() > std::size_t{std::numeric_limits<int>::max()}) throw std::length_error("too many rows for one rank");
  const int count = static_cast<int>(mine.size());
  std::vector<Value> all(job.first() ? mine.size() * static_cast<std::size_t>(job.world()) : 0);
  MPI_Gather(mine.data(), count, type, all.data(), count, type, 0, MPI_COMM_WORLD);
  return all;
}

Scored gather(const Job& job, const Scored& mine) {
  Scored all;
  all.ids = gather(job, mine.ids, MPI_UINT64_T);
  all.status = gather(job, mine.status, MPI_UINT8_T);
  all.scores = gather(job, mine.scores, MPI_FLOAT);
  MPI_Reduce(&mine.empty_batches, &all.empty_batches, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  return all;
}

std::vector<float> scores_of_plain_loop(const dovetail::Dataset& dataset) {
  std::vector<float> scores;
  for (std::uint32_t shard = 0; shard < dataset.shards().size(); ++shard) {
    auto reader = dovetail::RecordReader::open(dataset, shard).value();
    while (const auto record = reader.next().value()) scores.push_back(log_likelihood(*record));
  }
  return scores;
}

/// What comes out when each rank adds up its own rows, as one often sees: close, and different for
/// each world.
float mean_of_partial_sums(const Scored& mine, std::uint64_t records) {
  float sum = 0;
  for (std::size_t row = 0; row < mine.scores.size(); ++row) {
    if (mine.status[row] == dovetail::RowStatus::first) sum += mine.scores[row];
  }
  float total = 0;
  MPI_Reduce(&sum, &total, 1, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
  return total / static_cast<float>(records);
}

void evaluate(const Job& job, const dovetail::Dataset& dataset, std::uint32_t batch_rows) {
  const Scored mine = score_my_rows(dataset, batch_rows);
  const Scored all = gather(job, mine);
  const float partial = mean_of_partial_sums(mine, dataset.records());
  if (!job.first()) return;

  const auto rows = dovetail::GatheredRows::place(dataset.records(), all.ids, all.status).value();
  if (!rows.damaged().empty()) throw std::runtime_error("damaged records have no score");
  const float metric = mean(rows.arrange(all.scores).value());
  const float expected = mean(scores_of_plain_loop(dataset));
  std::printf("%d ranks, batches of %u: %llu records, %llu empty rows, %llu batches without a record\n", job.world(),
              batch_rows, static_cast<unsigned long long>(rows.rows().size()),
              static_cast<unsigned long long>(rows.gathered() - rows.rows().size()),
              static_cast<unsigned long long>(all.empty_batches));
  std::printf("  mean log-likelihood %a, of a plain loop %a, of partial sums %a\n", static_cast<double>(metric),
              static_cast<double>(expected), static_cast<double>(partial));
  if (std::bit_cast<std::uint32_t>(metric) != std::bit_cast<std::uint32_t>(expected)) {
    throw std::runtime_error("the metric is not that of the plain loop");
  }
}

}  // namespace

}  // namespace evaluation

int main(int argc, char** argv) {
  const mpi_job::Job job(&argc, &argv);
  if (argc < 3) {
    if (job.first()) std::fprintf(stderr, "usage: mpirun -np RANKS %s DATASET BATCH...\n", argv[0]);
    return 2;
  }
  try {
    const auto dataset = dovetail::Dataset::open(argv[1]).value();
    for (int i = 2; i < argc; ++i) {
      evaluation::evaluate(job, dataset, static_cast<std::uint32_t>(std::stoul(argv[i])));
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rank %d: %s\n", job.rank(), failure.what());
    job.abort();
  }
}
