// SPDX-License-Identifier: Apache-2.0
#include <dovetail/timeline.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "format/text/number_text.h"
#include "reader/trace/timeline_event.h"

namespace dovetail {

namespace {

using detail::Stall;
using detail::TimelineEvent;
using Kind = TimelineEvent::Kind;

// Tracks of a process that are not threads. The tracks of threads have higher numbers.
constexpr std::uint32_t kStateTrack = 0;
constexpr std::uint32_t kStorageTrack = 1;
constexpr std::uint32_t kFirstThread = 2;

std::uint32_t this_thread() {
  static std::atomic<std::uint32_t> threads = kFirstThread;
  thread_local const std::uint32_t number = threads++;
  return number;
}

/// An event and the thread that recorded it.
struct Entry {
  TimelineEvent event;
  std::uint32_t thread = 0;
};
static_assert(sizeof(Entry) <= 80, "the header promises so");

const char* name_of(const TimelineEvent& event) {
  switch (event.kind) {
    case Kind::plan:
      return "plan";
    case Kind::load:
      return "load";
    case Kind::read:
      return "read";
    case Kind::decode:
      return "decode";
    case Kind::gather:
      return "gather";
    case Kind::transform:
      return "transform";
    case Kind::check:
      return "check";
    case Kind::storage_read:
      return "storage read";
    case Kind::batch:
      return "batch";
    case Kind::state:
      break;
  }
  switch (event.stall) {
    case Stall::storage:
      return "waiting for storage";
    case Stall::decode:
      return "waiting for decode";
    case Stall::transform:
      return "waiting for transform";
    case Stall::slot:
      return "waiting for slot";
    case Stall::consumer:
      return "waiting for consumer";
    case Stall::filling:
      break;
  }
  return "filling";
}

std::string arguments_of(const TimelineEvent& event) {
  std::string text;
  const auto add = [&](const char* name, std::uint64_t value) {
    text += (text.empty() ? "\"" : ",\"") + std::string(name) + "\":" + std::to_string(value);
  };
  if (event.step.has_value()) {
    add("epoch", event.epoch);
    add("step", *event.step);
    if (event.steps > 1) add("steps", event.steps);
  }
  if (event.shard.has_value()) add("shard", *event.shard);
  if (event.bytes > 0) add("bytes", event.bytes);
  return "{" + text + "}";
}

/// Writes events in the Trace Event Format.
class TraceWriter {
 public:
  explicit TraceWriter(TimelineEvent::Clock::time_point origin) : origin_(origin) {}

  void track_name(std::uint32_t rank, std::uint32_t track, const char* what, const std::string& name) {
    open(what, "M", rank, track);
    text_ += ",\"args\":{\"name\":\"" + name + "\"}}";
  }

  void event(const TimelineEvent& event, std::uint32_t thread, std::uint64_t number) {
    if (event.kind == Kind::storage_read) {
      // Reads overlap, so each is written as an asynchronous event with its own begin and end.
      half(event, "b", event.begin, number);
      text_ += ",\"args\":" + arguments_of(event) + '}';
      half(event, "e", event.end, number);
      text_ += '}';
      return;
    }
    const bool instant = event.kind == Kind::batch;
    open(name_of(event), instant ? "i" : "X", event.rank, instant || event.kind == Kind::state ? kStateTrack : thread);
    time("ts", event.begin - origin_);
    if (instant) {
      text_ += ",\"s\":\"t\"";
    } else {
      time("dur", event.end - event.begin);
    }
    text_ += ",\"args\":" + arguments_of(event) + '}';
  }

  std::string done(std::uint64_t recorded, std::uint64_t dropped) && {
    return "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"recorded\":" + std::to_string(recorded) +
           ",\"dropped\":" + std::to_string(dropped) + "},\"traceEvents\":[" + std::move(text_) + "\n]}\n";
  }

