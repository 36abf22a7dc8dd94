// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

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
  }
  ~PreadPool() override { stop(); }

  Result<bool> try_read(const InputFile& file, std::uint64_t offset, ReadInto into) override {
    return file.try_read(offset, into);
  }

  void read(const InputFile& file, std::uint64_t offset, ReadInto into, ReadHandler done) override {
    pool_.post([&file, offset, into, done = std::move(done)]() mutable {
      std::move(done)(guard_memory(file.path(), [&] { return file.read(offset, into); }));
    });
  }

  void call(const std::string& path, Call work, CallHandler done) override {
    pool_.post([path = path, work = std::move(work), done = std::move(done)]() mutable {
      std::move(done)(guard_memory(path, work));
    });
  }

  const StorageFacts& facts() const noexcept override { return facts_; }

  bool add_place(RequestKind) noexcept override {
    pool_.raise_limit();
    return true;
  }

  void stop() override { pool_.join(); }

 private:
  StorageFacts facts_;
  ThreadPool pool_;
};

}  // namespace

std::unique_ptr<Storage> make_pread_pool(unsigned threads) {
  return std::make_unique<PreadPool>(threads);
}

}  // namespace dovetail::detail
