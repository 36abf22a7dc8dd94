// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>

#include <dovetail/error.h>

#include "reader/storage/input_file.h"

namespace dovetail::detail {

/// Where bytes come from: "read these bytes of this file into this span", many at a time.
///
/// Ownership: file and span are borrowed until the completion runs.
/// Threads:   `read` may be called from any thread; completions run on threads of the storage, never inside `read`.
class Storage {
 public:
  using ReadHandler = boost::asio::any_completion_handler<void(Result<void>)>;

  virtual ~Storage() = default;

  /// Reads all of `into`. Errors name file and offset; a file that ends early is `truncated`.
  virtual void read(const InputFile& file, std::uint64_t offset, std::span<std::byte> into, ReadHandler done) = 0;

  /// For the other calls that block: opening files, reading their ends.
  virtual boost::asio::any_io_executor blocking_executor() = 0;

  /// Waits for all reads in flight and their completions. What is asked for while it stops, or later, may be dropped.
  virtual void stop() = 0;
};

/// Reads with `pread` on a pool of threads: the default, and the fastest where the page cache is warm.
std::unique_ptr<Storage> make_pread_pool(unsigned threads);

}  // namespace dovetail::detail
