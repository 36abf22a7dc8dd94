// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/watched_storage.h"

#include <string>
#include <utility>

namespace dovetail::detail {
namespace {

/// Watches a request from construction until `end` or destruction.
class Look {
 public:
  Look(ReadWatch& watch, const std::string& file, std::uint64_t offset, std::uint64_t bytes)
      : watch_(&watch),
        awaited_(std::make_shared<Awaited>(HungRead{.file = file, .offset = offset, .bytes = bytes, .age = {}})) {
    watch_->begin(awaited_);
  }
  Look(Look&& other) noexcept : watch_(other.watch_), awaited_(std::move(other.awaited_)) {}
  Look& operator=(Look&&) = delete;
  ~Look() { end(); }

  void end() {
    if (awaited_ != nullptr) watch_->end(*awaited_);
    awaited_.reset();
  }

 private:
  ReadWatch* watch_;
  std::shared_ptr<Awaited> awaited_;
};

/// The inner storage, with a watch on its requests.
class WatchedStorage final : public Storage {
 public:
  WatchedStorage(std::unique_ptr<Storage> inner, const WatchOptions& options)
      : watch_(std::make_shared<ReadWatch>(options)), inner_(std::move(inner)) {}
  ~WatchedStorage() override { stop(); }

  Result<bool> try_read(const InputFile& file, std::uint64_t offset, ReadInto into) override {
    return inner_->try_read(file, offset, into);
  }

  void read(const InputFile& file, std::uint64_t offset, ReadInto into, ReadHandler done) override {
    Look look(*watch_, file.path(), offset, into.size());
    inner_->read(file, offset, into, [look = std::move(look), done = std::move(done)](Result<void> outcome) mutable {
      look.end();
      std::move(done)(std::move(outcome));
    });
  }

  Result<void> read_again(const InputFile& file, std::uint64_t offset, ReadInto into) override {
    const Look look(*watch_, file.path(), offset, into.size());
    return inner_->read_again(file, offset, into);
  }

  void call(const std::string& path, Call work, CallHandler done) override {
    Look look(*watch_, path, 0, 0);
    inner_->call(path, std::move(work), [look = std::move(look), done = std::move(done)](Answer answer) mutable {
      look.end();
      std::move(done)(std::move(answer));
    });
  }

  const StorageFacts& facts() const noexcept override { return inner_->facts(); }
  std::uint64_t cached_reads() const noexcept override { return inner_->cached_reads(); }
  HungReads hung_reads() const override { return watch_->hung_reads(); }

  void stop() override {
    inner_->stop();
    watch_->stop();
  }

 private:
  const std::shared_ptr<ReadWatch> watch_;
  const std::unique_ptr<Storage> inner_;
};

}  // namespace

std::unique_ptr<Storage> watch_storage(std::unique_ptr<Storage> storage, const WatchOptions& options) {
  if (options.gives_up) return make_deadline_storage(std::move(storage), options);
  return std::make_unique<WatchedStorage>(std::move(storage), options);
}

}  // namespace dovetail::detail
