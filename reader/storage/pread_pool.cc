// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "format/guard_memory.h"
#include "reader/storage/storage.h"
#include "reader/storage/thread_pool.h"

namespace dovetail::detail {
namespace {

class PreadPool final : public Storage {
 public:
  explicit PreadPool(unsigned threads) : pool_(threads) {
    facts_.kind = StorageKind::pread;
    facts_.depth = threads;
    facts_.adds_places = true;
    facts_.best_read_bytes = std::size_t{1} << 20;
  }
  ~PreadPool() override { stop(); }

  Result<bool> try_read(const InputFile& file, std::uint64_t offset, ReadInto into) override {
    return file.try_read(offset, into);
  }

  void read(const InputFile& file, std::uint64_t offset, ReadInto into, ReadHandler done) override {
    boost::asio::post(pool_.executor(), [&file, offset, into, done = std::move(done)]() mutable {
      std::move(done)(guard_memory(file.path(), [&] { return file.read(offset, into); }));
    });
  }

  const StorageFacts& facts() const noexcept override { return facts_; }

  boost::asio::any_io_executor blocking_executor() override { return pool_.executor(); }

  bool add_place() noexcept override try {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    added_.emplace_back([this] { pool_.attach(); });
    return true;
  } catch (const std::exception&) {
    return false;
  }

  void stop() override {
    std::vector<std::thread> added;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      added.swap(added_);
    }
    pool_.join();
    for (std::thread& thread : added) thread.join();
  }

 private:
  StorageFacts facts_;
  ThreadPool pool_;
  std::mutex mutex_;
  std::vector<std::thread> added_;
  bool stopping_ = false;
};

}  // namespace

std::unique_ptr<Storage> make_pread_pool(unsigned threads) {
  return std::make_unique<PreadPool>(threads);
}

}  // namespace dovetail::detail
