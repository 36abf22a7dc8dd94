// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_completion_handler.hpp>

#include <dovetail/error.h>
#include <dovetail/reader_stats.h>
#include <dovetail/storage_kind.h>

#include "reader/storage/input_file.h"

namespace dovetail::detail {

/// Facts about a storage, from which reads, memory and descriptors are sized. Constant while the
/// storage lives.
struct StorageFacts {
  /// Never `automatic`.
  StorageKind kind = StorageKind::pread;
  /// The storage reads past the page cache, and `try_read` always returns false.
  bool direct = false;
  /// The number of reads that it keeps in flight.
  unsigned depth = 0;
  /// The number of calls that it makes at a time; 0 if they take the places of reads.
  unsigned call_depth = 0;
  /// The descriptors of an open file.
  unsigned descriptors_per_file = 1;
  /// Memory that the storage holds all its life; part of the reader's budget.
  std::size_t memory_bytes = 0;
  /// Explains a choice that differs from the request; empty if there is none.
  std::string note;
};

/// Requests that a storage has not answered in time.
struct HungReads {
  std::uint64_t met = 0;
  std::uint64_t given_up = 0;
  std::vector<HungRead> now;  ///< The oldest first; 100 at most.
};

/// Reads bytes of files into memory, many reads at a time.
///
/// Ownership: file and memory are borrowed until the completion runs.
/// Threads:   all calls except `stop` may come from any thread. Completions run on threads of the
///            storage, never inside `read`. They must not throw. They block other reads, so they
///            should hand work on rather than do it.
/// Errors:    name file and offset. A file that ends early is `truncated`, or `file_changed` if it
///            was longer before.
class Storage {
 public:
  using ReadHandler = boost::asio::any_completion_handler<void(Result<void>)>;
  /// The result of a call: any object, such as an open file.
  using Answer = Result<std::shared_ptr<const void>>;
  using Call = std::function<Answer()>;
  using CallHandler = boost::asio::any_completion_handler<void(Answer)>;

  virtual ~Storage() = default;

  /// Reads on the calling thread if that needs no waiting for a device. True: all bytes are there.
  /// False: call `read`; `into` may be filled in part.
  virtual Result<bool> try_read(const InputFile& file, std::uint64_t offset, ReadInto into) = 0;

  /// Reads all of `into`.
  virtual void read(const InputFile& file, std::uint64_t offset, ReadInto into, ReadHandler done) = 0;

  virtual const StorageFacts& facts() const noexcept = 0;

  /// Reads all of `into` on the calling thread, from the device if the page cache allows that. For
  /// bytes that were read before and turned out wrong.
  virtual Result<void> read_again(const InputFile& file, std::uint64_t offset, ReadInto into);

  /// Makes a call that blocks, such as opening `path`, on a thread of the storage. `work` must own
  /// what it uses, because it outlives its answer if it is given up.
  virtual void call(const std::string& path, Call work, CallHandler done) = 0;

  /// Whether the error means that a call was given up. A second call would take as long.
  virtual bool gave_up(const Error&) const { return false; }

  /// Reads and calls that took too long; empty without a watch.
  virtual HungReads hung_reads() const { return {}; }

  /// Reads of a direct storage that used the page cache after all, because the file system does not
  /// support direct reads.
  virtual std::uint64_t cached_reads() const noexcept { return 0; }

  enum class RequestKind : std::uint8_t { read, call };
  /// Lets the storage make one more request of this kind, in place of one that hangs. Returns false
  /// if it cannot.
  virtual bool add_place(RequestKind) noexcept { return false; }

  /// Waits for all reads in flight and their completions, so a completion must not call it.
  /// Requests made during or after the stop may be dropped: their completions are destroyed without
  /// being called.
  virtual void stop() = 0;
};

/// `threads` is the most threads for `pread` and blocking calls, at least 1. They start on demand.
/// Errors: `resource_limit` if io_uring was requested and is unavailable, with the reason and the
///         remedy, or if the process may start no thread.
Result<std::unique_ptr<Storage>> make_storage(StorageKind kind, unsigned threads = 8);

/// Reads with `pread` on a pool of threads. The default, and fastest if the page cache is warm.
std::unique_ptr<Storage> make_pread_pool(unsigned threads);

/// Reads through io_uring past the page cache. Reads that a file system does not support so are
/// made by a pool of threads. One thread owns the ring and runs the completions.
///
/// Errors: `resource_limit` if a ring is unavailable: built without io_uring, an old kernel, a
///         sandbox, a limit.
Result<std::unique_ptr<Storage>> make_uring_storage(unsigned threads);

}  // namespace dovetail::detail
