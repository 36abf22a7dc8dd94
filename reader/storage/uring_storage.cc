// SPDX-License-Identifier: Apache-2.0

#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "format/guard_memory.h"
#include "format/try.h"
#include "reader/storage/answer_slot.h"
#include "reader/storage/storage.h"
#include "reader/storage/thread_pool.h"
#include "reader/storage/uring_probe.h"
#include "reader/storage/uring_request.h"

namespace dovetail::detail {
namespace {

// Reads in flight, and the most bytes of each. Together their buffers take 16.5 MiB.
constexpr unsigned kDepth = 64;
constexpr std::size_t kPieceBytes = 256 << 10;
// A piece, with room to align the begin and the end of a read.
constexpr std::size_t kBufferBytes = kPieceBytes + (8 << 10);
// Copying to the destination takes long enough for a device to become idle, so new reads are
// submitted after this many.
constexpr unsigned kCompletionsAtOnce = 8;
constexpr unsigned kMaxAttempts = 16;
// How long the ring's thread waits while the kernel accepts no reads.
constexpr int kPauseMilliseconds = 10;
// The user data of the wake-up; other user data are numbers of pieces.
constexpr std::uint64_t kWake = ~std::uint64_t{0};

struct Unmap {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const noexcept { (void)::munmap(memory, bytes); }
};

using Request = UringRequest;
using Piece = UringPiece;

class UringStorage final : public Storage {
 public:
  explicit UringStorage(unsigned threads);
  ~UringStorage() override;

  Result<void> start();

  Result<bool> try_read(const InputFile&, std::uint64_t, ReadInto) override { return false; }
  void read(const InputFile& file, std::uint64_t offset, ReadInto into, ReadHandler done) override;
  const StorageFacts& facts() const noexcept override { return facts_; }
  std::uint64_t cached_reads() const noexcept override { return cached_reads_.load(std::memory_order_relaxed); }
  void call(const std::string& path, Call work, CallHandler done) override {
    pool_.post([path = path, work = std::move(work), done = std::move(done)]() mutable {
      std::move(done)(guard_memory(path, work));
    });
  }
  bool add_place(RequestKind kind) noexcept override {
    if (kind == RequestKind::call) pool_.raise_limit();
    return kind == RequestKind::call;
  }
  void stop() override;

 private:
  /// A piece that `pool_` has finished.
  struct Finished {
    unsigned number = 0;
    Result<void> result;
  };

  // On any thread.
  void wake(std::unique_lock<std::mutex> lock);

  // On the ring's thread, which is the only one that uses the ring.
  Result<void> open();
  Result<void> prepare_buffers();
  std::byte* buffer(unsigned number) const noexcept { return buffers_.get() + number * kBufferBytes; }
  void run();
  bool take_orders();
  void sleep();
  void do_without_ring();
  void start_pieces();
  void find_access(Request& request);
  void cut_direct(Piece& piece);
  void submit(unsigned number);
  void handle_completions();
  void on_read(unsigned number, int result);
  void finish_in_pool(unsigned number);
  void finish(unsigned number, const Result<void>& result);

  StorageFacts facts_;
  std::atomic<std::uint64_t> cached_reads_{0};  // relaxed: only counted

  std::mutex mutex_;
  std::list<std::shared_ptr<Request>> asked_;
  std::vector<Finished> finished_;
  bool awake_ = false;
  bool stopping_ = false;
  int wake_fd_ = -1;

  // Used by the ring's thread only.
  ::io_uring ring_{};
  /// One buffer for each piece. Reads past the page cache go there first, because their memory,
  /// size and offset must be aligned.
  std::unique_ptr<std::byte[], Unmap> buffers_;
  bool registered_ = false;
  bool wake_armed_ = false;
  unsigned failed_submissions_ = 0;  // in a row
  // None of these lists grows on the ring's thread, which could not report a lack of memory.
  std::list<std::shared_ptr<Request>> waiting_;
  std::vector<Finished> taken_;
  std::vector<Piece> pieces_;
  std::vector<unsigned> free_;  // used as a stack: the buffer used last is still in the caches

