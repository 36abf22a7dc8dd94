// SPDX-License-Identifier: Apache-2.0
#include <dovetail/timeline.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>

#include <dovetail/batch_reader.h>

#include "reader/trace/timeline_event.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

using Track = std::pair<std::int64_t, std::int64_t>;

/// One event of a trace; times in microseconds.
struct Event {
  std::string name;
  std::string phase;
  Track track;
  double begin = 0;
  double duration = 0;
  boost::json::value all;
};

std::vector<Event> parse(const Timeline& timeline) {
  std::vector<Event> events;
  const boost::json::value trace = boost::json::parse(timeline.to_json());
  for (const boost::json::value& entry : trace.at("traceEvents").as_array()) {
    Event event;
    event.name = entry.at("name").as_string();
    event.phase = entry.at("ph").as_string();
    event.track = {entry.at("pid").as_int64(), entry.at("tid").as_int64()};
    if (event.phase != "M") event.begin = entry.at("ts").to_number<double>();
    if (event.phase == "X") event.duration = entry.at("dur").to_number<double>();
    event.all = entry;
    events.push_back(event);
  }
  return events;
}

/// Those of one event: several where they were worked on together.
std::vector<std::int64_t> steps_of(const Event& event) {
  const auto& arguments = event.all.at("args").as_object();
  const auto* const count = arguments.if_contains("steps");
  std::vector<std::int64_t> steps(count == nullptr ? 1 : static_cast<std::size_t>(count->as_int64()));
  std::iota(steps.begin(), steps.end(), arguments.at("step").as_int64());
  return steps;
}

std::multiset<std::int64_t> steps_of(const std::vector<Event>& events, const std::string& name) {
  std::multiset<std::int64_t> steps;
  for (const Event& event : events) {
    if (event.name != name) continue;
    const std::vector<std::int64_t> of_event = steps_of(event);
    steps.insert(of_event.begin(), of_event.end());
  }
  return steps;
}

double total(const std::vector<Event>& events, const std::string& name) {
  double sum = 0;
  for (const Event& event : events) sum += event.name == name ? event.duration : 0;
  return sum;
}

class TimelineTest : public FolderTest {
 protected:
  ReaderOptions options() const { return {.plan = {.batch = 8}, .epochs = 1, .timeline = timeline_}; }
  std::vector<Event> read(const ReaderOptions& options, ReaderStats& stats) {
    BatchReader reader = BatchReader::open(dataset_, options).value();
    for (const Batch& batch : reader.epoch()) EXPECT_EQ(batch.rows(), 8u);
    stats = reader.stats();
    reader.stop();
    return parse(*timeline_);
  }

  Dataset dataset_ = make_sample(folder_.path("data"), {.shard_records = {500, 300}});
  std::shared_ptr<Timeline> timeline_ = std::make_shared<Timeline>();
};

TEST_F(TimelineTest, SpansOfATrackNestOrFollowEachOther) {
  ReaderStats stats;
  std::vector<Event> events = read(options(), stats);
  std::map<Track, std::vector<Event>> tracks;
  for (const Event& event : events) {
    if (event.phase == "X") tracks[event.track].push_back(event);
  }
  EXPECT_GE(tracks.size(), 2u);
  constexpr double kRounding = 0.0015;  // digits behind the point
  for (auto& [track, spans] : tracks) {
    std::sort(spans.begin(), spans.end(), [](const Event& a, const Event& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.duration > b.duration;
    });
    std::vector<double> open;  // the ends of the spans around
    for (const Event& span : spans) {
      while (!open.empty() && open.back() <= span.begin + kRounding) open.pop_back();
      if (!open.empty()) {
        ASSERT_LE(span.begin + span.duration, open.back() + kRounding) << span.name;
      }
      open.push_back(span.begin + span.duration);
    }
  }
}

