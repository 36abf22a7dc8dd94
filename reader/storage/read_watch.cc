// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/read_watch.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <utility>

namespace dovetail::detail {

namespace {

/// That are told of in stats.
constexpr std::size_t kMostListed = 100;

std::string in_seconds(std::chrono::nanoseconds time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f s", std::chrono::duration<double>(time).count());
  return text.data();
}

}  // namespace

ReadWatch::ReadWatch(WatchOptions options) : options_(std::move(options)), thread_([this] { run(); }) {}

ReadWatch::~ReadWatch() {
  stop();
}

void ReadWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ReadWatch::begin(const std::shared_ptr<Awaited>& awaited) noexcept {
  Awaited& added = *awaited;
  added.node_.front() = awaited;
  added.asked_ = Clock::now();
  added.late_at_ = options_.after;
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    out_.splice(out_.end(), added.node_);
    added.place_ = std::prev(out_.end());
    added.watched_ = true;
    wakes = std::exchange(idle_, false);
  }
  if (wakes) changed_.notify_one();
}

void ReadWatch::refuse(const std::shared_ptr<Awaited>& awaited) noexcept {
  awaited->node_.front() = awaited;
  {
    const std::lock_guard lock(mutex_);
    refused_.splice(refused_.end(), awaited->node_);
    idle_ = false;
  }
  changed_.notify_one();
}

bool ReadWatch::refuse_first(std::unique_lock<std::mutex>& lock) {
  constexpr std::chrono::milliseconds kBetween{1};
  List taken;
  taken.splice(taken.end(), refused_, refused_.begin());
  lock.unlock();
  try {
    taken.front()->refuse();
    taken.clear();
  } catch (const std::exception&) {  // short of memory
  }
  lock.lock();
  if (taken.empty()) return true;
  refused_.splice(refused_.end(), taken);
  changed_.wait_for(lock, kBetween, [this] { return stopping_; });
  return false;
}

bool ReadWatch::forget(Awaited& awaited) {
  List node;  // goes after the lock
  const std::lock_guard lock(mutex_);
  if (!std::exchange(awaited.watched_, false)) return false;
  node.splice(node.end(), awaited.hung_ ? hung_ : out_, awaited.place_);
  return true;
}

void ReadWatch::end(Awaited& awaited) {
  // Nobody but the watch makes it hang, and not once it is forgotten.
  if (!forget(awaited) || !awaited.hung_ || !options_.log) return;
  try {
    HungRead what = awaited.what();
    what.age = Clock::now() - awaited.asked_;
    say(what, " until it came back");
  } catch (const std::exception&) {  // short of memory: nothing is told
  }
}

HungReads ReadWatch::hung_reads() const {
  const std::lock_guard lock(mutex_);
  HungReads reads{.met = met_, .given_up = given_up_, .now = {}};
  const Clock::time_point now = Clock::now();
  for (const std::shared_ptr<Awaited>& awaited : hung_) {
    if (reads.now.size() == kMostListed) break;
    reads.now.push_back(awaited->what());
    reads.now.back().age = now - awaited->asked_;
  }
  return reads;
}

std::optional<ReadWatch::Clock::time_point> ReadWatch::next_look_locked() const {
  std::optional<Clock::time_point> next;
  if (!out_.empty()) next = out_.front()->asked_ + options_.after;
  for (const std::shared_ptr<Awaited>& awaited : hung_) {
    const Clock::time_point look = awaited->asked_ + awaited->late_at_;
    next = next.has_value() ? std::min(*next, look) : look;
  }
  return next;
}

ReadWatch::Late ReadWatch::take_late_locked() {
  const Clock::time_point now = Clock::now();
  if (!out_.empty() && out_.front()->asked_ + options_.after <= now) {
    Late late{.awaited = out_.front(), .step = options_.gives_up ? Step::retry : Step::tell, .what = {}};
    hung_.splice(hung_.end(), out_, out_.begin());
    late.awaited->hung_ = true;
    late.awaited->late_at_ = 2 * options_.after;
    ++met_;
    late.what = late.awaited->what();
    late.what.age = now - late.awaited->asked_;
    return late;
  }
  for (const std::shared_ptr<Awaited>& awaited : hung_) {
    if (awaited->asked_ + awaited->late_at_ > now) continue;
    Late late{.awaited = awaited, .step = options_.gives_up ? Step::give_up : Step::tell, .what = {}};
    awaited->late_at_ *= 2;
    late.what = awaited->what();
    late.what.age = now - awaited->asked_;
    return late;
  }
  return {};
}

void ReadWatch::run() {
  std::unique_lock lock(mutex_);
  bool refuses = true;
  while (!stopping_) {
    // In turns with those that are late, where memory is short.
    if (!refused_.empty() && refuses) {
      refuses = refuse_first(lock);
      continue;
    }
    refuses = true;
    const std::optional<Clock::time_point> next = next_look_locked();
    if (!next.has_value()) {
      if (!refused_.empty()) continue;
      idle_ = true;
      changed_.wait(lock, [this] { return stopping_ || !idle_; });
      continue;
    }
    if (*next > Clock::now()) {
      // What begins meanwhile wakes nobody, and is to be told in time as well.
      changed_.wait_until(lock, std::min(*next, Clock::now() + options_.after),
                          [this] { return stopping_ || !refused_.empty(); });
      continue;
    }
    // Short of memory, it is looked at again later: its next time is set before anything else.
    try {
      const Late late = take_late_locked();
      lock.unlock();
      if (late.awaited != nullptr) handle(late);
    } catch (const std::exception&) {
    }
    if (!lock.owns_lock()) lock.lock();
  }
}

void ReadWatch::handle(const Late& late) {
  switch (late.step) {
    case Step::tell:
      return say(late.what, " so far");
    case Step::retry:
      return say(late.what, late.awaited->retry() ? " so far; it is asked for once more" : " so far");
    case Step::give_up:
      if (!late.awaited->give_up()) return;
      forget(*late.awaited);
      return say(late.what, ", and is given up");
  }
}

void ReadWatch::count_given_up() noexcept {
  const std::lock_guard lock(mutex_);
  ++given_up_;
}

void ReadWatch::say(const HungRead& what, std::string_view then) {
  if (!options_.log) return;
  std::string line = what.bytes == 0 ? "opening " + what.file
                                     : "reading " + std::to_string(what.bytes) + " bytes at offset " +
                                           std::to_string(what.offset) + " of " + what.file;
  line += " has taken " + in_seconds(what.age);
  line += then;
  options_.log(line);
}

}  // namespace dovetail::detail
