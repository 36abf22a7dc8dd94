// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/apart_threads.h"

#include <exception>
#include <iterator>
#include <thread>

namespace dovetail::detail {

bool ApartThreads::add_thread_locked() noexcept {
  if (threads_ - lost_ - ending_ < live_ && threads_ < most_) {
    try {
      std::thread([self = shared_from_this()] { self->work(); }).detach();
      ++threads_;
    } catch (const std::exception&) {  // the others have to do
    }
  }
  return threads_ > lost_;
}

ApartThreads::Taken ApartThreads::run(const JobPtr& job) noexcept {
  Taken taken = Taken::lost;
  {
    const std::lock_guard lock(mutex_);
    if (job->stage_ == Job::Stage::made && add_thread_locked()) {
      job->stage_ = Job::Stage::waiting;
      job->node_.front() = job;
      waiting_.splice(waiting_.end(), job->node_);
      job->place_ = std::prev(waiting_.end());
      return Taken::yes;
    }
    if (threads_ < most_) taken = Taken::no_thread;
    job->stage_ = Job::Stage::over;
  }
  job->clear();
  return taken;
}

void ApartThreads::lose(Job& job) noexcept {
  Jobs dropped;
  {
    const std::lock_guard lock(mutex_);
    switch (job.stage_) {
      case Job::Stage::made:  // `run` will not take it
        job.stage_ = Job::Stage::over;
        break;
      case Job::Stage::waiting:
        job.stage_ = Job::Stage::over;
        dropped.splice(dropped.end(), waiting_, job.place_);
        break;
      case Job::Stage::working:
        job.stage_ = Job::Stage::lost;
        ++lost_;
        if (waiting_.empty() || add_thread_locked()) break;
        dropped.swap(waiting_);
        for (const JobPtr& left : dropped) left->stage_ = Job::Stage::over;
        break;
      case Job::Stage::lost:
      case Job::Stage::over:
        break;
    }
  }
  end_all(dropped, Fate::dropped);
}

void ApartThreads::stop_waiting() noexcept {
  Jobs stopped;
  {
    const std::lock_guard lock(mutex_);
    stopped.swap(waiting_);
    for (const JobPtr& job : stopped) job->stage_ = Job::Stage::over;
  }
  end_all(stopped, Fate::stopped);
}

void ApartThreads::settle(std::chrono::nanoseconds at_most) {
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, at_most, [this] { return threads_ == lost_; });
}

void ApartThreads::end_all(Jobs& jobs, Fate fate) noexcept {
  for (const JobPtr& job : jobs) job->end(fate);
  jobs.clear();
}

void ApartThreads::work() {
  std::unique_lock lock(mutex_);
  // One that comes back late may be one too many.
  while (!waiting_.empty() && threads_ - lost_ - ending_ <= live_) {
    Jobs taken;
    taken.splice(taken.end(), waiting_, waiting_.begin());
    taken.front()->stage_ = Job::Stage::working;
    lock.unlock();
    do_job(*taken.front());
    taken.clear();
    lock.lock();
    --ending_;
  }
  --threads_;
  ended_.notify_all();
}

void ApartThreads::do_job(Job& job) {
  try {
    job.work_();
  } catch (const std::exception&) {  // short of memory; its end tells
  }
  {
    const std::lock_guard lock(mutex_);
    if (job.stage_ == Job::Stage::lost) --lost_;
    job.stage_ = Job::Stage::over;
    ++ending_;
  }
  job.end(Fate::done);
}

void ApartThreads::Job::end(Fate fate) noexcept {
  try {
    end_(fate);
  } catch (const std::exception&) {  // likewise
  }
  clear();
}

void ApartThreads::Job::clear() noexcept {
  work_ = nullptr;
  end_ = nullptr;
}

}  // namespace dovetail::detail
