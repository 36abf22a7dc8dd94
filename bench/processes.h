// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "bench/job.h"

namespace dovetail::bench {

/// The start of a measurement, as the process that is measured sees it.
///
/// Threads: none.
class Start {
 public:
  /// Says that this process is ready and waits until all are; from then on time counts.
  void wait();

  double seconds() const;
  /// Time of the processor since then, of all threads.
  double cpu_seconds() const;

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double cpu_begin_ = 0;
};

/// Runs jobs at the same time, each in a new process of this program, which is started with `child`
/// and the job.
/// Errors: those of a process are in its outcome; throws where no process can be started.
std::vector<Outcome> run_together(const std::vector<Job>& jobs);

/// What a process does that `run_together` has started: pins itself, runs the job, and writes the
/// outcome to the standard output. Returns the exit status.
int run_child(const std::string& job_text);

/// What other programs do meanwhile: their share of the processors since this was made, this
/// process and the processes that it has waited for not counted. Good to about 10 ms of time; 0
/// where the system does not tell.
class OtherLoad {
 public:
  OtherLoad();
  double share() const;

 private:
  double busy_;  // seconds of all processors
  double own_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The processors that this process may run on.
std::vector<int> usable_cpus();

}  // namespace dovetail::bench
