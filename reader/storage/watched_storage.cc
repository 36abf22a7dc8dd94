// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/watched_storage.h"

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "format/guard_memory.h"

namespace dovetail::detail {
namespace {

/// A read that is watched.
class WatchedRead final : public Awaited {
 public:
  WatchedRead(const InputFile& file, std::uint64_t offset, std::uint64_t bytes)
      : file_(file), offset_(offset), bytes_(bytes) {}
  HungRead what() const override { return {.file = file_.path(), .offset = offset_, .bytes = bytes_, .age = {}}; }

 private:
  const InputFile& file_;  // valid until the read is answered
  const std::uint64_t offset_;
  const std::uint64_t bytes_;
};

/// The opening of a file that is watched.
class Opening final : public Awaited {
 public:
  explicit Opening(std::string path) : path_(std::move(path)) {}
  HungRead what() const override { return {.file = path_, .offset = 0, .bytes = 0, .age = {}}; }

 private:
  const std::string path_;
};

/// Watches a request from construction until `end` or destruction.
class Look {
 public:
  Look(ReadWatch& watch, std::shared_ptr<Awaited> awaited) : watch_(&watch), awaited_(std::move(awaited)) {
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
    Look look(*watch_, std::make_shared<WatchedRead>(file, offset, into.size()));
    inner_->read(file, offset, into, [look = std::move(look), done = std::move(done)](Result<void> outcome) mutable {
      look.end();
      std::move(done)(std::move(outcome));
    });
  }

  Result<void> read_again(const InputFile& file, std::uint64_t offset, ReadInto into) override {
    const Look look(*watch_, std::make_shared<WatchedRead>(file, offset, into.size()));
    return inner_->read_again(file, offset, into);
  }

  void call(const std::string& path, Call work, CallHandler done) override {
    Look look(*watch_, std::make_shared<Opening>(path));
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
