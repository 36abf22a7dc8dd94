// SPDX-License-Identifier: Apache-2.0
#include "bench/delivery_matrix.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "bench/contestants.h"
#include "bench/page_cache.h"
#include "bench/processes.h"

namespace dovetail::bench {

namespace {

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::vector<Mode> modes_of(const Settings& settings) {
  std::vector<Mode> modes;
  for (const Mode mode : {Mode::two_processes, Mode::one_process, Mode::one_core}) {
    if (contains(settings.modes, to_string(mode))) modes.push_back(mode);
  }
  return modes;
}

/// Peers and limits have no threads of their own: two processors are two processes for them.
std::vector<Mode> modes_without_threads(const Settings& settings) {
  std::vector<Mode> modes;
  for (const Mode mode : modes_of(settings)) {
    const Mode same = mode == Mode::one_process ? Mode::two_processes : mode;
    if (std::find(modes.begin(), modes.end(), same) == modes.end()) modes.push_back(same);
  }
  return modes;
}

void add_contestants(const Settings& settings, Form form, bool cold, std::vector<Cell>& cells) {
  for (const Mode mode : modes_of(settings)) {
    cells.push_back({.task = "dovetail", .form = form, .mode = mode, .cold = cold});
    if (form == Form::stored) {
      cells.push_back({.task = "indexed", .form = Form::tfrecord, .mode = mode, .cold = cold});
    }
  }
  for (const Mode mode : modes_without_threads(settings)) {
    if (!cold) cells.push_back({.task = "bare_walk", .form = form, .mode = mode});
    if (!settings.peers) continue;
    if (form == Form::snappy) {
      cells.push_back({.task = "packaged_snappy", .form = form, .mode = mode, .cold = cold});
    } else {
      cells.push_back({.task = "tfrecord", .form = Form::tfrecord, .mode = mode, .cold = cold});
      cells.push_back({.task = "leveldb_log", .form = Form::log, .mode = mode, .cold = cold});
      cells.push_back({.task = "lmdb",
                       .form = Form::lmdb,
                       .mode = mode,
                       .cold = cold,
                       .skipped = lmdb_missing(),
                       .impossible = !lmdb_missing().empty()});
    }
  }
}

void add_limits(const Settings& settings, const Workload& workload, Form form, std::vector<Cell>& cells) {
  for (const Limit* limit : limits_of(std::string(workload.name()), form == Form::snappy)) {
    if (!contains(settings.caches, limit->cold ? "cold" : "warm")) continue;
    const Cell cell{.task = limit->name, .form = form, .mode = Mode::one_process, .cold = limit->cold, .limit = limit};
    if (limit->cold) {
      cells.push_back(cell);  // bound by the device, not by processors
      continue;
    }
    for (const Mode mode : modes_without_threads(settings)) {
      cells.push_back(cell);
      cells.back().mode = mode;
    }
  }
}

std::vector<Cell> cells_of(const Workload& workload, const Settings& settings) {
  std::vector<Cell> cells;
  for (const Form form : {Form::stored, Form::snappy}) {
    if (!contains(settings.codecs, to_string(form))) continue;
    if (form == Form::snappy && workload.kind() == WorkloadKind::images && !settings.all_codecs) continue;
    for (const bool cold : {false, true}) {
      if (contains(settings.caches, cold ? "cold" : "warm")) add_contestants(settings, form, cold, cells);
    }
    if (settings.limits) add_limits(settings, workload, form, cells);
  }
  return cells;
}

std::vector<Job> jobs_of(const Cell& cell, const Data& data, const Workload& workload, const Settings& settings) {
  const std::vector<int> cpus = usable_cpus();
  Job job;
  job.task = cell.task;
  job.data = data.path;
  job.workload = workload.name();
  job.epochs = cell.epochs;
  job.records = workload.records();
  job.max_record_bytes = workload.max_record_bytes();
  job.seconds = cell.cold ? 60 : settings.limit_seconds;
  job.reader_options = settings.reader_options;
  job.cpus = {cpus[0]};
  if (cell.mode == Mode::one_core) return {job};
  if (cell.mode == Mode::one_process) {
    job.cpus.push_back(cpus[1]);
    return {job};
  }
  job.world = 2;
  Job other = job;
  other.rank = 1;
  other.cpus = {cpus[1]};
  return {job, other};
}

Measured together(std::vector<Outcome> outcomes) {
  Delivered all;
  std::uint64_t first_bytes = 0;
  double longest = 0;
  double longest_after_first = 0;
  double cpu_seconds = 0;
  Measured measured;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.error.empty()) throw std::runtime_error(outcome.error);
    all.add(outcome.delivered);
    first_bytes += outcome.first_batch_bytes;
    longest = std::max(longest, outcome.seconds);
    longest_after_first = std::max(longest_after_first, outcome.seconds - outcome.first_batch_seconds);
    cpu_seconds += outcome.cpu_seconds;
    measured.first_batch_seconds = std::max(measured.first_batch_seconds, outcome.first_batch_seconds);
    measured.longest_gap_seconds = std::max(measured.longest_gap_seconds, outcome.longest_gap_seconds);
    measured.p999_gap_seconds = std::max(measured.p999_gap_seconds, outcome.p999_gap_seconds);
    measured.peak_rss_kib = std::max(measured.peak_rss_kib, outcome.peak_rss_kib);
  }
  const auto bytes = static_cast<double>(all.bytes);
  double share_after_first = (bytes - static_cast<double>(first_bytes)) / bytes;
  if (share_after_first == 0) {  // nothing follows the first batches, as with tiny data: all that is left is the whole
    share_after_first = 1;
    longest_after_first = longest;
  }
  measured.bytes_per_second = bytes * share_after_first / longest_after_first;
  measured.bytes_per_second_with_opening = bytes / longest;
  measured.rows_per_second = static_cast<double>(all.rows) * share_after_first / longest_after_first;
  measured.cpu_seconds_per_gb = cpu_seconds / bytes * 1e9;
  measured.outcomes = std::move(outcomes);
  return measured;
}

