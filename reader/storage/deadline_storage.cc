// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/deadline_storage.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "format/guard_memory.h"
#include "format/try.h"
#include "reader/storage/answer_slot.h"

namespace dovetail::detail {
namespace {

bool is_timeout(const Error& error) {
  return error.code() == boost::system::errc::timed_out;
}

class TimedCall;

/// Which calls are out, and which wait. Outlives the storage as long as an abandoned call is out.
///
/// Threads: all functions from any thread.
class CallQueue : public std::enable_shared_from_this<CallQueue> {
 public:
  CallQueue(std::unique_ptr<Storage> storage, WatchOptions options)
      : executor_(options.executor),
        inner_(std::move(storage)),
        watch_(std::make_shared<ReadWatch>(std::move(options))),
        places_(std::min(inner_->facts().depth, kMostCallsOut)) {}

  Storage& inner() noexcept { return *inner_; }
  ReadWatch& watch() noexcept { return *watch_; }

  /// Makes the call as soon as there is a place for it. False: the storage has stopped. Where it throws, nobody is answered.
  bool add(const std::shared_ptr<TimedCall>& call);
  /// The storage gets a call that has a place.
  void goes_out(TimedCall& call) noexcept;
  /// A call that is given up came back from the storage.
  void came_back_late(TimedCall& call) noexcept;
  /// The call is answered: its place is free.
  void finish() noexcept;
  /// The call is given up: it is abandoned, unless it has just come back.
  void abandon(TimedCall& call) noexcept;
  /// Whether it stops, and something hangs: then no more pieces are asked for, each of which might take its whole time.
  bool stops_hanging() noexcept {
    const std::lock_guard lock(mutex_);
    return stopping_ && abandoned_ > 0;
  }
  void stop();

 private:
  template <typename Condition>
  void wait_until(std::unique_lock<std::mutex>& lock, Condition is_met) {
    // The threads that the timer runs on may be busy.
    while (!changed_.wait_for(lock, watch_->period(), is_met)) {
      lock.unlock();
      watch_->look();
      lock.lock();
    }
  }
  void free_place() noexcept;
  /// Makes calls that wait, as far as there are places; those that never will be made fail.
  void pump() noexcept;
  /// Why the call can never be made, or null.
  const char* refusal_locked(const TimedCall& call) const noexcept;
  void refuse(const std::shared_ptr<TimedCall>& call, const char* why);

  const boost::asio::any_io_executor executor_;
  const std::unique_ptr<Storage> inner_;
  const std::shared_ptr<ReadWatch> watch_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned places_;
  unsigned out_ = 0;
  unsigned abandoned_ = 0;
  std::map<std::string, unsigned> hung_files_;  // by their abandoned calls
  std::list<std::shared_ptr<TimedCall>> waiting_;
  bool stopping_ = false;
};

/// A call of the storage behind that is answered once: by what comes back, or because it is given up.
class TimedCall : public Awaited, public std::enable_shared_from_this<TimedCall> {
 public:
  TimedCall(std::shared_ptr<CallQueue> queue, std::string path) : queue_(std::move(queue)), path_(std::move(path)) {}

  const std::string& path() const noexcept { return path_; }
  /// Whether a thread stands still until it is answered.
  virtual bool blocks() const noexcept { return false; }
  virtual Storage::Hangs kind() const noexcept { return Storage::Hangs::call; }
  /// Asks the storage. Needs: a place. Where it throws, nothing was asked.
  void start() {
    queue_->goes_out(*this);
    queue_->watch().begin(shared_from_this());
    try {
      ask(queue_->inner());
    } catch (const std::exception&) {
      if (queue_->watch().end(*this)) throw;
      queue_->came_back_late(*this);  // it was late already
    }
  }
  void give_up() noexcept override {
    queue_->abandon(*this);
    answer_once(error_of(ETIMEDOUT, why_given_up()));
    queue_->finish();
  }
  /// To be called once.
  void answer_once(Result<void> outcome) noexcept {
    try {
      answer(std::move(outcome));
    } catch (const std::exception&) {  // of whoever is called: there is nobody else to tell
    }
  }
  Error error_of(int error, const char* why) const noexcept {
    try {
      const HungRead named = what();
      return Error::from_errno(error, why).at(named.file, named.offset);
    } catch (const std::exception&) {  // short of memory
      return Error::from_errno(error);
    }
  }

 protected:
  virtual void ask(Storage& storage) = 0;
  virtual const char* why_given_up() const noexcept = 0;
  /// Takes over what has come back. Whether nothing is left to be asked for.
  virtual bool take() { return true; }
  /// Called once.
  virtual void answer(Result<void> outcome) = 0;

