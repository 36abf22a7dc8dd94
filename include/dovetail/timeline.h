// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <dovetail/export.h>

namespace dovetail {

namespace detail {
struct TimelineEvent;
}

/// Records what a reader did and when: every job on every thread, every read that waited for
/// storage, what the trainer waited for, and every batch that it got. Set `ReaderOptions::timeline`
/// to use it.
///
/// It keeps only the last events. So it may stay on while a job runs, and be examined when
/// something was slow.
///
/// Ownership: shared by the reader and whoever writes it out; it may outlive the reader. Several
///            readers may share one.
/// Threads:   all functions may be called from any thread.
/// Cost:      80 bytes per event, allocated at once; a short lock for each.
class DOVETAIL_EXPORT Timeline {
 public:
  /// Number of events to keep, at least 1. Beyond it the oldest are dropped. Default 65,536.
  explicit Timeline(std::size_t max_events = 1 << 16);
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  ~Timeline();

  /// Events so far, and how many of these were dropped for later ones.
  std::uint64_t recorded() const;
  std::uint64_t dropped() const;

  /// Returns the events in the Chrome trace format, which Perfetto and chrome://tracing open. Each
  /// rank is a process, and each thread a track. Two more tracks show what the trainer waits for,
  /// with the batches that it got, and the reads that waited for storage. Times are in microseconds
  /// since the timeline was created.
  std::string to_json() const;

  /// For readers. Never throws.
  void record(const detail::TimelineEvent& event) noexcept;

 private:
  class DOVETAIL_HIDDEN Ring;
  std::unique_ptr<Ring> ring_;
};

}  // namespace dovetail