  ThreadPool pool_;
  std::once_flag stopped_;
  std::thread thread_;
};

UringStorage::UringStorage(unsigned threads) : pieces_(kDepth), pool_(threads) {
  facts_.kind = StorageKind::io_uring_direct;
  facts_.direct = true;
  facts_.depth = kDepth;
  facts_.call_depth = threads;
  facts_.descriptors_per_file = 2;
  facts_.memory_bytes = kDepth * kBufferBytes;
  for (unsigned number = kDepth; number > 0; --number) free_.push_back(number - 1);
  finished_.reserve(kDepth);
  taken_.reserve(kDepth);
}

UringStorage::~UringStorage() {
  stop();
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

Result<void> UringStorage::start() {
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) return Error::from_errno(errno, "no descriptor for io_uring");
  const auto opened = std::make_shared<AnswerSlot>();
  // The ring's thread opens the ring: the kernel serves a ring with one user faster.
  thread_ = std::thread([this, opened] {
    Result<void> result = guard_memory({}, [this] { return open(); });
    const bool usable = result.has_value();
    opened->set(std::move(result));
    if (usable) run();
  });
  return opened->wait();
}

void UringStorage::read(const InputFile& file, std::uint64_t offset, ReadInto into, ReadHandler done) {
  std::list<std::shared_ptr<Request>> request;
  request.push_back(std::make_shared<Request>(file, offset, into, std::move(done)));
  std::unique_lock lock(mutex_);
  if (stopping_) return;
  asked_.splice(asked_.end(), request);
  wake(std::move(lock));
}

void UringStorage::stop() {
  std::call_once(stopped_, [this] {
    {
      std::unique_lock lock(mutex_);
      stopping_ = true;
      wake(std::move(lock));
    }
    if (thread_.joinable()) thread_.join();
    pool_.join();
  });
}

void UringStorage::wake(std::unique_lock<std::mutex> lock) {
  const bool asleep = !std::exchange(awake_, true);
  lock.unlock();
  if (asleep && wake_fd_ >= 0) (void)::eventfd_write(wake_fd_, 1);
}

Result<void> UringStorage::open() {
  // One more entry for the wake-up, so that there is room for every piece.
  DOVETAIL_TRY(open_ring(kDepth + 1, ring_));
  auto prepared = guard_memory({}, [this] { return prepare_buffers(); });
  if (!prepared) ::io_uring_queue_exit(&ring_);
  return prepared;
}

Result<void> UringStorage::prepare_buffers() {
  const std::size_t bytes = kDepth * kBufferBytes;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Error::from_errno(errno, "no memory for " + std::to_string(bytes) + " bytes of direct reads");
  }
  buffers_ = {static_cast<std::byte*>(memory), Unmap{bytes}};
  // The kernel then looks up fewer pages for each read. If it refuses, nothing is lost.
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);
  const iovec all{.iov_base = memory, .iov_len = bytes};
  const int error = -::io_uring_register_buffers(&ring_, &all, 1);
  registered_ = error == 0;
  if (!registered_) {
    facts_.note = Error::from_errno(error, "its " + std::to_string(all.iov_len) +
                                               " bytes of buffers are not registered, which is slower; raise "
                                               "RLIMIT_MEMLOCK (ulimit -l)")
                      .to_string();
  }
  return {};
}

void UringStorage::run() {
  for (;;) {
    const bool stopping = take_orders();
    start_pieces();
    if (stopping && waiting_.empty() && free_.size() == pieces_.size()) break;
    sleep();
    handle_completions();
  }
  ::io_uring_queue_exit(&ring_);
}

