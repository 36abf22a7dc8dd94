// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "reader/storage/storage.h"

namespace dovetail::test {

/// A storage at its worst: every read is split, its parts are read late and in any order, it
/// completes later than reads that were asked for after it, and every second `try_read` leaves
/// garbage and says no.
///
/// `seed` decides what it does, except the timing of threads. Completions run on a thread of its
/// own.
class ShuffledStorage final : public detail::Storage {
 public:
  ShuffledStorage(std::unique_ptr<Storage> inner, std::uint64_t seed)
      : inner_(std::move(inner)), random_(seed), thread_([this] { run(); }) {}
  ~ShuffledStorage() override { stop(); }

  Result<bool> try_read(const detail::InputFile& file, std::uint64_t offset, detail::ReadInto into) override {
    if (draw(2) == 0) return inner_->try_read(file, offset, into);
    const detail::ReadInto spoiled = into.before(draw(into.size() + 1));
    std::fill(spoiled.first.begin(), spoiled.first.end(), std::byte{0xEE});
    std::fill(spoiled.second.begin(), spoiled.second.end(), std::byte{0xEE});
    return false;
  }

  void read(const detail::InputFile& file, std::uint64_t offset, detail::ReadInto into, ReadHandler done) override {
    auto whole = std::make_shared<Whole>(std::move(done));
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      ++reads_in_flight_;
    }
    const std::size_t first = draw(into.size() + 1);
    const std::size_t second = first + draw(into.size() - first + 1);
    // An offset beyond all files stays one for every part.
    const auto later_part = [&](std::size_t begin) { return offset + std::min<std::uint64_t>(begin, ~offset); };
    read_part(whole, file, offset, into.before(first));
    read_part(whole, file, later_part(first), into.before(second).after(first));
    read_part(whole, file, later_part(second), into.after(second));
  }

  const detail::StorageFacts& facts() const noexcept override { return inner_->facts(); }
  std::uint64_t cached_reads() const noexcept override { return inner_->cached_reads(); }
  void call(const std::string& path, Call work, CallHandler done) override {
    inner_->call(path, std::move(work), std::move(done));
  }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    inner_->stop();
  }

 private:
  using Work = std::function<void()>;

  /// A read that somebody asked for.
  struct Whole {
    explicit Whole(ReadHandler completion) : done(std::move(completion)) {}

    std::mutex mutex;
    unsigned parts_left = 3;
    std::optional<Error> error;
    ReadHandler done;  // never assigned to: Boost 1.81 recurses without end there
  };

  std::uint64_t draw(std::uint64_t below) {
    const std::lock_guard lock(mutex_);
    return random_() % below;
  }

  void later(Work work) {
    const std::lock_guard lock(mutex_);
    held_.push_back(std::move(work));
    changed_.notify_all();
  }

  void read_part(const std::shared_ptr<Whole>& whole, const detail::InputFile& file, std::uint64_t offset,
                 detail::ReadInto into) {
    later([this, whole, &file, offset, into] {
      inner_->read(file, offset, into, [this, whole](Result<void> read) {
        const std::lock_guard lock(whole->mutex);
        if (!read && (!whole->error || read.error().offset() < whole->error->offset())) whole->error = read.error();
        if (--whole->parts_left == 0) later([this, whole] { finish(*whole); });
      });
    });
  }

  void finish(Whole& whole) {
    // The completion of the last part may still hold it.
    std::unique_lock lock(whole.mutex);
    const Result<void> result = whole.error ? Result<void>(*whole.error) : Result<void>();
    lock.unlock();
    std::move(whole.done)(result);
    const std::lock_guard own_lock(mutex_);
    --reads_in_flight_;
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (held_.empty()) {
        if (stopping_ && reads_in_flight_ == 0) return;
        changed_.wait(lock);
        continue;
      }
      // Time for others to overtake.
      if (!stopping_) changed_.wait_for(lock, std::chrono::microseconds(random_() % 200));
      std::swap(held_[random_() % held_.size()], held_.back());
      Work work = std::move(held_.back());
      held_.pop_back();
      lock.unlock();
      std::move(work)();
      lock.lock();
    }
  }

  const std::unique_ptr<Storage> inner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::mt19937_64 random_;
  std::vector<Work> held_;
  std::uint64_t reads_in_flight_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace dovetail::test