 private:
  void half(const TimelineEvent& event, const char* phase, TimelineEvent::Clock::time_point at, std::uint64_t number) {
    open(name_of(event), phase, event.rank, kStorageTrack);
    text_ += ",\"cat\":\"storage\",\"id\":" + std::to_string(number);
    time("ts", at - origin_);
  }
  void open(const char* name, const char* phase, std::uint32_t rank, std::uint32_t track) {
    text_ += text_.empty() ? "\n" : ",\n";
    text_ += std::string("{\"name\":\"") + name + "\",\"ph\":\"" + phase + "\",\"pid\":" + std::to_string(rank) +
             ",\"tid\":" + std::to_string(track);
  }
  void time(const char* name, std::chrono::nanoseconds value) {
    text_ += std::string(",\"") + name + "\":" + format::fixed(static_cast<double>(value.count()) / 1e3, 3);
  }

  TimelineEvent::Clock::time_point origin_;
  std::string text_;
};

void name_tracks(const std::vector<Entry>& entries, TraceWriter& out) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> threads;  // whether a trainer's
  std::map<std::uint32_t, bool> ranks;                              // rank: whether reads waited
  for (const Entry& entry : entries) {
    const TimelineEvent& event = entry.event;
    ranks[event.rank] |= event.kind == Kind::storage_read;
    if (event.kind < Kind::storage_read) threads[{event.rank, entry.thread}] |= event.by_trainer;
  }
  for (const auto& [rank, waited] : ranks) {
    out.track_name(rank, kStateTrack, "process_name", "rank " + std::to_string(rank));
    out.track_name(rank, kStateTrack, "thread_name", "what the trainer waits for");
    if (waited) out.track_name(rank, kStorageTrack, "thread_name", "storage");
  }
  for (const auto& [place, by_trainer] : threads) {
    const auto& [rank, thread] = place;
    out.track_name(rank, thread, "thread_name",
                   (by_trainer ? "trainer, reading: thread " : "thread ") + std::to_string(thread));
  }
}

}  // namespace

/// The most recent entries, in the order in which they were recorded.
class Timeline::Ring {
 public:
  explicit Ring(std::size_t size) : entries_(std::max<std::size_t>(size, 1)) {}

  void add(const Entry& entry) {
    const std::lock_guard lock(mutex_);
    entries_[recorded_++ % entries_.size()] = entry;
  }
  std::uint64_t recorded() const {
    const std::lock_guard lock(mutex_);
    return recorded_;
  }
  std::uint64_t dropped(std::uint64_t recorded) const noexcept {
    return recorded > entries_.size() ? recorded - entries_.size() : 0;
  }
  std::vector<Entry> copy(std::uint64_t& recorded) const {
    const std::lock_guard lock(mutex_);
    recorded = recorded_;
    std::vector<Entry> copied;
    copied.reserve(static_cast<std::size_t>(recorded_ - dropped(recorded_)));
    for (std::uint64_t i = dropped(recorded_); i < recorded_; ++i) copied.push_back(entries_[i % entries_.size()]);
    return copied;
  }

  const TimelineEvent::Clock::time_point origin = TimelineEvent::Clock::now();

 private:
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::uint64_t recorded_ = 0;
};

Timeline::Timeline(std::size_t max_events) : ring_(std::make_unique<Ring>(max_events)) {}
Timeline::~Timeline() = default;

void Timeline::record(const detail::TimelineEvent& event) noexcept {
  ring_->add({event, this_thread()});
}

std::uint64_t Timeline::recorded() const {
  return ring_->recorded();
}

std::uint64_t Timeline::dropped() const {
  return ring_->dropped(ring_->recorded());
}

std::string Timeline::to_json() const {
  std::uint64_t recorded = 0;
  const std::vector<Entry> entries = ring_->copy(recorded);
  TraceWriter out(ring_->origin);
  name_tracks(entries, out);
  std::uint64_t number = ring_->dropped(recorded);
  for (const Entry& entry : entries) out.event(entry.event, entry.thread, number++);
  return std::move(out).done(recorded, ring_->dropped(recorded));
}

}  // namespace dovetail
