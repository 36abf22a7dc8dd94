// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/call_queue.h"

#include <thread>

#include <boost/asio/post.hpp>

namespace dovetail::detail {

CallQueue::Lane& CallQueue::lane_of(const TimedCall& call) noexcept {
  return call.kind() == Storage::RequestKind::call && inner_->facts().call_depth > 0 ? calls_ : reads_;
}

const char* CallQueue::refusal_locked(const TimedCall& call) noexcept {
  if (hung_files_.contains(call.path())) return "earlier calls on this file hang";
  const bool full = abandoned_ >= kMostAbandoned || (lane_of(call).places == 0 && abandoned_ > 0);
  return full ? "too many calls to the storage hang to start this one" : nullptr;
}

bool CallQueue::add(const std::shared_ptr<TimedCall>& call) {
  const char* refusal = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    Lane& lane = lane_of(*call);
    refusal = refusal_locked(*call);
    if (refusal == nullptr && lane.out >= lane.places) {
      lane.waiting.push_back(call);
      return true;
    }
    ++lane.out;
  }
  try {
    if (refusal == nullptr) {
      call->start();
    } else {
      refuse(call, refusal);
    }
  } catch (const std::exception&) {
    // Do not pump waiting calls here, because the caller may hold locks. The answers of other calls
    // do it.
    free_place(*call);
    throw;
  }
  return true;
}

void CallQueue::pump() noexcept {
  pump(reads_);
  pump(calls_);
}

void CallQueue::pump(Lane& lane) noexcept {
  for (;;) {
    std::shared_ptr<TimedCall> next;
    const char* refusal = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (lane.waiting.empty() || (stopping_ && abandoned_ > 0)) return;
      refusal = refusal_locked(*lane.waiting.front());
      if (refusal == nullptr && lane.out >= lane.places) return;
      next = std::move(lane.waiting.front());
      lane.waiting.pop_front();
      ++lane.out;
    }
    try {
      if (refusal == nullptr) {
        next->start();
        continue;
      }
      next->answer(next->error_of(ETIMEDOUT, refusal));
    } catch (const std::exception& failure) {
      next->answer(error_from(failure));
    }
    free_place(*next);
  }
}

void CallQueue::refuse(const std::shared_ptr<TimedCall>& call, const char* why) {
  auto answer = [self = shared_from_this(), call, why] {
    call->answer(call->error_of(ETIMEDOUT, why));
    self->finish(*call);
  };
  // The handler must not run inside the call that made the request, except if that call blocks
  // until the answer.
  if (call->blocks()) return answer();
  boost::asio::post(executor_, std::move(answer));
}

void CallQueue::goes_out(TimedCall& call) noexcept {
  const std::lock_guard lock(mutex_);
  call.stage_ = TimedCall::Stage::out;
}

void CallQueue::came_back_late(TimedCall& call) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(call.stage_, TimedCall::Stage::back) != TimedCall::Stage::abandoned) return;
    --abandoned_;
    if (!call.replaced_) ++lane_of(call).places;
    if (call.counted_) {
      const auto file = hung_files_.find(call.path());
      if (--file->second == 0) hung_files_.erase(file);
    }
  }
  pump();
}

void CallQueue::free_place(const TimedCall& call) noexcept {
  const std::lock_guard lock(mutex_);
  --lane_of(call).out;
  changed_.notify_all();
}

void CallQueue::finish(const TimedCall& call) noexcept {
  free_place(call);
  pump();
}

void CallQueue::abandon(TimedCall& call) noexcept {
  const std::lock_guard lock(mutex_);
  if (call.stage_ != TimedCall::Stage::out) return;
  call.stage_ = TimedCall::Stage::abandoned;
  ++abandoned_;
  call.replaced_ = inner_->add_place(call.kind());
  if (!call.replaced_) --lane_of(call).places;
  try {
    ++hung_files_[call.path()];
    call.counted_ = true;
  } catch (const std::exception&) {
    // Short of memory: other calls on the file must hang before they are refused.
  }
  changed_.notify_all();
}

void CallQueue::stop() {
  std::list<std::shared_ptr<TimedCall>> waiting;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    const auto none_waits = [this] { return reads_.waiting.empty() && calls_.waiting.empty(); };
    wait_until(lock, [&] { return (out_locked() == 0 && none_waits()) || abandoned_ > 0; });
    // Each waiting call may hang, and only a few run at a time. So cancel them all.
    for (Lane* const lane : {&reads_, &calls_}) {
      lane->out += static_cast<unsigned>(lane->waiting.size());
      waiting.splice(waiting.end(), lane->waiting);
    }
  }
  for (const std::shared_ptr<TimedCall>& call : waiting) {
    call->answer(call->error_of(ECANCELED, "the reader was stopped"));
    finish(*call);
  }
  bool hangs = false;
  {
    std::unique_lock lock(mutex_);
    wait_until(lock, [this] { return out_locked() == 0; });
    hangs = abandoned_ > 0;
  }
  watch_->stop();
  if (hangs) {
    try {
      return std::thread([self = shared_from_this()] { self->inner_->stop(); }).detach();
    } catch (const std::exception&) {  // no thread is left to wait for the abandoned calls
    }
  }
  inner_->stop();
}

}  // namespace dovetail::detail
