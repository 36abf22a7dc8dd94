// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/retrying_storage.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

#include "reader/storage/two_tries.h"

namespace dovetail::detail {
namespace {

/// Reads are cut into pieces of this size, of which so many bytes are in flight.
constexpr std::size_t kPieceBytes = 512 << 10;
constexpr std::size_t kFirstTryBytes = 8 << 20;
/// The same again for second tries.
constexpr std::size_t kMemoryBytes = 2 * kFirstTryBytes;
/// Threads of second tries; each may hang for ever.
constexpr unsigned kMostThreads = 64;

class Piece;
using Pieces = std::list<std::shared_ptr<Piece>>;

/// What tries that outlive the storage need.
struct Shared {
  Shared(std::unique_ptr<Storage> storage, const WatchOptions& options) : watch(options), inner(std::move(storage)) {}

  ReadWatch watch;
  const std::shared_ptr<Storage> inner;

  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t unanswered = 0;            ///< Pieces and calls.
  std::uint64_t in_storage = 0;            ///< First tries that have not come back.
  std::size_t bytes_in_flight = 0;         ///< Of these.
  Pieces waiting;                          ///< For room.
  std::deque<std::function<void()>> jobs;  ///< Second tries to come.
  unsigned threads = 0;                    ///< For them.
};

using SharedPtr = std::shared_ptr<Shared>;

/// Does what may hang on a thread that nobody waits for.
void run_apart(const SharedPtr& shared, std::function<void()> job) {
  {
    const std::lock_guard lock(shared->mutex);
    shared->jobs.push_back(std::move(job));
    if (shared->threads == kMostThreads) return;
    ++shared->threads;
  }
  const auto work = [shared] {
    std::unique_lock lock(shared->mutex);
    while (!shared->jobs.empty()) {
      const std::function<void()> next = std::move(shared->jobs.front());
      shared->jobs.pop_front();
      lock.unlock();
      try {
        next();
      } catch (const std::exception&) {  // short of memory: its time will run out
      }
      lock.lock();
    }
    --shared->threads;
  };
  try {
    std::thread(work).detach();
  } catch (const std::exception&) {  // the job waits for another thread, or for its time to run out
    const std::lock_guard lock(shared->mutex);
    --shared->threads;
  }
}

/// One answer is out.
void count_answer(Shared& shared) {
  const std::lock_guard lock(shared.mutex);
  if (--shared.unanswered == 0) shared.changed.notify_all();
}

/// What was asked for, answered with its last piece.
class Request {
 public:
  Request(std::size_t pieces, Storage::ReadHandler done) : left_(pieces), done_(std::move(done)) {}

  void end_piece(const Result<void>& outcome) {
    {
      const std::lock_guard lock(mutex_);
      // As a reader from front to back would have met it.
      if (!outcome && (!error_ || outcome.error().offset() < error_->offset())) error_ = outcome.error();
      if (--left_ > 0) return;
    }
    std::move(done_)(error_ ? Result<void>(*error_) : Result<void>());
  }

 private:
  std::mutex mutex_;
  std::size_t left_;
  std::optional<Error> error_;
  Storage::ReadHandler done_;
};

/// A part of a read, into a buffer of its own for each try.
class Piece final : public TwoTries {
 public:
  using Buffer = std::vector<std::byte>;

  Piece(SharedPtr shared, InputFile file, std::uint64_t offset, ReadInto into, std::shared_ptr<Request> request)
      : TwoTries(shared->watch),
        shared_(std::move(shared)),
        file_(std::move(file)),
        offset_(offset),
        into_(into),
        bytes_(into.size()),
        request_(std::move(request)) {}

  HungRead what() const override { return {.file = file_.path(), .offset = offset_, .bytes = bytes_, .age = {}}; }
  std::size_t bytes() const noexcept { return bytes_; }
  std::shared_ptr<Piece> self() { return std::static_pointer_cast<Piece>(shared_from_this()); }

