// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "reader/storage/apart_threads.h"
#include "reader/storage/read_watch.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// Reads are cut into pieces of this size, of which so many bytes are in flight in first tries: of those that somebody waits
/// for, and of all.
inline constexpr std::size_t kPieceBytes = 512 << 10;
inline constexpr std::size_t kLiveBytes = 8 << 20;
inline constexpr std::size_t kFirstTryBytes = 16 << 20;
/// Threads of second tries, with a piece each: those that somebody waits for, and all.
inline constexpr unsigned kLiveApart = 8;
inline constexpr unsigned kMostApart = 10;
/// Likewise of second readings.
inline constexpr unsigned kLiveAgain = 4;
inline constexpr unsigned kMostAgain = 6;
/// Likewise of openings, which need no memory.
inline constexpr unsigned kLiveOpenings = 8;
inline constexpr unsigned kMostOpenings = 64;
inline constexpr std::size_t kMemoryBytes = kFirstTryBytes + (kMostApart + kMostAgain) * kPieceBytes;
/// Of a file whose reads hang: so that there are threads and room left for others.
inline constexpr unsigned kMostApartOfFile = 2;
inline constexpr std::size_t kMostBytesOfFile = kLiveBytes / 2;
/// First tries of any file while some are lost: the next file that hangs shall not cost much.
inline constexpr unsigned kMostOfFileInTrouble = 2;
inline constexpr unsigned kMostApartOfFileInTrouble = 1;
/// Places of the storage that are made up for.
inline constexpr unsigned kMostMadeUp = 64;

class Piece;
using Pieces = std::list<std::shared_ptr<Piece>>;

/// The tries of a file that have not come back.
struct FileTries {
  unsigned first = 0;     ///< In the storage, and
  std::size_t bytes = 0;  ///< what these read; of them
  unsigned late = 0;      ///< those that hang, and
  unsigned given_up = 0;  ///< those of pieces that were given up: no more of the file is read then.
  unsigned apart = 0;     ///< On threads of their own, or waiting for one.
  unsigned lost = 0;      ///< Of all these, those that nobody waits for any longer.

  bool any_live() const noexcept { return first + apart > lost; }
  bool over() const noexcept { return first == 0 && apart == 0; }
};

/// The first tries that a storage has not answered. Those that nobody waits for any longer are lost, until they come back.
///
/// Threads: none.
class Places {
 public:
  explicit Places(unsigned depth) : depth_(depth) {}

  enum class Room : std::uint8_t { free, later, never };
  /// Whether a try may begin: now, once one that somebody waits for has come back, or not even when all of these have.
  Room room_for(std::size_t bytes) const noexcept {
    const unsigned places = depth_ + made_up_ > lost_ ? std::min(depth_, depth_ + made_up_ - lost_) : 0;
    const bool fits = live_bytes_ == 0 || live_bytes_ + bytes <= kLiveBytes;
    const bool free = live_ < places && fits && live_bytes_ + lost_bytes_ + bytes <= kFirstTryBytes;
    if (free) return Room::free;
    return live_ > 0 ? Room::later : Room::never;
  }
  void take(std::size_t bytes) noexcept { ++live_, live_bytes_ += bytes; }
  void give_back(std::size_t bytes) noexcept { --live_, live_bytes_ -= bytes; }
  void lose(std::size_t bytes) noexcept {
    give_back(bytes);
    ++lost_, lost_bytes_ += bytes;
  }
  void give_back_lost(std::size_t bytes) noexcept { --lost_, lost_bytes_ -= bytes; }

  /// Whether the storage should have another place.
  bool lacks_one() const noexcept { return made_up_ < std::min(lost_, kMostMadeUp); }
  void make_up() noexcept { ++made_up_; }
  void fail_to_make_up() noexcept { --made_up_; }

  bool any_live() const noexcept { return live_ > 0; }
  bool any_lost() const noexcept { return lost_ > 0; }

 private:
  const unsigned depth_;
  unsigned live_ = 0;
  std::size_t live_bytes_ = 0;
  unsigned lost_ = 0;
  std::size_t lost_bytes_ = 0;
  unsigned made_up_ = 0;
};

/// What the tries of a retrying storage share; it outlives the storage as long as one of them is out.
///
/// Threads: guarded by its mutex, but for what guards itself or is fixed.
struct RetryState {
  RetryState(std::unique_ptr<Storage> storage, const WatchOptions& options)
      : after(options.after),
        watch(options),
        inner(std::move(storage)),
        most_of_file(std::max(1u, inner->facts().depth / 2)),
        places(inner->facts().depth) {}

  const std::chrono::nanoseconds after;
  ReadWatch watch;
  const std::shared_ptr<Storage> inner;
  const unsigned most_of_file;  ///< First tries.

  const std::shared_ptr<ApartThreads> apart = std::make_shared<ApartThreads>(kLiveApart, kMostApart);
  const std::shared_ptr<ApartThreads> again = std::make_shared<ApartThreads>(kLiveAgain, kMostAgain);
  const std::shared_ptr<ApartThreads> openings = std::make_shared<ApartThreads>(kLiveOpenings, kMostOpenings);

  /// Guarded.
  unsigned most_apart_of_file() const noexcept {
    return places.any_lost() ? kMostApartOfFileInTrouble : kMostApartOfFile;
  }

  void note_hung() {
    const std::lock_guard lock(mutex);
    any_hung = true;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool any_hung = false;                   ///< So far.
  std::uint64_t unanswered = 0;            ///< Pieces and calls.
  Places places;                           ///< Of the storage.
  Pieces waiting;                          ///< For room.
  Pieces late;                             ///< For a try apart, when others of their files have come back.
  std::map<std::string, FileTries> files;  ///< That tries are out of.
};

using RetryStatePtr = std::shared_ptr<RetryState>;

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
