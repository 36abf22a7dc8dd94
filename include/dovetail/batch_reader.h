// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>

#include <dovetail/batch.h>
#include <dovetail/completion.h>
#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/export.h>
#include <dovetail/plan.h>
#include <dovetail/reader_options.h>
#include <dovetail/reader_stats.h>
#include <dovetail/state.h>

namespace dovetail {

/// Delivers one rank's batches, in the order of the plan, as fast as storage and cores allow.
///
/// Threads:   a reader runs its own. Its functions may be called from any thread, concurrently, but
///            only one `next` at a time. Moving and destroying need that no other thread is in a
///            function. Exception: the handler of `async_next` may destroy the reader.
/// Ownership: move-only. Destroying it stops it. Batches stay valid and may be released on any
///            thread, then or later. A moved-from reader gives `closed` for `next`, `async_next`
///            and `error`; nothing else may be called.
/// Fork:      in a child forked while the reader is open, `next`, `async_next` and `error` give
///            `closed`. `async_next` needs an executor of the child's own there: Asio's system
///            executor has no threads in it. Stopping and destroying it or its batches does
///            nothing. Nothing else may be called, because its threads and the bytes of registered
///            batches do not exist there. The reader of the parent continues.
/// Errors:    the first failure stops the reader, and every later `next` returns it again. `busy`,
///            `slots_held` and `not_yet` are the caller's to correct and stop nothing.
class DOVETAIL_EXPORT BatchReader {
 public:
  /// Completion signature of `async_next`.
  using NextSignature = void(boost::system::error_code, std::optional<Batch>);

  /// Makes the plan, checks limits, creates the slots and begins to read ahead.
  /// Errors: those of `Plan::make` or `Plan::resume`, `invalid_option`, `budget_too_small`,
  ///         `resource_limit`, `registration_failed`, and the system's if it has no memory or no
  ///         threads.
  static Result<BatchReader> open(const Dataset& dataset, const ReaderOptions& options);
  /// The same for the dataset at a path. Errors: also those of `Dataset::open`.
  static Result<BatchReader> open(const std::string& path, const ReaderOptions& options);

  BatchReader(BatchReader&&) noexcept;
  BatchReader& operator=(BatchReader&&) noexcept;
  ~BatchReader();

  const Plan& plan() const noexcept;
  /// Steps of an epoch, and of epochs [0, epochs). The same on every rank.
  Result<std::uint64_t> steps(std::uint32_t epoch) const { return plan().steps(epoch); }
  Result<std::uint64_t> total_steps(std::uint32_t epochs) const { return plan().total_steps(epochs); }
  /// Position of the trainer: batches that `next` handed over count, batches that were only read
  /// ahead do not. After the end of an epoch it is the beginning of the next. The same on every
  /// rank that has taken the same steps.
  State state() const;
  /// Eight bytes that are equal on all ranks if they made the same plan and began at the same
  /// place. For an optional all-reduce at the start.
  std::uint64_t plan_checksum() const noexcept;
  /// Whether batches lie in memory registered with CUDA.
  bool registered() const noexcept;
  /// Largest size of a batch's slab in bytes, spilled batches excepted.
  std::size_t slab_bytes() const noexcept;

  /// Asks for the next batch.
  ///
  /// Completion: `void(error_code, std::optional<Batch>)`
  ///   - engaged: exactly `plan().options().batch` rows, bytes in host memory;
  ///   - empty:   the epoch is over, at the same step as on every other rank; the next call begins
  ///              the next epoch;
  ///   - error:   see the class; `error()` has file, offset and reason.
  ///
  /// Threads:    one call outstanding, until its executor is given the outcome; a second completes
  ///             with `busy`. The handler runs on its associated executor (default: Asio's system
  ///             executor), never inside this call, and never on a thread of the reader.
  ///   - The handler's context must exist until the handler was called, and a little longer: the
  ///     thread that submits it, often one of the reader, releases the executor afterwards. So end
  ///     the context by letting `run` return for lack of work, not by its `stop`.
  ///   - To end early, as on a signal, cancel the request, or `stop` the reader. A context that is
  ///     stopped and destroyed instead leaves the request outstanding, also that of a coroutine that
  ///     owns the reader; the reader then submits to a context that is gone.
  ///   - A handler of type `any_completion_handler` is submitted by a thread of Asio's system
  ///     executor.
  ///   - An executor that throws a `std::exception` must drop the call. That ends the reader, and no
  ///     batch is lost. The handler is destroyed on the thread that met the exception, which may be
  ///     one of the reader. So it must not own the reader then. A call that is refused with `busy` or
  ///     `closed` throws the exception itself. With an `any_completion_handler`, and for other types
  ///     of exceptions, the process ends.
  /// Cancel:     total; a cancelled request loses no batch, the next call gets it. As always in
  ///             Asio, do not cancel while this call begins.
  template <class CompletionToken>
  auto async_next(CompletionToken&& token) {
    return boost::asio::async_initiate<CompletionToken, NextSignature>(
        [this](auto handler) { start_next(Handler(detail::never_inside(std::move(handler)))); }, token);
  }

  /// Waits for the next batch; empty at the end of an epoch.
  Result<std::optional<Batch>> next();
  /// The same, but waits at most about `patience`, for callers that must handle other things
  /// meanwhile, such as signals.
  /// Errors: `not_yet` after that time. This stops nothing: ask again.
  Result<std::optional<Batch>> next(std::chrono::milliseconds patience);

  /// The batches up to the end of the epoch as a range. Its iterators throw `Exception` on failure.
  class EpochRange;
  EpochRange epoch();

  /// The failure that stopped the reader, with file and offset.
  std::optional<Error> error() const;
  ReaderStats stats() const;

  /// Completes an outstanding call with `operation_canceled`, stops reading ahead, and waits for
  /// reads in flight. Idempotent. Does not wait for batches that are held.
  void stop();

 private:
  class DOVETAIL_HIDDEN Impl;
  using Handler = boost::asio::any_completion_handler<NextSignature>;
  explicit BatchReader(std::shared_ptr<Impl> impl);
  void start_next(Handler handler);
  void close() noexcept;
  std::shared_ptr<Impl> impl_;
};

/// An input range over the rest of an epoch: `for (Batch& batch : reader.epoch())`.
class BatchReader::EpochRange {
 public:
  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Batch& operator*() const { return range_->current_.value(); }
    Iterator& operator++() {
      range_->advance();
      return *this;
    }
    void operator++(int) { range_->advance(); }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.at_end(); }

   private:
    friend class EpochRange;
    bool at_end() const { return !range_->current_.has_value(); }
    explicit Iterator(EpochRange* range) : range_(range) {}
    EpochRange* range_ = nullptr;
  };

  Iterator begin() {
    advance();
    return Iterator(this);
  }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  friend class BatchReader;
  explicit EpochRange(BatchReader* reader) : reader_(reader) {}
  void advance() {
    current_.reset();
    current_ = reader_->next().value();
  }
  BatchReader* reader_;
  std::optional<Batch> current_;
};

inline BatchReader::EpochRange BatchReader::epoch() {
  return EpochRange(this);
}

}  // namespace dovetail