  /// The first try; gives back its room when it has come back.
  void read_in_storage();
  /// The first try of a second reading, past the page cache.
  void read_again_apart() {
    if (!begin_try()) return;
    run_apart(shared_, [piece = self()] {
      piece->file_.drop_cache(piece->offset_, piece->bytes_);
      piece->come_back(piece->read_from(piece->file_));
    });
  }
  void retry() override {
    if (!begin_try()) return;
    run_apart(shared_, [piece = self()] { piece->come_back(piece->read_elsewhere()); });
  }

 private:
  void answer(Answer answer) override {
    if (answer.has_value()) {
      const Buffer& bytes = *static_cast<const Buffer*>(answer->get());
      const std::size_t of_first = into_.first.size();
      std::copy_n(bytes.data(), of_first, into_.first.data());
      std::copy_n(bytes.data() + of_first, into_.second.size(), into_.second.data());
    }
    request_->end_piece(answer.has_value() ? Result<void>() : Result<void>(answer.error()));
    request_.reset();
    count_answer(*shared_);
  }

  Answer read_from(const InputFile& file) const {
    try {
      auto buffer = std::make_shared<Buffer>(bytes_);
      if (auto read = file.read(offset_, *buffer); !read) return read.error();
      return buffer;
    } catch (const std::exception&) {
      return Error::from_errno(ENOMEM).at(file_.path(), offset_);
    }
  }
  Answer read_elsewhere() const {
    auto file = InputFile::open(file_.path());
    if (!file) return file.error();
    if (file->identity() != file_.identity()) {
      return Error(Errc::file_changed, "it is another file than the one that was opened").at(file_.path(), offset_);
    }
    return read_from(*file);
  }

  const SharedPtr shared_;
  const InputFile file_;
  const std::uint64_t offset_;
  const ReadInto into_;  // not to be touched once it is answered
  const std::size_t bytes_;
  std::shared_ptr<Request> request_;
};

void start_pieces(const SharedPtr& shared) {
  for (;;) {
    std::shared_ptr<Piece> next;
    {
      const std::lock_guard lock(shared->mutex);
      if (shared->waiting.empty() || shared->bytes_in_flight >= kFirstTryBytes) return;
      next = std::move(shared->waiting.front());
      shared->waiting.pop_front();
      shared->bytes_in_flight += next->bytes();
      ++shared->in_storage;
    }
    next->read_in_storage();
  }
}

void end_first_try(Shared& shared, std::size_t bytes) {
  const std::lock_guard lock(shared.mutex);
  shared.bytes_in_flight -= bytes;
  --shared.in_storage;
}

void Piece::read_in_storage() {
  if (!begin_try()) return end_first_try(*shared_, bytes_);
  try {
    const auto buffer = std::make_shared<Buffer>(bytes_);
    shared_->inner->read(file_, offset_, ReadInto{*buffer}, [piece = self(), buffer](Result<void> read) {
      end_first_try(*piece->shared_, piece->bytes_);
      start_pieces(piece->shared_);
      piece->come_back(read.has_value() ? Answer(buffer) : Answer(read.error()));
    });
  } catch (const std::exception&) {
    end_first_try(*shared_, bytes_);
    come_back(Error::from_errno(ENOMEM).at(file_.path(), offset_));
  }
}

/// A call, such as opening a file.
class Opening final : public TwoTries {
 public:
  Opening(SharedPtr shared, std::string path, Storage::Call work, Storage::CallHandler done)
      : TwoTries(shared->watch),
        shared_(std::move(shared)),
        path_(std::move(path)),
        work_(std::move(work)),
        done_(std::move(done)) {}

  HungRead what() const override { return {.file = path_, .offset = 0, .bytes = 0, .age = {}}; }

  void start() {
    if (!begin_try()) return;
    {
      const std::lock_guard lock(shared_->mutex);
      ++shared_->in_storage;
    }
    try {
      boost::asio::post(shared_->inner->blocking_executor(), [opening = self()] {
        Answer given = opening->work_();
        end_first_try(*opening->shared_, 0);
        opening->come_back(std::move(given));
      });
    } catch (const std::exception&) {
      end_first_try(*shared_, 0);
      come_back(Error::from_errno(ENOMEM).in_file(path_));
    }
  }
  void retry() override {
    if (!begin_try()) return;
    run_apart(shared_, [opening = self()] { opening->come_back(opening->work_()); });
  }

