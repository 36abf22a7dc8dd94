// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_completion_handler.hpp>

#include <dovetail/error.h>
#include <dovetail/reader_stats.h>
#include <dovetail/storage_kind.h>

#include "reader/storage/input_file.h"

namespace dovetail::detail {

/// What whoever sizes reads, memory and descriptors has to know about a storage. Fixed while it lives.
struct StorageFacts {
  /// Never `automatic`.
  StorageKind kind = StorageKind::pread;
  /// Reads past the page cache: `try_read` is always false.
  bool direct = false;
  /// Reads that it keeps in flight.
  unsigned depth = 0;
  /// Calls that it makes at a time; 0 where they take the places of reads.
  unsigned call_depth = 0;
  /// Descriptors that an open file takes.
  unsigned descriptors_per_file = 1;
  /// Memory that it holds for as long as it lives; part of the reader's budget.
  std::size_t memory_bytes = 0;
  /// The size from which larger single reads are not faster.
  std::size_t best_read_bytes = 0;
  /// Anything about the choice that somebody might wonder about later; empty where all is as asked.
  std::string note;
};

/// What a storage has not answered in time.
struct HungReads {
  std::uint64_t met = 0;
  std::uint64_t given_up = 0;
  std::vector<HungRead> now;  ///< The oldest first; 100 at most.
};

/// Where bytes come from: "read these bytes of this file into this memory", many at a time.
///
/// Ownership: file and memory are borrowed until the completion runs.
/// Threads:   all calls but `stop` may come from any thread; completions run on threads of the storage, never inside
///            `read`. They keep other reads waiting, so they hand work on rather than do it.
/// Errors:    name file and offset. A file that ends early is `truncated`, or `file_changed` if it was longer before.
class Storage {
 public:
  using ReadHandler = boost::asio::any_completion_handler<void(Result<void>)>;
  /// What a call gives: anything, such as an open file.
  using Answer = Result<std::shared_ptr<const void>>;
  using Call = std::function<Answer()>;
  using CallHandler = boost::asio::any_completion_handler<void(Answer)>;

  virtual ~Storage() = default;

  /// Reads on the calling thread if that needs no waiting for a device. True: all bytes are there. False: `read` is
  /// wanted; `into` may be filled in part.
  virtual Result<bool> try_read(const InputFile& file, std::uint64_t offset, ReadInto into) = 0;

  /// Reads all of `into`.
  virtual void read(const InputFile& file, std::uint64_t offset, ReadInto into, ReadHandler done) = 0;

  virtual const StorageFacts& facts() const noexcept = 0;

  /// Reads all of `into` on the calling thread, from the device where the page cache allows that: for bytes that were read
  /// before and are not what they should be.
  virtual Result<void> read_again(const InputFile& file, std::uint64_t offset, ReadInto into);

  /// Makes a call that blocks, such as opening `path`, on a thread of the storage. It must own what it uses: it outlives its
  /// answer where it is given up.
  virtual void call(const std::string& path, Call work, CallHandler done) = 0;

  /// Whether the error says that a call was given up: a second one would take as long.
  virtual bool gave_up(const Error&) const { return false; }

  /// Reads and calls that took too long, where somebody looks.
  virtual HungReads hung_reads() const { return {}; }

  /// Reads of a direct storage that went through the page cache, because the file system does not offer more.
  virtual std::uint64_t cached_reads() const noexcept { return 0; }

  /// A read in flight hangs, or a `call`: takes one more of the kind in its place. Whether it can.
  enum class Hangs : std::uint8_t { read, call };
  virtual bool add_place(Hangs) noexcept { return false; }

  /// Waits for all reads in flight and their completions, so not to be called from one. What is asked for while it
  /// stops, or later, may be dropped: its completion is destroyed without being called.
  virtual void stop() = 0;
};

/// Changes speed only.
struct StorageOptions {
  /// Threads of `pread`, and of the calls that block, at most; at least 1. They start as they are wanted.
  unsigned threads = 8;
  /// Direct reads in flight, 1 to 4096.
  unsigned depth = 64;
  /// What a direct storage may hold to read into, at least 128 KiB. It keeps fewer reads in flight rather than more
  /// memory.
  std::size_t memory_bytes = std::size_t{17} << 20;
};

/// Errors: `invalid_option`; `resource_limit` where io_uring was asked for and cannot be had, saying why and what to do,
/// and for every kind where the process may start no thread.
Result<std::unique_ptr<Storage>> make_storage(StorageKind kind, const StorageOptions& options);

/// Reads with `pread` on a pool of threads: the default, and the fastest where the page cache is warm.
std::unique_ptr<Storage> make_pread_pool(unsigned threads);

}  // namespace dovetail::detail
