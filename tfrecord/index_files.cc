// SPDX-License-Identifier: Apache-2.0
#include <dovetail/tfrecord_index.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "convert/workers.h"
#include "format/guard_memory.h"
#include "format/try.h"
#include "writer/writer_options.h"

namespace dovetail {

namespace {

Result<std::vector<TfrecordIndexReport>> index_all(const std::vector<TfrecordToIndex>& files,
                                                   const TfrecordIndexJobs& jobs) {
  std::mutex mutex;
  std::uint64_t all_records = 0;
  std::uint64_t all_bytes = 0;
  const auto index = [&](const TfrecordToIndex& file) {
    TfrecordIndexOptions options = file.options;
    std::uint64_t records_before = 0;
    std::uint64_t bytes_before = 0;
    options.progress = [&](std::uint64_t records, std::uint64_t bytes) {
      if (!jobs.progress) return true;
      const std::lock_guard lock(mutex);
      all_records += records - std::exchange(records_before, records);
      all_bytes += bytes - std::exchange(bytes_before, bytes);
      return jobs.progress(all_records, all_bytes);
    };
    return index_tfrecord(file.path, options, jobs.overwrite);
  };
  std::vector<TfrecordIndexReport> reports(files.size());
  detail::FailureGate gate;
  std::atomic<std::uint32_t> next = 0;
  const unsigned threads = jobs.jobs != 0 ? jobs.jobs : std::max(1u, std::thread::hardware_concurrency());
  detail::run_workers(static_cast<unsigned>(std::min<std::size_t>(threads, files.size())), gate, [&] {
    for (std::uint32_t at = next++; at < files.size() && !gate.stops(at); at = next++) {
      auto report = index(files[at]);
      if (!report) return gate.fail(at, report.error());
      reports[at] = std::move(*report);
    }
  });
  DOVETAIL_TRY(gate.outcome());
  return reports;
}

}  // namespace

Result<std::vector<TfrecordIndexReport>> index_tfrecords(const std::vector<TfrecordToIndex>& files,
                                                         const TfrecordIndexJobs& jobs) {
  DOVETAIL_TRY(detail::check_range("jobs", jobs.jobs, 0, detail::kMaxThreads));
  return detail::guard_memory("", [&] { return index_all(files, jobs); });
}

}  // namespace dovetail
