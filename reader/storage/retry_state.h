// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "reader/storage/read_watch.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// Reads are cut into pieces of this size, of which so many bytes are in flight.
inline constexpr std::size_t kPieceBytes = 512 << 10;
inline constexpr std::size_t kFirstTryBytes = 8 << 20;
/// The same again for second tries.
inline constexpr std::size_t kMemoryBytes = 2 * kFirstTryBytes;
/// Threads of second tries, with a piece each.
inline constexpr unsigned kMostThreads = kFirstTryBytes / kPieceBytes;
/// Of a file whose reads hang: so that there are threads and room left for others.
inline constexpr unsigned kMostApartOfFile = kMostThreads / 2;
inline constexpr std::size_t kMostBytesOfFile = kFirstTryBytes / 2;

/// Hints that may wait for one that does not come back; later ones are dropped.
inline constexpr std::size_t kMostHints = 4096;

class Piece;
using Pieces = std::list<std::shared_ptr<Piece>>;

/// The tries of a file that have not come back.
struct FileTries {
  unsigned first = 0;     ///< In the storage, and
  std::size_t bytes = 0;  ///< what these read; of them
  unsigned late = 0;      ///< those that hang, and
  unsigned given_up = 0;  ///< those that nobody waits for any longer: no more of the file is read then.
  unsigned apart = 0;     ///< On threads of their own.

  bool over() const noexcept { return first == 0 && apart == 0; }
};

/// Bytes of which the kernel is told that they will be needed.
struct Hint {
  InputFile file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// What the tries of a retrying storage share; it outlives the storage as long as one of them is out.
///
/// Threads: guarded by its mutex, but for what is fixed.
struct RetryState {
  RetryState(std::unique_ptr<Storage> storage, const WatchOptions& options)
      : after(options.after),
        watch(options),
        inner(std::move(storage)),
        most_of_file(std::max(1u, inner->facts().depth / 2)) {}

  const std::chrono::nanoseconds after;
  ReadWatch watch;
  const std::shared_ptr<Storage> inner;
  const unsigned most_of_file;  ///< First tries.

  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t unanswered = 0;                      ///< Pieces and calls.
  std::uint64_t in_storage = 0;                      ///< First tries that have not come back.
  std::size_t bytes_in_flight = 0;                   ///< Of these.
  Pieces waiting;                                    ///< For room.
  Pieces late;                                       ///< For a try apart, when others of their files have come back.
  std::map<std::string, FileTries> files;            ///< That tries are out of.
  std::deque<std::function<void()>> jobs;            ///< Second tries to come.
  unsigned threads = 0;                              ///< For them.
  std::deque<Hint> hints;                            ///< To come.
  bool hinting = false;                              ///< A thread is giving one,
  std::chrono::steady_clock::time_point hint_began;  ///< since then.
  bool wants_hints = true;
};

using RetryStatePtr = std::shared_ptr<RetryState>;

/// Does what may hang on a thread that nobody waits for, when one of them is free.
void run_apart(const RetryStatePtr& shared, std::function<void()> job);

/// Gives a hint on a thread that nobody waits for, one after the other. Where that is not possible, or one of them hangs, there
/// is none.
void hint_apart(const RetryStatePtr& shared, Hint hint) noexcept;

/// Counts an answer when it is out, however that ends.
class AnswerCount {
 public:
  explicit AnswerCount(RetryState& shared) : shared_(shared) {}
  AnswerCount(const AnswerCount&) = delete;
  AnswerCount& operator=(const AnswerCount&) = delete;
  ~AnswerCount() {
    const std::lock_guard lock(shared_.mutex);
    if (--shared_.unanswered == 0) shared_.changed.notify_all();
  }

 private:
  RetryState& shared_;
};

}  // namespace dovetail::detail