  /// The storage has answered.
  void on_answer(Result<void> outcome) noexcept {
    if (!queue_->watch().end(*this)) return queue_->came_back_late(*this);
    try {
      if (outcome.has_value() && !take()) {
        if (!queue_->stops_hanging()) return start();
        outcome = error_of(ECANCELED, "the reader is stopped");
      }
    } catch (const std::exception& failure) {
      outcome = error_from(failure);
    }
    answer_once(std::move(outcome));
    queue_->finish();
  }

 private:
  friend class CallQueue;

  const std::shared_ptr<CallQueue> queue_;
  const std::string path_;
  // Guarded by the queue's mutex.
  enum class Stage : std::uint8_t { waiting, out, abandoned, back };
  Stage stage_ = Stage::waiting;
  bool replaced_ = false;  ///< Abandoned, and the storage has a place more for it.
  bool counted_ = false;   ///< Abandoned, and its file counts as hung.
};

const char* CallQueue::refusal_locked(const TimedCall& call) const noexcept {
  if (hung_files_.contains(call.path())) return "earlier calls of the file hang";
  const bool full = abandoned_ >= kMostAbandoned || (places_ == 0 && abandoned_ > 0);
  return full ? "so many calls of the storage hang that there is no room for this one" : nullptr;
}

bool CallQueue::add(const std::shared_ptr<TimedCall>& call) {
  const char* refusal = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    refusal = refusal_locked(*call);
    if (refusal == nullptr && out_ >= places_) {
      waiting_.push_back(call);
      return true;
    }
    ++out_;
  }
  try {
    if (refusal == nullptr) {
      call->start();
    } else {
      refuse(call, refusal);
    }
  } catch (const std::exception&) {
    free_place();  // others are out, whose answers let go on what waits: here the caller may hold locks
    throw;
  }
  return true;
}

void CallQueue::pump() noexcept {
  for (;;) {
    std::shared_ptr<TimedCall> next;
    const char* refusal = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty() || (stopping_ && abandoned_ > 0)) return;
      refusal = refusal_locked(*waiting_.front());
      if (refusal == nullptr && out_ >= places_) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
      ++out_;
    }
    try {
      if (refusal == nullptr) {
        next->start();
        continue;
      }
      next->answer_once(next->error_of(ETIMEDOUT, refusal));
    } catch (const std::exception& failure) {
      next->answer_once(error_from(failure));
    }
    free_place();
  }
}

void CallQueue::refuse(const std::shared_ptr<TimedCall>& call, const char* why) {
  auto answer = [self = shared_from_this(), call, why] {
    call->answer_once(call->error_of(ETIMEDOUT, why));
    self->finish();
  };
  // Whoever asks is not answered inside the asking, unless it does nothing else meanwhile.
  if (call->blocks()) return answer();
  boost::asio::post(executor_, std::move(answer));
}

void CallQueue::goes_out(TimedCall& call) noexcept {
  const std::lock_guard lock(mutex_);
  call.stage_ = TimedCall::Stage::out;
}

void CallQueue::came_back_late(TimedCall& call) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(call.stage_, TimedCall::Stage::back) != TimedCall::Stage::abandoned) return;
    --abandoned_;
    if (!call.replaced_) ++places_;
    if (call.counted_) {
      const auto file = hung_files_.find(call.path());
      if (--file->second == 0) hung_files_.erase(file);
    }
  }
  pump();
}

void CallQueue::free_place() noexcept {
  const std::lock_guard lock(mutex_);
  --out_;
  changed_.notify_all();
}

void CallQueue::finish() noexcept {
  free_place();
  pump();
}

void CallQueue::abandon(TimedCall& call) noexcept {
  const std::lock_guard lock(mutex_);
  if (call.stage_ != TimedCall::Stage::out) return;
  call.stage_ = TimedCall::Stage::abandoned;
  ++abandoned_;
  call.replaced_ = inner_->add_place(call.kind());
  if (!call.replaced_) --places_;
  try {
    ++hung_files_[call.path()];
    call.counted_ = true;
  } catch (const std::exception&) {  // short of memory: others of the file have to hang to be found out
  }
  changed_.notify_all();
}

void CallQueue::stop() {
  std::list<std::shared_ptr<TimedCall>> waiting;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    wait_until(lock, [this] { return (out_ == 0 && waiting_.empty()) || abandoned_ > 0; });
    // Some at a time, and each of them might hang.
    waiting.swap(waiting_);
    out_ += static_cast<unsigned>(waiting.size());
  }
  for (const std::shared_ptr<TimedCall>& call : waiting) {
    call->answer_once(call->error_of(ECANCELED, "the reader is stopped"));
    finish();
  }
  bool hangs = false;
  {
    std::unique_lock lock(mutex_);
    wait_until(lock, [this] { return out_ == 0; });
    hangs = abandoned_ > 0;
  }
  watch_->stop();
  if (hangs) {
    try {
      return std::thread([self = shared_from_this()] { self->inner_->stop(); }).detach();
    } catch (const std::exception&) {  // no thread is left to wait for it
    }
  }
  inner_->stop();
}

