// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/retrying_storage.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "reader/storage/answer_slot.h"
#include "reader/storage/read_piece.h"
#include "reader/storage/retry_state.h"
#include "reader/storage/two_tries.h"

namespace dovetail::detail {
namespace {

/// A call, such as opening a file.
class RetriedOpening final : public TwoTries {
 public:
  RetriedOpening(RetryStatePtr shared, std::string path, Storage::Call work, Storage::CallHandler done)
      : TwoTries(shared->watch),
        shared_(std::move(shared)),
        path_(std::move(path)),
        work_(std::move(work)),
        done_(std::move(done)) {}

  HungRead what() const override { return {.file = path_, .offset = 0, .bytes = 0, .age = {}}; }

  void start() { try_apart(shared_->openings, Turn::first, &RetriedOpening::open); }
  bool retry() override {
    shared_->note_hung();
    return try_apart(shared_->apart, Turn::second, &RetriedOpening::open);
  }

 private:
  // A thread that it had may be what others wait for.
  void after_try_apart() noexcept override { start_pieces(shared_); }
  static Answer open(const TwoTries& tries) { return static_cast<const RetriedOpening&>(tries).work_(); }
  void answer(Answer answer) override {
    const AnswerCount count(*shared_);
    std::move(done_)(std::move(answer));
  }

  const RetryStatePtr shared_;
  const std::string path_;
  const Storage::Call work_;
  Storage::CallHandler done_;
};

class RetryingStorage final : public Storage {
 public:
  RetryingStorage(std::unique_ptr<Storage> inner, const WatchOptions& options)
      : facts_(inner->facts()), shared_(std::make_shared<RetryState>(std::move(inner), options)) {
    facts_.memory_bytes += kMemoryBytes;
  }
  ~RetryingStorage() override { stop(); }

  Result<bool> try_read(const InputFile& file, std::uint64_t offset, ReadInto into) override {
    return shared_->inner->try_read(file, offset, into);
  }

  void read(const InputFile& file, std::uint64_t offset, ReadInto into, ReadHandler done) override {
    Pieces pieces = cut(file, offset, into, std::move(done));
    {
      const std::lock_guard lock(shared_->mutex);
      if (stopping_) return;
      shared_->unanswered += pieces.size();
      for (auto next = pieces.begin(); next != pieces.end();) {
        const auto at = next++;
        (*at)->place = at;
        shared_->waiting.splice(shared_->waiting.end(), pieces, at);
      }
    }
    start_pieces(shared_);
  }

  Result<void> read_again(const InputFile& file, std::uint64_t offset, ReadInto into) override {
    // Piece after piece: buffers of all of them could be as large as the largest block.
    while (into.size() > 0) {
      const std::size_t bytes = std::min(into.size(), piece_bytes_);
      const auto outcome = std::make_shared<AnswerSlot>();
      const std::shared_ptr<Piece> piece = cut(file, offset, into.before(bytes), [outcome](Result<void> read) {
                                             outcome->set(std::move(read));
                                           }).front();
      {
        const std::lock_guard lock(shared_->mutex);
        if (stopping_) return Error::from_errno(ECANCELED).at(file.path(), offset);
        ++shared_->unanswered;
      }
      piece->read_again();
      if (Result<void> read = outcome->wait(); !read) return read;
      offset += bytes;
      into = into.after(bytes);
    }
    return {};
  }

  void call(const std::string& path, Call work, CallHandler done) override {
    auto opening = std::make_shared<RetriedOpening>(shared_, path, std::move(work), std::move(done));
    {
      const std::lock_guard lock(shared_->mutex);
      if (stopping_) return;
      ++shared_->unanswered;
    }
    opening->start();
  }

  const StorageFacts& facts() const noexcept override { return facts_; }
  std::uint64_t cached_reads() const noexcept override { return shared_->inner->cached_reads(); }
  bool gave_up(const Error& error) const override { return is_timeout(error); }
  HungReads hung_reads() const override { return shared_->watch.hung_reads(); }
  boost::asio::any_io_executor blocking_executor() override { return shared_->inner->blocking_executor(); }

  void stop() override;

 private:
  Pieces cut(const InputFile& file, std::uint64_t offset, ReadInto into, ReadHandler done) const {
    const std::size_t count = std::max<std::size_t>((into.size() + piece_bytes_ - 1) / piece_bytes_, 1);
    const auto request = std::make_shared<Request>(count, std::move(done));
    Pieces pieces;
    for (std::size_t at = 0; pieces.size() < count; at += piece_bytes_) {
      const ReadInto rest = into.after(at);
      pieces.push_back(std::make_shared<Piece>(shared_, file.share(), offset + at,
                                               rest.before(std::min(rest.size(), piece_bytes_)), request));
    }
    return pieces;
  }

  StorageFacts facts_;
  /// Of a direct storage one read of its own, or a piece would take more than one of its places.
  const std::size_t piece_bytes_ = facts_.direct ? std::min(kPieceBytes, facts_.best_read_bytes) : kPieceBytes;
  const RetryStatePtr shared_;
  bool stopping_ = false;  // guarded by the mutex of what is shared
  std::once_flag stopped_;
};

void RetryingStorage::stop() {
  std::call_once(stopped_, [this] {
    Pieces waiting;
    {
      std::unique_lock lock(shared_->mutex);
      stopping_ = true;
      shared_->changed.wait(lock, [this] { return shared_->unanswered == 0 || shared_->any_hung; });
      waiting.swap(shared_->waiting);
    }
    // Or they would begin, some at a time, and each of them might hang.
    for (const std::shared_ptr<Piece>& piece : waiting) piece->refuse_for(ECANCELED, "the reader is stopped");
    for (const auto& threads : {shared_->openings, shared_->again, shared_->apart}) threads->stop_waiting();
    bool hangs = false;
    {
      std::unique_lock lock(shared_->mutex);
      shared_->changed.wait(lock, [this] { return shared_->unanswered == 0; });
      hangs = shared_->places.any_lost();
    }
    shared_->watch.stop();
    for (const auto& threads : {shared_->openings, shared_->again, shared_->apart}) threads->settle(shared_->after);
    Pieces late;  // all are answered
    {
      const std::lock_guard lock(shared_->mutex);
      late.swap(shared_->late);
    }
    late.clear();
    if (hangs) {
      try {
        return std::thread([shared = shared_] { shared->inner->stop(); }).detach();
      } catch (const std::exception&) {  // no thread is left to wait for it
      }
    }
    shared_->inner->stop();
  });
}

}  // namespace

std::unique_ptr<Storage> make_retrying_storage(std::unique_ptr<Storage> inner, const WatchOptions& options) {
  return std::make_unique<RetryingStorage>(std::move(inner), options);
}

}  // namespace dovetail::detail
