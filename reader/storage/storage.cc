// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/storage.h"

#include <exception>
#include <new>
#include <string>

#include "format/guard_memory.h"
#include "format/words/reader_words.h"

namespace dovetail {

std::string_view to_string(StorageKind kind) noexcept {
  return format::word_of(format::kStorageWords, kind);
}

namespace detail {

Result<void> Storage::read_again(const InputFile& file, std::uint64_t offset, ReadInto into) {
  file.drop_cache(offset, into.size());
  return file.read(offset, into);
}

Result<std::unique_ptr<Storage>> make_storage(StorageKind kind, unsigned threads) {
  try {
    switch (kind) {
      case StorageKind::automatic:
      case StorageKind::pread:
        return make_pread_pool(threads);
      case StorageKind::io_uring_direct:
        return make_uring_storage(threads);
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
