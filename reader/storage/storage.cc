// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/storage.h"

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "format/guard_memory.h"
#include "format/try.h"
#include "format/words/reader_words.h"
#include "reader/storage/uring_storage.h"

namespace dovetail {

std::string_view to_string(StorageKind kind) noexcept {
  return format::word_of(format::kStorageWords, kind);
}

namespace detail {
namespace {

constexpr unsigned kMaxThreads = 4096;
constexpr unsigned kMaxDepth = 4096;
constexpr std::size_t kMinMemory = 128 << 10;

Result<void> validate(const StorageOptions& options) {
  if (options.threads < 1 || options.threads > kMaxThreads) {
    return Error(Errc::invalid_option,
                 "threads is " + std::to_string(options.threads) + "; it must be 1 to " + std::to_string(kMaxThreads));
  }
  if (options.depth < 1 || options.depth > kMaxDepth) {
    return Error(Errc::invalid_option,
                 "depth is " + std::to_string(options.depth) + "; it must be 1 to " + std::to_string(kMaxDepth));
  }
  if (options.memory_bytes < kMinMemory) {
    return Error(Errc::invalid_option, "memory_bytes is " + std::to_string(options.memory_bytes) +
                                           "; it must be at least " + std::to_string(kMinMemory));
  }
  return {};
}

}  // namespace

Result<void> Storage::read_again(const InputFile& file, std::uint64_t offset, ReadInto into) {
  file.drop_cache(offset, into.size());
  return file.read(offset, into);
}

Result<std::unique_ptr<Storage>> make_storage(StorageKind kind, const StorageOptions& options) {
  DOVETAIL_TRY(validate(options));
  try {
    switch (kind) {
      case StorageKind::automatic:
      case StorageKind::pread:
        return make_pread_pool(options.threads);
      case StorageKind::io_uring_direct:
        return make_uring_storage(options);
    }
  } catch (const std::bad_alloc& failure) {
    return error_from(failure);
  } catch (const std::exception& failure) {
    return Error(Errc::resource_limit, std::string("cannot start the threads that read: ") + failure.what());
  }
  return Error(Errc::invalid_option, "unknown kind of storage");
}

}  // namespace detail
}  // namespace dovetail