/// Takes requests until there are none. So nobody needs to wake a thread that is about to look.
/// Returns whether to stop.
bool UringStorage::take_orders() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (asked_.empty() && finished_.empty()) {
        awake_ = false;
        return stopping_;
      }
      waiting_.splice(waiting_.end(), asked_);
      taken_.swap(finished_);
    }
    for (const Finished& piece : taken_) finish(piece.number, piece.result);
    taken_.clear();
  }
}

void UringStorage::start_pieces() {
  while (!waiting_.empty() && !free_.empty()) {
    const unsigned number = free_.back();
    free_.pop_back();
    Piece& piece = pieces_[number];
    piece = Piece{};
    piece.request = waiting_.front();
    Request& request = *piece.request;
    if (request.cut == 0) find_access(request);
    piece.offset = request.offset + request.cut;
    piece.into = request.into.after(request.cut);
    if (request.direct) cut_direct(piece);
    request.cut += piece.into.size();
    ++request.pieces_in_flight;
    if (request.cut == request.into.size()) waiting_.pop_front();
    // A read past the end of the file goes to the pool, which names the error.
    if (request.direct) {
      submit(number);
    } else {
      finish_in_pool(number);
    }
  }
}

void UringStorage::find_access(Request& request) {
  if (!request.within_file()) return;
  try {
    request.direct = request.file.direct();
  } catch (const std::exception&) {  // out of memory: reading through the page cache needs none
  }
  if (request.direct && request.direct->alignment > kPieceBytes) request.direct.reset();
  if (!request.direct) cached_reads_.fetch_add(1, std::memory_order_relaxed);
}

void UringStorage::cut_direct(Piece& piece) {
  const std::uint64_t alignment = piece.request->direct->alignment;
  const std::uint64_t end = piece.offset + piece.into.size();
  piece.aligned_offset = piece.offset / alignment * alignment;
  // The last unit of a file may be read only in part.
  const std::uint64_t aligned_end = (end + alignment - 1) / alignment * alignment;
  std::uint64_t bytes = aligned_end - piece.aligned_offset;
  if (bytes > kBufferBytes) bytes = kPieceBytes / alignment * alignment;
  piece.aligned_bytes = static_cast<std::size_t>(bytes);
  const std::uint64_t wanted_end = std::min(end, piece.aligned_offset + bytes);
  piece.into = piece.into.before(static_cast<std::size_t>(wanted_end - piece.offset));
}

void UringStorage::submit(unsigned number) {
  Piece& piece = pieces_[number];
  const Request& request = *piece.request;
  io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);  // the ring has room for all pieces
  const auto bytes = static_cast<unsigned>(piece.aligned_bytes);
  if (registered_) {
    ::io_uring_prep_read_fixed(entry, request.direct->fd, buffer(number), bytes, piece.aligned_offset, 0);
  } else {
    ::io_uring_prep_read(entry, request.direct->fd, buffer(number), bytes, piece.aligned_offset);
  }
  ::io_uring_sqe_set_data64(entry, number);
}

/// Waits until a piece is done or another thread wakes this one.
void UringStorage::sleep() {
  if (!std::exchange(wake_armed_, true)) {
    io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
    ::io_uring_prep_poll_add(entry, wake_fd_, POLLIN);
    ::io_uring_sqe_set_data64(entry, kWake);
  }
  // Errors are signals, or shortages that usually pass. Entries that were not submitted stay in the
  // ring for the next call.
  if (::io_uring_submit_and_wait(&ring_, 1) >= 0) {
    failed_submissions_ = 0;
  } else if (++failed_submissions_ < kMaxAttempts) {
    std::this_thread::yield();
  } else {
    do_without_ring();
  }
  const std::lock_guard lock(mutex_);
  awake_ = true;
}

