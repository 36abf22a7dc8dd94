// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/call_queue.h"

#include <thread>

#include <boost/asio/post.hpp>

namespace dovetail::detail {

const char* CallQueue::refusal_locked(const TimedCall& call) const noexcept {
  if (hung_files_.contains(call.path())) return "earlier calls of the file hang";
  const bool full = abandoned_ >= kMostAbandoned || (places_ == 0 && abandoned_ > 0);
  return full ? "so many calls of the storage hang that there is no room for this one" : nullptr;
}

bool CallQueue::add(const std::shared_ptr<TimedCall>& call) {
  const char* refusal = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    refusal = refusal_locked(*call);
    if (refusal == nullptr && out_ >= places_) {
      waiting_.push_back(call);
      return true;
    }
    ++out_;
  }
  try {
    if (refusal == nullptr) {
      call->start();
    } else {
      refuse(call, refusal);
    }
  } catch (const std::exception&) {
    free_place();  // others are out, whose answers let go on what waits: here the caller may hold locks
    throw;
  }
  return true;
}

void CallQueue::pump() noexcept {
  for (;;) {
    std::shared_ptr<TimedCall> next;
    const char* refusal = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty() || (stopping_ && abandoned_ > 0)) return;
      refusal = refusal_locked(*waiting_.front());
      if (refusal == nullptr && out_ >= places_) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
      ++out_;
    }
    try {
      if (refusal == nullptr) {
        next->start();
        continue;
      }
      next->answer_once(next->error_of(ETIMEDOUT, refusal));
    } catch (const std::exception& failure) {
      next->answer_once(error_from(failure));
    }
    free_place();
  }
}

void CallQueue::refuse(const std::shared_ptr<TimedCall>& call, const char* why) {
  auto answer = [self = shared_from_this(), call, why] {
    call->answer_once(call->error_of(ETIMEDOUT, why));
    self->finish();
  };
  // Whoever asks is not answered inside the asking, unless it does nothing else meanwhile.
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
    if (!call.replaced_) ++places_;
    if (call.counted_) {
      const auto file = hung_files_.find(call.path());
      if (--file->second == 0) hung_files_.erase(file);
    }
  }
  pump();
}

void CallQueue::free_place() noexcept {
  const std::lock_guard lock(mutex_);
  --out_;
  changed_.notify_all();
}

void CallQueue::finish() noexcept {
  free_place();
  pump();
}

void CallQueue::abandon(TimedCall& call) noexcept {
  const std::lock_guard lock(mutex_);
  if (call.stage_ != TimedCall::Stage::out) return;
  call.stage_ = TimedCall::Stage::abandoned;
  ++abandoned_;
  call.replaced_ = inner_->add_place(call.kind());
  if (!call.replaced_) --places_;
  try {
    ++hung_files_[call.path()];
    call.counted_ = true;
  } catch (const std::exception&) {  // short of memory: others of the file have to hang to be found out
  }
  changed_.notify_all();
}

void CallQueue::stop() {
  std::list<std::shared_ptr<TimedCall>> waiting;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    wait_until(lock, [this] { return (out_ == 0 && waiting_.empty()) || abandoned_ > 0; });
    // Some at a time, and each of them might hang.
    waiting.swap(waiting_);
    out_ += static_cast<unsigned>(waiting.size());
  }
  for (const std::shared_ptr<TimedCall>& call : waiting) {
    call->answer_once(call->error_of(ECANCELED, "the reader is stopped"));
    finish();
  }
  bool hangs = false;
  {
    std::unique_lock lock(mutex_);
    wait_until(lock, [this] { return out_ == 0; });
    hangs = abandoned_ > 0;
  }
  watch_->stop();
  if (hangs) {
    try {
      return std::thread([self = shared_from_this()] { self->inner_->stop(); }).detach();
    } catch (const std::exception&) {  // no thread is left to wait for it
    }
  }
  inner_->stop();
}

}  // namespace dovetail::detail