/// A read, piece after piece.
class TimedRead : public TimedCall {
 public:
  TimedRead(std::shared_ptr<CallQueue> queue, InputFile file, std::uint64_t offset, ReadInto into,
            Storage::ReadHandler done)
      : TimedCall(std::move(queue), file.path()),
        file_(std::move(file)),
        offset_(offset),
        into_(into),
        piece_bytes_(std::min(into.size(), kDeadlinePiece)),
        done_(std::move(done)) {}

  HungRead what() const override { return {.file = path(), .offset = offset_, .bytes = piece_bytes_, .age = {}}; }
  Storage::Hangs kind() const noexcept override { return Storage::Hangs::read; }
  const char* why_given_up() const noexcept override { return "reading it has hung"; }

 protected:
  void ask(Storage& storage) override {
    const std::span<std::byte> piece = next_piece();
    storage.read(file_, offset_, ReadInto{piece}, [self = shared_from_this()](Result<void> outcome) {
      static_cast<TimedRead&>(*self).on_answer(std::move(outcome));
    });
  }
  bool take() override {
    const ReadInto piece = into_.before(piece_bytes_);
    std::copy_n(buffer_.data(), piece.first.size(), piece.first.data());
    std::copy_n(buffer_.data() + piece.first.size(), piece.second.size(), piece.second.data());
    offset_ += piece_bytes_;
    into_ = into_.after(piece_bytes_);
    piece_bytes_ = std::min(into_.size(), kDeadlinePiece);
    return into_.size() == 0;
  }
  void answer(Result<void> outcome) override {
    Storage::ReadHandler done = std::move(done_);
    std::move(done)(std::move(outcome));
  }

  /// Memory for it.
  std::span<std::byte> next_piece() {
    buffer_.resize(piece_bytes_);
    return buffer_;
  }
  const InputFile file_;
  std::uint64_t offset_;

 private:
  ReadInto into_;  // not to be touched once it is answered
  std::size_t piece_bytes_;
  std::vector<std::byte> buffer_;
  Storage::ReadHandler done_;
};

/// A second reading, for which a thread stands still.
class TimedReading final : public TimedRead {
 public:
  using TimedRead::TimedRead;
  bool blocks() const noexcept override { return true; }
  Storage::Hangs kind() const noexcept override { return Storage::Hangs::call; }

 private:
  void ask(Storage& storage) override {
    const auto read = [self = shared_from_this(), this, &storage, piece = next_piece()]() -> Storage::Answer {
      DOVETAIL_TRY(storage.read_again(file_, offset_, ReadInto{piece}));
      return Storage::Answer(nullptr);
    };
    storage.call(path(), read, [self = shared_from_this(), this](const Storage::Answer& answer) {
      on_answer(answer.has_value() ? Result<void>() : answer.error());
    });
  }
};

/// A call that blocks, such as an opening.
class TimedWork final : public TimedCall {
 public:
  TimedWork(std::shared_ptr<CallQueue> queue, const std::string& path, Storage::Call work, Storage::CallHandler done)
      : TimedCall(std::move(queue), path), work_(std::move(work)), done_(std::move(done)) {}

  HungRead what() const override { return {.file = path(), .offset = 0, .bytes = 0, .age = {}}; }
  const char* why_given_up() const noexcept override { return "opening it has hung"; }

 private:
  void ask(Storage& storage) override {
    storage.call(path(), work_, [self = shared_from_this(), this](Storage::Answer answer) {
      if (answer.has_value()) found_ = std::move(*answer);
      on_answer(answer.has_value() ? Result<void>() : answer.error());
    });
  }
  void answer(Result<void> outcome) override {
    Storage::CallHandler done = std::move(done_);
    std::move(done)(outcome.has_value() ? Storage::Answer(std::move(found_)) : outcome.error());
  }

  const Storage::Call work_;
  Storage::CallHandler done_;
  std::shared_ptr<const void> found_;
};

class DeadlineStorage final : public Storage {
 public:
  DeadlineStorage(std::unique_ptr<Storage> inner, const WatchOptions& options)
      : facts_(inner->facts()), queue_(std::make_shared<CallQueue>(std::move(inner), options)) {
    facts_.memory_bytes += kDeadlineBytes;
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
    // This thread may be the one that the timer would run on.
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
