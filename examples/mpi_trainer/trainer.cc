// SPDX-License-Identifier: Apache-2.0
// Data-parallel training with Dovetail and Open MPI: softmax regression on handwritten digits.
//
//   mpirun -np 4 mpi_trainer mnist.tfrecord               trains for 10 epochs
//   mpirun -np 4 mpi_trainer mnist.tfrecord --per-file    shows what a split by files would have done
#include <mpi.h>

#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>

#include <dovetail/batch_reader.h>

#include "job.h"
#include "packed.h"
#include "per_file.h"
#include "softmax.h"

namespace digits {

using mpi_job::all_equal;
using mpi_job::Job;

namespace {

constexpr std::uint32_t kBatch = 25;
constexpr std::uint32_t kEpochs = 10;
constexpr std::uint32_t kShards = 10;  // over 4 ranks: a split by files is unequal
constexpr float kRate = 0.1F;

void print_epoch(const Job& job, std::uint32_t epoch, std::uint64_t steps, Sums& sums) {
  if (!job.first()) return;
  std::printf("epoch %2u: %llu steps, loss %.4f, accuracy %.3f\n", epoch, static_cast<unsigned long long>(steps),
              static_cast<double>(sums.loss() / sums.digits()), static_cast<double>(sums.hits() / sums.digits()));
}

// [trainer]
void train(const Job& job, const dovetail::Dataset& dataset, Softmax& model) {
  dovetail::ReaderOptions options;
  options.ranks = dovetail::RankContext::from_environment().value();
  options.plan.batch = kBatch;
  options.epochs = kEpochs;
  auto reader = dovetail::BatchReader::open(dataset, options).value();
  if (!all_equal(reader.plan().plan_checksum()))
    throw std::runtime_error("the ranks were started with different options");

  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    Sums seen;
    for (dovetail::Batch& batch : reader.epoch()) {
      Sums sums = model.forward_backward(batch);
      MPI_Allreduce(MPI_IN_PLACE, sums.data(), sums.size(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      model.descend(sums, kRate);
      seen.count(sums);
    }
    print_epoch(job, epoch, reader.steps(epoch).value(), seen);
  }
  std::printf("rank %d waited for data %.1f %% of the time\n", job.rank(), 100 * reader.stats().trainer_idle());
}
// [trainer]

/// Every record exactly once, on batches of one shape: the tail is padded, and padded rows do not
/// count.
void evaluate(const Job& job, const dovetail::Dataset& dataset, const Softmax& model) {
  dovetail::ReaderOptions options;
  options.ranks = dovetail::RankContext::from_environment().value();
  options.plan.batch = kBatch;
  options.plan.order = dovetail::OrderKind::sequential;
  options.plan.tail = dovetail::Tail::pad;
  options.epochs = 1;
  auto reader = dovetail::BatchReader::open(dataset, options).value();
  Sums sums;
  for (dovetail::Batch& batch : reader.epoch()) {
    Sums mine = model.forward_backward(batch);
    sums.count(mine);
  }
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), sums.size(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (!job.first()) return;
  std::printf("trained: loss %.4f, accuracy %.3f on all %.0f digits\n",
              static_cast<double>(sums.loss() / sums.digits()), static_cast<double>(sums.hits() / sums.digits()),
              static_cast<double>(sums.digits()));
}

void run(const Job& job, const std::string& path, bool per_file) {
  std::optional<Packed> packed;
  if (job.first()) packed.emplace(path, kShards);
  const auto dataset = dovetail::Dataset::open(mpi_job::broadcast(job.first() ? packed->path() : "")).value();
  if (per_file) {
    show_per_file_split(job, dataset, kBatch);
  } else {
    Softmax model;
    train(job, dataset, model);
    evaluate(job, dataset, model);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // rank 0 removes the files when all have read them
}

}  // namespace

}  // namespace digits

int main(int argc, char** argv) {
  const mpi_job::Job job(&argc, &argv);
  const bool per_file = argc == 3 && std::string(argv[2]) == "--per-file";
  if (argc != 2 && !per_file) {
    if (job.first()) std::fprintf(stderr, "usage: mpirun -np RANKS %s DIGITS [--per-file]\n", argv[0]);
    return 2;
  }
  try {
    digits::run(job, argv[1], per_file);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rank %d: %s\n", job.rank(), failure.what());
    job.abort();
  }
}
