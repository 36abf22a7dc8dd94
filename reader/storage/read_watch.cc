// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/read_watch.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

#include "format/text/number_text.h"

namespace dovetail::detail {

namespace {

/// The most late calls that the statistics list.
constexpr std::size_t kMostListed = 100;

}  // namespace

ReadWatch::ReadWatch(WatchOptions options) : options_(std::move(options)), timer_(std::in_place, options_.executor) {}

void ReadWatch::stop() noexcept {
  List ended;  // destroyed after the lock
  const std::lock_guard lock(mutex_);
  timer_.reset();
  for (List* const list : {&out_, &late_}) {
    for (const std::shared_ptr<Awaited>& awaited : *list) awaited->watched_ = false;
    ended.splice(ended.end(), *list);
  }
}

void ReadWatch::begin(const std::shared_ptr<Awaited>& awaited) noexcept {
  Awaited& added = *awaited;
  added.node_.front() = awaited;
  added.asked_ = Clock::now();
  added.late_at_ = options_.after;
  const std::lock_guard lock(mutex_);
  out_.splice(out_.end(), added.node_);
  added.place_ = std::prev(out_.end());
  added.watched_ = true;
  try {
    arm_locked();
  } catch (const std::exception&) {  // out of memory: the next call arms the timer
  }
}

bool ReadWatch::end(Awaited& awaited) noexcept {
  bool late = false;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(awaited.watched_, false)) return !awaited.late_;
    late = awaited.late_;
    awaited.node_.splice(awaited.node_.end(), late ? late_ : out_, awaited.place_);
  }
  const std::shared_ptr<Awaited> alive = std::move(awaited.node_.front());
  if (!late) return true;
  try {
    say(describe(awaited), " until it came back");
  } catch (const std::exception&) {  // out of memory: nothing is logged
  }
  if (options_.gives_up) return false;
  awaited.late_ = false;
  return true;
}

HungReads ReadWatch::hung_reads() const {
  const std::lock_guard lock(mutex_);
  HungReads reads{.met = met_, .given_up = given_up_, .now = {}};
  for (const std::shared_ptr<Awaited>& awaited : late_) {
    if (reads.now.size() == kMostListed) break;
    reads.now.push_back(describe(*awaited));
  }
  return reads;
}

void ReadWatch::arm_locked() {
  if (armed_ || !timer_.has_value() || (out_.empty() && (late_.empty() || options_.gives_up))) return;
  // Calls that begin while the timer is armed become late after it fires.
  Clock::time_point next = Clock::now() + options_.after;
  if (!out_.empty()) next = std::min(next, out_.front()->asked_ + options_.after);
  if (!options_.gives_up) {
    for (const std::shared_ptr<Awaited>& awaited : late_) next = std::min(next, awaited->asked_ + awaited->late_at_);
  }
  timer_->expires_at(next);
  timer_->async_wait([weak = weak_from_this()](const boost::system::error_code&) {
    const std::shared_ptr<ReadWatch> self = weak.lock();
    if (self == nullptr) return;
    {
      const std::lock_guard lock(self->mutex_);
      self->armed_ = false;
    }
    self->look();
  });
  armed_ = true;
}

std::shared_ptr<Awaited> ReadWatch::take_late_locked(Clock::time_point now) noexcept {
  const auto is_late = [&](const std::shared_ptr<Awaited>& one) { return one->asked_ + one->late_at_ <= now; };
  const auto again = std::find_if(late_.begin(), late_.end(), is_late);
  if (again != late_.end() && !options_.gives_up) {
    (*again)->late_at_ *= 2;
    return *again;
  }
  if (out_.empty() || !is_late(out_.front())) return nullptr;
  std::shared_ptr<Awaited> late = out_.front();
  ++met_;
  if (options_.gives_up) ++given_up_;
  late->late_at_ *= 2;
  late->late_ = true;
  late_.splice(late_.end(), out_, out_.begin());
  return late;
}

void ReadWatch::look() noexcept {
  std::unique_lock lock(mutex_);
  for (bool more = true; more && timer_.has_value();) {
    std::shared_ptr<Awaited> late = take_late_locked(Clock::now());
    more = late != nullptr;
    try {
      if (!more) {
        arm_locked();
      } else {
        lock.unlock();
        if (options_.gives_up) late->give_up();
        say(describe(*late), options_.gives_up ? ", and was abandoned" : " so far");
      }
    } catch (const std::exception&) {  // out of memory: nothing is logged
    }
    if (lock.owns_lock()) continue;
    late.reset();  // may close a file, which may hang
    lock.lock();
  }
}

HungRead ReadWatch::describe(const Awaited& awaited) const {
  HungRead what = awaited.what();
  what.age = Clock::now() - awaited.asked_;
  return what;
}

void ReadWatch::say(const HungRead& what, std::string_view then) const {
  if (!options_.log) return;
  std::string line = what.bytes == 0 ? "opening " + what.file
                                     : "reading " + std::to_string(what.bytes) + " bytes at offset " +
                                           std::to_string(what.offset) + " of " + what.file;
  line += " has taken " + format::fixed(std::chrono::duration<double>(what.age).count(), 2) + " s";
  line += then;
  options_.log(line);
}

}  // namespace dovetail::detail
