// SPDX-License-Identifier: Apache-2.0
// Who should read: every rank for itself, or rank 0 for all? Both with Dovetail and Open MPI, the
// same rows either way.
//
//   mpirun -np 4 mpi_deal each DATASET        every rank reads its own rows, as Dovetail is meant to be used
//   mpirun -np 4 mpi_deal deal DATASET        rank 0 reads all rows and scatters them
//   mpirun -np 4 mpi_deal compare DATASET     both in turns, and what dealing costs
//   mpirun -np 4 mpi_deal check DATASET       both at once, compared row by row
//
// Nothing is done with the rows: the rates are what the trainer could be given at most.
#include <mpi.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "dealt.h"
#include "each.h"
#include "job.h"
#include "tally.h"

namespace deal {

using mpi_job::Job;

namespace {

using Open = std::unique_ptr<RowSource> (*)(const Job&, const Settings&);

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

/// One turn: from opening the dataset to the moment when the slowest rank has all its rows.
Summary measure(const Job& job, const Settings& settings, Open open) {
  MPI_Barrier(MPI_COMM_WORLD);
  Tally tally;
  const double cpu_before = cpu_seconds();
  const Stopwatch turn;
  {
    const std::unique_ptr<RowSource> source = open(job, settings);
    tally.idle_seconds += turn.seconds();
    for (;;) {
      const Stopwatch step;
      const std::optional<Rows> rows = source->next();
      tally.idle_seconds += step.seconds();
      if (!rows.has_value()) break;
      tally.add(*rows);
    }
    tally.seconds = turn.seconds();
  }
  tally.cpu_seconds = cpu_seconds() - cpu_before;
  return summarise(job, tally);
}

/// What the digests of all ranks must add up to.
dovetail::Hash128 planned_digest(const Job& job, const Settings& settings) {
  dovetail::PlanOptions options;
  options.world = static_cast<std::uint32_t>(job.world());
  options.batch = settings.batch;
  options.tail = settings.tail;
  const auto plan = dovetail::Plan::make(dovetail::Dataset::open(settings.dataset).value().shape(), options).value();
  dovetail::Hash128 sum;
  for (std::uint32_t epoch = 0; epoch < settings.epochs; ++epoch) sum += plan.epoch(epoch).value().digest();
  return sum;
}

void report(const Job& job, const Settings& settings, const char* mode, const Summary& summary) {
  if (!job.first()) return;
  std::printf("%s: %s\n", mode, summary.to_text().c_str());
  if (summary.all.digest != planned_digest(job, settings)) throw std::runtime_error("that is not what was planned");
}

void compare(const Job& job, const Settings& settings, std::uint32_t turns) {
  measure(job, settings, &deal_rows);  // not counted: warms the page cache and MPI's connections
  measure(job, settings, &read_own_rows);
  std::vector<double> ratios;
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    const Summary dealt = measure(job, settings, &deal_rows);
    report(job, settings, "deal", dealt);
    const Summary each = measure(job, settings, &read_own_rows);
    report(job, settings, "each", each);
    ratios.push_back(dealt.rows_per_second() / each.rows_per_second());
  }
  std::sort(ratios.begin(), ratios.end());
  if (job.first()) {
    std::printf("dealt rows come %.2f times as fast as rows that each rank reads (median of %zu turns, %.2f to %.2f)\n",
                ratios[ratios.size() / 2], ratios.size(), ratios.front(), ratios.back());
  }
}

void expect_equal(const Rows& dealt, const Rows& own, std::uint64_t step) {
  const char* differs = !std::ranges::equal(dealt.ids, own.ids)           ? "ids"
                        : !std::ranges::equal(dealt.status, own.status)   ? "statuses"
                        : !std::ranges::equal(dealt.offsets, own.offsets) ? "offsets"
                        : !std::ranges::equal(dealt.values, own.values)   ? "bytes"
                                                                          : nullptr;
  if (differs == nullptr) return;
  throw std::runtime_error("step " + std::to_string(step) + ": the dealt " + differs + " are not those that were read");
}

void check(const Job& job, const Settings& settings) {
  const std::unique_ptr<RowSource> dealt = deal_rows(job, settings);
  const std::unique_ptr<RowSource> own = read_own_rows(job, settings);
  Tally tally;
  for (;;) {
    const std::optional<Rows> got = dealt->next();
    const std::optional<Rows> expected = own->next();
    if (got.has_value() != expected.has_value()) throw std::runtime_error("the steps are not those that were read");
    if (!got.has_value()) break;
    expect_equal(*got, *expected, tally.steps);
    tally.add(*got);
  }
  const Summary summary = summarise(job, tally);
  if (!job.first()) return;
  std::printf("check: on %d ranks %llu steps, %llu rows, %llu empty, %llu bytes are equal\n", job.world(),
              static_cast<unsigned long long>(summary.all.steps), static_cast<unsigned long long>(summary.all.rows),
              static_cast<unsigned long long>(summary.all.empty_rows),
              static_cast<unsigned long long>(summary.all.bytes));
}

struct Arguments {
  std::string mode;
  Settings settings;
  std::uint32_t turns = 5;
};

void define(CLI::App& app, Arguments& arguments) {
  static const std::map<std::string, dovetail::Tail> tails{
      {"drop", dovetail::Tail::drop}, {"pad", dovetail::Tail::pad}, {"wrap", dovetail::Tail::wrap}};
  app.add_option("mode", arguments.mode)->required()->check(CLI::IsMember({"each", "deal", "compare", "check"}));
  app.add_option("dataset", arguments.settings.dataset)->required();
  app.add_option("--batch", arguments.settings.batch, "rows per rank and step")->capture_default_str();
  app.add_option("--tail", arguments.settings.tail)->transform(CLI::CheckedTransformer(tails));
  app.add_option("--epochs", arguments.settings.epochs, "in each turn")->check(CLI::PositiveNumber);
  app.add_option("--turns", arguments.turns, "of compare")->check(CLI::PositiveNumber)->capture_default_str();
}

void run(const Job& job, const Arguments& arguments) {
  const auto& [mode, settings, turns] = arguments;
  if (mode == "compare") {
    compare(job, settings, turns);
  } else if (mode == "check") {
    check(job, settings);
  } else {
    report(job, settings, mode.c_str(), measure(job, settings, mode == "deal" ? &deal_rows : &read_own_rows));
  }
}

}  // namespace

}  // namespace deal

int main(int argc, char** argv) {
  const mpi_job::Job job(&argc, &argv);
  CLI::App app("Who should read: every rank, or rank 0 for all?", "mpi_deal");
  deal::Arguments arguments;
  deal::define(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return job.first() ? app.exit(error) : error.get_exit_code();
  }
  try {
    deal::run(job, arguments);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rank %d: %s\n", job.rank(), failure.what());
    job.abort();
  }
}
