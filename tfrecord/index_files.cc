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

class IndexJobs {
 public:
  IndexJobs(const std::vector<TfrecordToIndex>& files, const TfrecordIndexJobs& jobs)
      : files_(files), jobs_(jobs), reports_(files.size()) {}

  Result<std::vector<TfrecordIndexReport>> run() {
    const unsigned threads = jobs_.jobs != 0 ? jobs_.jobs : std::max(1u, std::thread::hardware_concurrency());
    detail::run_workers(static_cast<unsigned>(std::min<std::size_t>(threads, files_.size())), gate_,
                        [this] { work(); });
    DOVETAIL_TRY(gate_.outcome());
    return std::move(reports_);
  }

 private:
  void work() {
    for (std::uint32_t at = next_++; at < files_.size() && !gate_.stops(at); at = next_++) {
      auto report = index(files_[at]);
      if (!report) return gate_.fail(at, report.error());
      reports_[at] = std::move(*report);
    }
  }

  Result<TfrecordIndexReport> index(const TfrecordToIndex& file) {
    TfrecordIndexOptions options = file.options;
    std::uint64_t records_before = 0;
    std::uint64_t bytes_before = 0;
    options.progress = [&](std::uint64_t records, std::uint64_t bytes) {
      if (!jobs_.progress) return true;
      const std::lock_guard lock(mutex_);
      records_ += records - std::exchange(records_before, records);
      bytes_ += bytes - std::exchange(bytes_before, bytes);
      return jobs_.progress(records_, bytes_);
    };
    return index_tfrecord(file.path, options, jobs_.overwrite);
  }

  const std::vector<TfrecordToIndex>& files_;
  const TfrecordIndexJobs& jobs_;
  std::vector<TfrecordIndexReport> reports_;
  detail::FailureGate gate_;
  std::atomic<std::uint32_t> next_ = 0;
  std::mutex mutex_;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<std::vector<TfrecordIndexReport>> index_tfrecords(const std::vector<TfrecordToIndex>& files,
                                                         const TfrecordIndexJobs& jobs) {
  DOVETAIL_TRY(detail::check_range("jobs", jobs.jobs, 0, detail::kMaxThreads));
  return detail::guard_memory("", [&] { return IndexJobs(files, jobs).run(); });
}

}  // namespace dovetail
