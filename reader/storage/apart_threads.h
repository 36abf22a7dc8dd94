// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace dovetail::detail {

/// Threads for what may hang, which nobody joins. A thread whose job is lost no longer counts, and another takes its place, up
/// to a bound; so as long as jobs wait, there is a thread that will take them or is going to be lost itself.
///
/// Ownership: threads and jobs that wait share it.
/// Threads:   all functions may be called from any thread; jobs and their ends run on its own.
class ApartThreads : public std::enable_shared_from_this<ApartThreads> {
 public:
  class Job;
  /// What became of a job: it was done, was lost before it began or has no thread left, or nothing is begun any more.
  enum class Fate : std::uint8_t { done, dropped, stopped };
  using JobPtr = std::shared_ptr<Job>;

  /// `live` threads at most have jobs that are not lost, and `most` any. Needs: 0 < live <= most.
  ApartThreads(unsigned live, unsigned most) : live_(live), most_(most) {}

  enum class Taken : std::uint8_t {
    yes,
    lost,       ///< So many threads are lost that none is left for it.
    no_thread,  ///< The system gives none.
  };
  /// Does a job, once, when a thread is free. Where it is not taken it is not done, and never will be.
  Taken run(const JobPtr& job) noexcept;
  /// Nobody waits for a job any longer: if it has not begun, it never will. Those that no thread is left for are dropped.
  /// Idempotent.
  void lose(Job& job) noexcept;
  /// Does none of those that wait.
  void stop_waiting() noexcept;
  /// Waits for the threads whose jobs are not lost, but no longer than so. Needs: no job is given meanwhile.
  void settle(std::chrono::nanoseconds at_most);

 private:
  using Jobs = std::list<JobPtr>;
  static void end_all(Jobs& jobs, Fate fate) noexcept;
  void work();
  void do_job(Job& job);
  /// Starts a thread if one is allowed and can be had. Whether there is any for a job that waits.
  bool add_thread_locked() noexcept;

  const unsigned live_;
  const unsigned most_;
  std::mutex mutex_;
  std::condition_variable ended_;
  Jobs waiting_;
  unsigned threads_ = 0;
  unsigned lost_ = 0;    // of them
  unsigned ending_ = 0;  // likewise: closing a file may hang, too, so that these do not keep others from starting
};

/// What may hang, and what is to be done when it has come back.
class ApartThreads::Job {
 public:
  using Work = std::function<void()>;
  using End = std::function<void(Fate)>;
  /// `end` runs once for each job that `run` has taken: after `work` and on the same thread, or in its place, on any. What an
  /// exception of theirs was to do is left undone.
  Job(Work work, End end) : work_(std::move(work)), end_(std::move(end)) {}

 private:
  friend class ApartThreads;
  enum class Stage : std::uint8_t { made, waiting, working, lost, over };

  /// Ends it, and lets go of what it owns.
  void end(Fate fate) noexcept;
  void clear() noexcept;

  Work work_;
  End end_;
  Stage stage_ = Stage::made;  // guarded by the mutex of the threads
  Jobs node_ = Jobs(1);        // made here, so that waiting needs no memory
  Jobs::iterator place_{};     // while it waits
};

}  // namespace dovetail::detail