/// Every record once in every epoch, as far as the contestant tells which it delivers.
void check_delivered(const Cell& cell, const Measured& measured, const Delivered& epoch) {
  Delivered expected;
  for (std::uint32_t i = 0; i < cell.epochs; ++i) expected.add(epoch);
  Delivered found;
  for (const Outcome& outcome : measured.outcomes) found.add(outcome.delivered);
  found.batches = expected.batches;
  found.id_prefixes = expected.id_prefixes;
  if (!tells_ids(cell.task)) {
    found.ids = expected.ids;
    found.id_squares = expected.id_squares;
  }
  if (!(found == expected)) {
    throw std::runtime_error("other records than the data have: " + std::to_string(found.rows) + " rows of " +
                             std::to_string(found.bytes) + " bytes, expected " + std::to_string(expected.rows) +
                             " of " + std::to_string(expected.bytes));
  }
}

void run(Cell& cell, const WorkloadResult& result, const Workload& workload, const Settings& settings, bool counts) {
  const Data& data = result.data.at(cell.form);
  const std::string why_not = cell.cold ? make_cold(data.files) : make_warm(data.files);
  if (!why_not.empty()) {
    cell.skipped = why_not;
    return;
  }
  const OtherLoad others;
  Measured measured = together(run_together(jobs_of(cell, data, workload, settings)));
  measured.other_load = others.share();
  if (cell.limit == nullptr) check_delivered(cell, measured, data.all);
  if (counts) cell.rounds.push_back(std::move(measured));
}

/// The yardstick delivers the rows of every rank in the order in which the library does.
void check_order(const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    if (cell.task != "bare_walk" || cell.rounds.empty()) continue;
    const auto ours = std::find_if(cells.begin(), cells.end(), [&](const Cell& other) {
      return other.task == "dovetail" && other.form == cell.form && other.mode == cell.mode && !other.cold &&
             !other.rounds.empty();
    });
    if (ours == cells.end()) continue;
    for (std::size_t rank = 0; rank < cell.rounds.back().outcomes.size(); ++rank) {
      if (cell.rounds.back().outcomes[rank].delivered == ours->rounds.back().outcomes[rank].delivered) continue;
      throw std::runtime_error("rank " + std::to_string(rank) + " of the bare walk has another order than the reader");
    }
  }
}

}  // namespace

std::string_view to_string(Mode mode) noexcept {
  constexpr std::string_view names[] = {"two_processes", "one_process", "one_core"};
  return names[static_cast<std::size_t>(mode)];
}

WorkloadResult measure(const Workload& workload, const Settings& settings) {
  WorkloadResult result;
  result.name = workload.name();
  result.records = workload.records();
  result.cells = cells_of(workload, settings);
  const bool one_cpu = usable_cpus().size() < 2;
  for (Cell& cell : result.cells) {
    if (one_cpu && cell.mode != Mode::one_core) {
      cell.skipped = "only one processor may be used";
      cell.impossible = true;
    }
    if (cell.form == Form::lmdb && !lmdb_missing().empty()) continue;
    const auto made = result.data.find(cell.form);
    if (made == result.data.end()) {
      const Data& fresh = result.data[cell.form] = prepare(workload, cell.form, settings.data);
      // The page cache keeps a file in the pieces in which it was written; what is measured is one
      // that reading has filled.
      (void)make_cold(fresh.files);
    }
    const Data& data = result.data.at(cell.form);
    if (!cell.cold) {
      cell.epochs = static_cast<std::uint32_t>(std::max<std::uint64_t>(settings.bytes / data.all.bytes, 1));
    }
  }
  const std::uint32_t most = settings.warmups + std::max(settings.rounds, settings.cold_rounds);
  for (std::uint32_t round = 0; round < most; ++round) {
    std::fprintf(stderr, "%s: round %u of %u\n", result.name.c_str(), round + 1, most);
    const bool counts = round >= settings.warmups;
    for (Cell& cell : result.cells) {
      const std::uint32_t rounds = settings.warmups + (cell.cold ? settings.cold_rounds : settings.rounds);
      if (cell.impossible || round >= rounds || (cell.cold && !counts)) continue;
      try {
        run(cell, result, workload, settings, counts);
      } catch (const std::exception& error) {
        throw std::runtime_error(result.name + ' ' + cell.task + ' ' + std::string(to_string(cell.form)) + ' ' +
                                 std::string(to_string(cell.mode)) + (cell.cold ? " cold: " : " warm: ") +
                                 error.what());
      }
    }
  }
  check_order(result.cells);
  return result;
}

}  // namespace dovetail::bench
