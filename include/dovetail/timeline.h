// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace dovetail {

namespace detail {
struct TimelineEvent;
}

/// What a reader did and when: every job on every thread, every read that waited for storage, what the trainer waited
/// for, and every batch that it got. Given to a reader with `ReaderOptions::timeline`.
///
/// It keeps the last events, so it may stay on for as long as a job runs and be looked at when something was slow.
/// Ownership: shared by the reader and whoever writes it out; it may outlive the reader. Several readers may share one.
/// Threads:   all functions may be called from any thread.
/// Cost:      80 bytes an event, allocated at once; a short lock for each.
class Timeline {
 public:
  /// Events that are kept, at least 1; beyond them the oldest go.
  explicit Timeline(std::size_t max_events = 1 << 16);
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  ~Timeline();

  /// Events so far, and of these how many were dropped for later ones.
  std::uint64_t recorded() const;
  std::uint64_t dropped() const;

  /// The events in the Chrome trace format, which Perfetto and chrome://tracing open: a process for each rank, a track
  /// for each thread, one for what the trainer waits for, with the batches that it got, and one for the reads that
  /// waited for storage. Times are in microseconds since the timeline was made.
  std::string to_json() const;

  /// For readers. Nothing is thrown.
  void record(const detail::TimelineEvent& event) noexcept;

 private:
  class Ring;
  std::unique_ptr<Ring> ring_;
};

}  // namespace dovetail