/// Takes back the entries that the kernel does not accept, gives them to the pool, and waits for a
/// while.
void UringStorage::do_without_ring() {
  // No other thread submits, so the kernel looks at the tail only in the next submission.
  const unsigned head = *ring_.sq.khead;
  for (unsigned at = head; at != ring_.sq.sqe_tail; ++at) {
    const std::uint64_t number = ring_.sq.sqes[at & ring_.sq.ring_mask].user_data;
    if (number == kWake) {
      wake_armed_ = false;
    } else {
      finish_in_pool(static_cast<unsigned>(number));
    }
  }
  ring_.sq.sqe_head = ring_.sq.sqe_tail = *ring_.sq.ktail = head;
  pollfd wake{.fd = wake_fd_, .events = POLLIN, .revents = 0};
  (void)::poll(&wake, 1, kPauseMilliseconds);
  eventfd_t wakes = 0;
  (void)::eventfd_read(wake_fd_, &wakes);
  (void)::io_uring_get_events(&ring_);  // completions of reads that the kernel did accept
}

void UringStorage::handle_completions() {
  std::array<io_uring_cqe*, kCompletionsAtOnce> entries{};
  const unsigned count = ::io_uring_peek_batch_cqe(&ring_, entries.data(), kCompletionsAtOnce);
  std::array<std::pair<std::uint64_t, int>, kCompletionsAtOnce> done;
  for (unsigned i = 0; i < count; ++i) done[i] = {::io_uring_cqe_get_data64(entries[i]), entries[i]->res};
  ::io_uring_cq_advance(&ring_, count);
  for (unsigned i = 0; i < count; ++i) {
    const auto [number, result] = done[i];
    if (number != kWake) {
      on_read(static_cast<unsigned>(number), result);
      continue;
    }
    wake_armed_ = false;
    eventfd_t wakes = 0;
    (void)::eventfd_read(wake_fd_, &wakes);
  }
}

void UringStorage::on_read(unsigned number, int result) {
  Piece& piece = pieces_[number];
  if ((result == -EINTR || result == -EAGAIN) && ++piece.attempts < kMaxAttempts) return submit(number);
  const Request& request = *piece.request;
  if (result > 0) {
    const auto got = static_cast<std::size_t>(result);
    const auto before = static_cast<std::size_t>(piece.offset - piece.aligned_offset);
    const std::size_t bytes = std::min(got - std::min(got, before), piece.into.size());
    piece.into.copy_from({buffer(number) + before, bytes});
    piece.offset += bytes;
    piece.into = piece.into.after(bytes);
    if (piece.into.size() == 0) return finish(number, {});
  }
  if (result == -EINVAL || result == -EOPNOTSUPP) request.file.refuse_direct();
  finish_in_pool(number);
}

/// An ordinary read does what the ring has not done, and reports errors in the usual words.
void UringStorage::finish_in_pool(unsigned number) {
  const Piece& piece = pieces_[number];
  const Request& request = *piece.request;
  if (request.direct) cached_reads_.fetch_add(1, std::memory_order_relaxed);
  try {
    pool_.post([this, number, &file = request.file, offset = piece.offset, into = piece.into] {
      Result<void> result = guard_memory(file.path(), [&] { return file.read(offset, into); });
      std::unique_lock lock(mutex_);
      finished_.push_back({.number = number, .result = std::move(result)});
      wake(std::move(lock));
    });
  } catch (const std::exception& failure) {
    finish(number, error_from(failure).at(request.file.path(), piece.offset));
  }
}

void UringStorage::finish(unsigned number, const Result<void>& result) {
  const std::shared_ptr<Request> request = std::move(pieces_[number].request);
  free_.push_back(number);
  if (!result) request->fail(result.error());
  if (--request->pieces_in_flight > 0 || request->cut < request->into.size()) return;
  std::move(request->done)(request->error ? Result<void>(*request->error) : Result<void>());
}

}  // namespace

Result<std::unique_ptr<Storage>> make_uring_storage(unsigned threads) {
  auto storage = std::make_unique<UringStorage>(threads);
  DOVETAIL_TRY(storage->start());
  return storage;
}

}  // namespace dovetail::detail