 private:
  std::shared_ptr<Opening> self() { return std::static_pointer_cast<Opening>(shared_from_this()); }
  void answer(Answer answer) override {
    std::move(done_)(std::move(answer));
    count_answer(*shared_);
  }

  const SharedPtr shared_;
  const std::string path_;
  const Storage::Call work_;
  Storage::CallHandler done_;
};

class RetryingStorage final : public Storage {
 public:
  RetryingStorage(std::unique_ptr<Storage> inner, const WatchOptions& options)
      : facts_(inner->facts()), shared_(std::make_shared<Shared>(std::move(inner), options)) {
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
    }
    for (const std::shared_ptr<Piece>& piece : pieces) shared_->watch.begin(piece);
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->waiting.splice(shared_->waiting.end(), pieces);
    }
    start_pieces(shared_);
  }

  Result<void> read_again(const InputFile& file, std::uint64_t offset, ReadInto into) override {
    // Piece after piece: buffers of all of them could be as large as the largest block.
    while (into.size() > 0) {
      const std::size_t bytes = std::min(into.size(), kPieceBytes);
      const auto promise = std::make_shared<std::promise<Result<void>>>();
      std::future<Result<void>> outcome = promise->get_future();
      const std::shared_ptr<Piece> piece = cut(file, offset, into.before(bytes), [promise](Result<void> read) {
                                             promise->set_value(std::move(read));
                                           }).front();
      {
        const std::lock_guard lock(shared_->mutex);
        ++shared_->unanswered;
      }
      shared_->watch.begin(piece);
      piece->read_again_apart();
      if (Result<void> read = outcome.get(); !read) return read;
      offset += bytes;
      into = into.after(bytes);
    }
    return {};
  }

  void call(const std::string& path, Call work, CallHandler done) override {
    auto opening = std::make_shared<Opening>(shared_, path, std::move(work), std::move(done));
    {
      const std::lock_guard lock(shared_->mutex);
      if (stopping_) return;
      ++shared_->unanswered;
    }
    shared_->watch.begin(opening);
    opening->start();
  }

  void will_need(const InputFile& file, std::uint64_t offset, std::uint64_t bytes) noexcept override {
    shared_->inner->will_need(file, offset, bytes);
  }
  const StorageFacts& facts() const noexcept override { return facts_; }
  std::uint64_t cached_reads() const noexcept override { return shared_->inner->cached_reads(); }
  HungReads hung_reads() const override { return shared_->watch.hung_reads(); }
  boost::asio::any_io_executor blocking_executor() override { return shared_->inner->blocking_executor(); }

  void stop() override;

 private:
  Pieces cut(const InputFile& file, std::uint64_t offset, ReadInto into, ReadHandler done) const {
    const std::size_t count = std::max<std::size_t>((into.size() + kPieceBytes - 1) / kPieceBytes, 1);
    const auto request = std::make_shared<Request>(count, std::move(done));
    Pieces pieces;
    for (std::size_t at = 0; pieces.size() < count; at += kPieceBytes) {
      const ReadInto rest = into.after(at);
      pieces.push_back(std::make_shared<Piece>(shared_, file.share(), offset + at,
                                               rest.before(std::min(rest.size(), kPieceBytes)), request));
    }
    return pieces;
  }

  StorageFacts facts_;
  const SharedPtr shared_;
  bool stopping_ = false;  // guarded by the mutex of what is shared
  std::once_flag stopped_;
};

void RetryingStorage::stop() {
  std::call_once(stopped_, [this] {
    bool hangs = false;
    {
      std::unique_lock lock(shared_->mutex);
      stopping_ = true;
      shared_->changed.wait(lock, [this] { return shared_->unanswered == 0; });
      hangs = shared_->in_storage > 0;
    }
    shared_->watch.stop();
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
