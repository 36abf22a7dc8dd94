// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>

#include <dovetail/batch_reader.h>
#include <dovetail/completion.h>
#include <dovetail/device_batch.h>
#include <dovetail/error.h>
#include <dovetail/export.h>

namespace dovetail {

/// How batches are copied to a device. Device memory used: `prefetch + max_held` slabs of
/// `BatchReader::slab_bytes()`.
struct DOVETAIL_EXPORT DeviceOptions {
  /// Device number, as in CUDA. -1 (default) is the device that is current on the thread that opens
  /// the reader.
  int device = -1;
  /// Batches copied, or being copied, ahead of the trainer, 1 to 64. Default 2.
  std::uint32_t prefetch = 2;
  /// Batches that the trainer may hold at a time, 1 to 64. Default 2.
  std::uint32_t max_held = 2;
};

/// Statistics of the stage. Durations are those of its own thread.
struct DOVETAIL_EXPORT DeviceStats {
  std::uint64_t batches = 0;  ///< Copied.
  std::uint64_t bytes = 0;    ///< Bytes of their slabs.
  /// Waiting for the reader. The thread helps with reading meanwhile.
  std::chrono::nanoseconds waiting_for_batch{};
  /// All slabs were ahead of the trainer, or held by it.
  std::chrono::nanoseconds waiting_for_slab{};
};

/// A stage behind a `BatchReader` that copies its batches to a device, ahead of the trainer. It
/// makes one asynchronous copy per batch, on a stream of its own, into a ring of slabs. Events
/// between streams keep the order. Neither the trainer's thread nor that of the stage waits for the
/// device. A slot of the reader is free again once its copy has ended.
///
/// Steps, ends of epochs, states and errors are the same as with the `BatchReader`.
///
/// Threads:   one of its own, beside those of the reader. Functions may be called from any thread,
///            as those of the reader.
/// Ownership: move-only; owns the reader. Destroying it stops both; batches stay valid. In a forked
///            child, and moved from, it behaves as the reader.
/// Errors:    the first failure stops it, and every later `next` returns it again. `busy` and
///            `slots_held` are the caller's to correct and stop nothing.
class DOVETAIL_EXPORT DeviceReader {
 public:
  /// Completion signature of `async_next_device`.
  using NextSignature = void(boost::system::error_code, std::optional<DeviceBatch>);

  /// Creates the slabs and begins to copy. Batches in plain pages are copied too, but not
  /// asynchronously. Nobody else may request batches from the reader, or hold as many as it allows.
  /// If opening fails with one of these errors, the reader is unchanged.
  /// Errors: `invalid_option`; `device_failed`; `closed` and others that the reader has; the
  ///         system's if it has no memory or no threads.
  static Result<DeviceReader> open(BatchReader&& reader, const DeviceOptions& options);

  DeviceReader(DeviceReader&&) noexcept;
  DeviceReader& operator=(DeviceReader&&) noexcept;
  ~DeviceReader();

  int device() const noexcept;
  const Plan& plan() const noexcept;
  /// As `BatchReader::state`: counts batches handed over here, not those copied ahead.
  State state() const;

  /// Asks for the next batch. As `BatchReader::async_next`, but the bytes are on the device, or on
  /// their way to it.
  ///
  /// Completion: `void(error_code, std::optional<DeviceBatch>)`
  /// Threads:    one call outstanding; a second completes with `busy`. The handler runs on its
  ///             associated executor (default: Asio's system executor), never inside this call, and
  ///             never on a thread of the stage.
  ///   - The handler's context must exist until the handler was called, and a little longer, as
  ///     with `BatchReader::async_next`. To end early, cancel the request, or `stop` this.
  /// Cancel:     total; a cancelled request loses no batch, the next call gets it.
  template <class CompletionToken>
  auto async_next_device(CompletionToken&& token) {
    return boost::asio::async_initiate<CompletionToken, NextSignature>(
        [this](auto handler) { start_next(Handler(detail::never_inside(std::move(handler)))); }, token);
  }
  /// Waits for the next batch, until its copy has been started; empty at the end of an epoch.
  Result<std::optional<DeviceBatch>> next();

  /// The failure that stopped it, with file and offset.
  std::optional<Error> error() const;
  DeviceStats stats() const;
  ReaderStats reader_stats() const;

  /// Stops the reader and copying ahead, and completes an outstanding call with
  /// `operation_canceled`. Idempotent. Does not wait for batches that are held.
  void stop();

 private:
  class DOVETAIL_HIDDEN Impl;
  using Handler = boost::asio::any_completion_handler<NextSignature>;
  explicit DeviceReader(std::shared_ptr<Impl> impl);
  void start_next(Handler handler);
  void close() noexcept;
  std::shared_ptr<Impl> impl_;
};

}  // namespace dovetail
