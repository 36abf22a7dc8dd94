// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/watched_storage.h"

#include <algorithm>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "format/try.h"
#include "reader/storage/answer_slot.h"
#include "reader/storage/call_queue.h"

namespace dovetail::detail {
namespace {

bool is_timeout(const Error& error) {
  return error.code() == boost::system::errc::timed_out;
}

/// A read, made piece after piece.
class TimedRead : public TimedCall {
 public:
  TimedRead(std::shared_ptr<CallQueue> queue, InputFile file, std::uint64_t offset, ReadInto into,
            Storage::ReadHandler done)
      : TimedCall(std::move(queue), {.file = file.path(), .offset = offset, .bytes = piece_of(into), .age = {}}),
        file_(std::move(file)),
        into_(into),
        done_(std::move(done)) {}

  Storage::RequestKind kind() const noexcept override { return Storage::RequestKind::read; }
  const char* why_given_up() const noexcept override { return "reading it has hung"; }
  void answer(Result<void> outcome) noexcept override {
    Storage::ReadHandler done = std::move(done_);
    std::move(done)(std::move(outcome));
  }

 protected:
  void ask(Storage& storage) override {
    const std::span<std::byte> piece = next_piece();
    storage.read(file_, what().offset, ReadInto{piece}, [self = shared_from_this()](Result<void> outcome) {
      static_cast<TimedRead&>(*self).on_answer(std::move(outcome));
    });
  }
  bool take() override {
    into_.copy_from(buffer_);
    into_ = into_.after(buffer_.size());
    move_to(what().offset + buffer_.size(), piece_of(into_));
    return into_.size() == 0;
  }

  /// The buffer for the next piece.
  std::span<std::byte> next_piece() {
    buffer_.resize(what().bytes);
    return buffer_;
  }
  const InputFile file_;

 private:
  static std::size_t piece_of(const ReadInto& into) noexcept { return std::min(into.size(), kDeadlinePiece); }

  ReadInto into_;  // not valid any more once the read is answered
  std::vector<std::byte> buffer_;
  Storage::ReadHandler done_;
};

/// A repeated read, for which the calling thread blocks.
class TimedReading final : public TimedRead {
 public:
  using TimedRead::TimedRead;
  bool blocks() const noexcept override { return true; }
  Storage::RequestKind kind() const noexcept override { return Storage::RequestKind::call; }

 private:
  void ask(Storage& storage) override {
    const auto read = [self = shared_from_this(), this, &storage, piece = next_piece()]() -> Storage::Answer {
      DOVETAIL_TRY(storage.read_again(file_, what().offset, ReadInto{piece}));
      return Storage::Answer(nullptr);
    };
    storage.call(path(), read, [self = shared_from_this(), this](const Storage::Answer& answer) {
      on_answer(answer.has_value() ? Result<void>() : answer.error());
    });
  }
};

/// A blocking call, such as opening a file.
class TimedWork final : public TimedCall {
 public:
  TimedWork(std::shared_ptr<CallQueue> queue, const std::string& path, Storage::Call work, Storage::CallHandler done)
      : TimedCall(std::move(queue), {.file = path, .offset = 0, .bytes = 0, .age = {}}),
        work_(std::move(work)),
        done_(std::move(done)) {}

  const char* why_given_up() const noexcept override { return "opening it has hung"; }
  void answer(Result<void> outcome) noexcept override {
    Storage::CallHandler done = std::move(done_);
    std::move(done)(outcome.has_value() ? Storage::Answer(std::move(found_)) : outcome.error());
  }

 private:
  void ask(Storage& storage) override {
    storage.call(path(), work_, [self = shared_from_this(), this](Storage::Answer answer) {
      if (answer.has_value()) found_ = std::move(*answer);
      on_answer(answer.has_value() ? Result<void>() : answer.error());
    });
  }

  const Storage::Call work_;
  Storage::CallHandler done_;
  std::shared_ptr<const void> found_;
};

class DeadlineStorage final : public Storage {
 public:
  DeadlineStorage(std::unique_ptr<Storage> inner, const WatchOptions& options)
      : facts_(inner->facts()), queue_(std::make_shared<CallQueue>(std::move(inner), options)) {
    // A repeated read is one of the calls, so each call may have a buffer.
    const std::size_t out = std::min(facts_.depth, kMostCallsOut) + std::min(facts_.call_depth, kMostCallsOut);
    facts_.memory_bytes += (out + kMostAbandoned) * kDeadlinePiece;
  }
  ~DeadlineStorage() override { stop(); }

  Result<bool> try_read(const InputFile& file, std::uint64_t offset, ReadInto into) override {
    return queue_->inner().try_read(file, offset, into);
  }

  void read(const InputFile& file, std::uint64_t offset, ReadInto into, ReadHandler done) override {
    queue_->add(std::make_shared<TimedRead>(queue_, file.share(), offset, into, std::move(done)));
  }

  Result<void> read_again(const InputFile& file, std::uint64_t offset, ReadInto into) override {
    const auto outcome = std::make_shared<AnswerSlot>();
    const auto reading = std::make_shared<TimedReading>(
        queue_, file.share(), offset, into, [outcome](Result<void> read) { outcome->set(std::move(read)); });
    if (!queue_->add(reading)) return Error::from_errno(ECANCELED).at(file.path(), offset);
    // The timer may be waiting for this very thread, so do its work here.
    while (!outcome->wait_for(queue_->watch().period())) queue_->watch().look();
    return outcome->wait();
  }

  void call(const std::string& path, Call work, CallHandler done) override {
    queue_->add(std::make_shared<TimedWork>(queue_, path, std::move(work), std::move(done)));
  }

  const StorageFacts& facts() const noexcept override { return facts_; }
  std::uint64_t cached_reads() const noexcept override { return queue_->inner().cached_reads(); }
  bool gave_up(const Error& error) const override { return is_timeout(error); }
  HungReads hung_reads() const override { return queue_->watch().hung_reads(); }
  void stop() override {
    std::call_once(stopped_, [this] { queue_->stop(); });
  }

 private:
  StorageFacts facts_;
  const std::shared_ptr<CallQueue> queue_;
  std::once_flag stopped_;
};

}  // namespace

std::unique_ptr<Storage> make_deadline_storage(std::unique_ptr<Storage> inner, const WatchOptions& options) {
  return std::make_unique<DeadlineStorage>(std::move(inner), options);
}

}  // namespace dovetail::detail
