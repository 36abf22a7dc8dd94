// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "reader/storage/storage.h"

namespace dovetail::test {

/// A storage that counts what it is asked for, and withholds the reads of some files until it is
/// told to let them go.
///
/// Nothing is read without waiting, except where `Immediate::yes` passes `try_read` on.
/// Threads: all functions may be called from any thread.
class GatedStorage final : public detail::Storage {
 public:
  enum class Immediate : bool { no, yes };
  using Withholds = std::function<bool(const std::string& path)>;

  GatedStorage(std::unique_ptr<Storage> inner, Immediate immediate, Withholds withholds = {})
      : inner_(std::move(inner)), immediate_(immediate), withholds_(std::move(withholds)) {}
  ~GatedStorage() override { stop(); }

  /// What was asked for.
  struct Counts {
    std::uint64_t tries = 0;
    std::uint64_t reads = 0;
    std::uint64_t read_bytes = 0;
  };
  Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  std::uint64_t reads_of(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = reads_of_.find(path);
    return found == reads_of_.end() ? 0 : found->second;
  }
  std::size_t withheld() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  void wait_for_withheld(std::size_t reads) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_.size() >= reads; });
  }

  /// Lets go what is withheld; with `Open::for_ever`, withholds nothing more.
  enum class Open : bool { once, for_ever };
  void let_go(Open open) {
    std::vector<Held> held;
    {
      const std::lock_guard lock(mutex_);
      held.swap(held_);
      if (open == Open::for_ever) {
        withholds_ = {};
        changed_.notify_all();
      }
    }
    for (Held& read : held) inner_->read(*read.file, read.offset, read.into, std::move(read.done));
  }

  Result<bool> try_read(const detail::InputFile& file, std::uint64_t offset, detail::ReadInto into) override {
    {
      const std::lock_guard lock(mutex_);
      ++counts_.tries;
    }
    if (immediate_ == Immediate::no) return false;
    return inner_->try_read(file, offset, into);
  }

  void read(const detail::InputFile& file, std::uint64_t offset, detail::ReadInto into, ReadHandler done) override {
    {
      const std::lock_guard lock(mutex_);
      ++counts_.reads;
      counts_.read_bytes += into.size();
      ++reads_of_[file.path()];
      if (withholds_ && withholds_(file.path())) {
        held_.push_back({&file, offset, into, std::move(done)});
        changed_.notify_all();
        return;
      }
    }
    inner_->read(file, offset, into, std::move(done));
  }

  const detail::StorageFacts& facts() const noexcept override { return inner_->facts(); }
  void call(const std::string& path, Call work, CallHandler done) override {
    inner_->call(path, std::move(work), std::move(done));
  }

  bool add_place(RequestKind kind) noexcept override { return adds_places_ && inner_->add_place(kind); }
  /// As of a storage that has no others.
  void add_no_places() { adds_places_ = false; }

  void stop() override {
    let_go(Open::for_ever);
    inner_->stop();
  }

 private:
  struct Held {
    const detail::InputFile* file;
    std::uint64_t offset;
    detail::ReadInto into;
    ReadHandler done;
  };

  const std::unique_ptr<Storage> inner_;
  const Immediate immediate_;
  std::atomic<bool> adds_places_ = true;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Withholds withholds_;
  std::vector<Held> held_;
  Counts counts_;
  std::map<std::string, std::uint64_t> reads_of_;
};

}  // namespace dovetail::test