TEST_F(TimelineTest, EveryBatchIsGatheredAndHandedOverOnce) {
  ReaderStats stats;
  const std::vector<Event> events = read(options(), stats);
  std::multiset<std::int64_t> planned;
  for (std::int64_t step = 0; step < 100; ++step) planned.insert(step);
  EXPECT_EQ(steps_of(events, "gather"), planned);
  EXPECT_EQ(steps_of(events, "batch"), planned);
  std::map<std::int64_t, double> gathered;
  for (const Event& event : events) {
    if (event.name != "gather") continue;
    for (const std::int64_t step : steps_of(event)) gathered[step] = event.begin + event.duration;
  }
  for (const Event& event : events) {
    if (event.name != "batch") continue;
    EXPECT_EQ(event.phase, "i");
    EXPECT_LE(gathered.at(event.all.at("args").at("step").as_int64()), event.begin + 0.0015);
  }
  const auto loads = std::count_if(events.begin(), events.end(), [](const Event& e) { return e.name == "decode"; });
  EXPECT_EQ(static_cast<std::uint64_t>(loads), stats.reads);
  EXPECT_EQ(timeline_->dropped(), 0u);
}

TEST_F(TimelineTest, WaitsSumUpToThoseOfTheStats) {
  // A reader may be so far ahead that nobody waits; not every time.
  double waited = 0;
  for (int run = 0; run < 1000 && waited == 0; ++run) {
    timeline_ = std::make_shared<Timeline>();
    ReaderOptions asked = options();
    asked.timeline = timeline_;
    ReaderStats stats;
    const std::vector<Event> events = read(asked, stats);
    const auto agrees = [&](const char* name, std::chrono::nanoseconds spent) {
      // Each is rounded to a nanosecond.
      EXPECT_NEAR(total(events, name), static_cast<double>(spent.count()) / 1e3, 1.0) << name;
    };
    agrees("waiting for storage", stats.waiting_for_storage);
    agrees("waiting for decode", stats.waiting_for_decode);
    agrees("waiting for slot", stats.waiting_for_slot);
    waited = total(events, "waiting for decode") + total(events, "waiting for storage");
  }
  EXPECT_GT(waited, 0.0);
}

TEST_F(TimelineTest, ReadsThatWaitedAreSpansOfTheirOwn) {
  ReaderOptions asked = options();
  asked.storage = StorageKind::io_uring_direct;
  if (const Result<BatchReader> probe = BatchReader::open(dataset_, asked); !probe.has_value()) {
    GTEST_SKIP() << probe.error().to_string();
  }
  timeline_ = std::make_shared<Timeline>();
  asked.timeline = timeline_;
  ReaderStats stats;
  const std::vector<Event> events = read(asked, stats);
  std::map<std::int64_t, double> begun;
  std::uint64_t ended = 0;
  for (const Event& event : events) {
    if (event.name != "storage read") continue;
    const std::int64_t id = event.all.at("id").as_int64();
    if (event.phase == "b") {
      EXPECT_TRUE(begun.emplace(id, event.begin).second);
      EXPECT_GT(event.all.at("args").at("bytes").as_int64(), 0);
    } else {
      ASSERT_EQ(event.phase, "e");
      ASSERT_TRUE(begun.contains(id));
      EXPECT_LE(begun.at(id), event.begin);
      ++ended;
    }
  }
  EXPECT_EQ(begun.size(), ended);
  EXPECT_EQ(ended, stats.waiting_reads);
}

TEST_F(TimelineTest, TracksAreNamed) {
  ReaderStats stats;
  const std::vector<Event> events = read(options(), stats);
  std::set<Track> named;
  for (const Event& event : events) {
    if (event.phase == "M" && event.name == "thread_name") named.insert(event.track);
  }
  for (const Event& event : events) EXPECT_TRUE(named.contains(event.track)) << event.name;
}

TEST(TimelineRing, KeepsTheLastEventsAndCountsTheOthers) {
  Timeline timeline(10);
  for (std::uint64_t step = 0; step < 25; ++step) {
    const auto now = detail::TimelineEvent::Clock::now();
    timeline.record({.kind = detail::TimelineEvent::Kind::gather, .begin = now, .end = now, .shard = {}, .step = step});
  }
  EXPECT_EQ(timeline.recorded(), 25u);
  EXPECT_EQ(timeline.dropped(), 15u);
  const std::multiset<std::int64_t> steps = steps_of(parse(timeline), "gather");
  EXPECT_EQ(steps, (std::multiset<std::int64_t>{15, 16, 17, 18, 19, 20, 21, 22, 23, 24}));
}

TEST(TimelineRing, AnEmptyOneIsATrace) {
  const Timeline timeline;
  EXPECT_TRUE(parse(timeline).empty());
}

}  // namespace
}  // namespace dovetail::test
