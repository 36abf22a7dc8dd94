// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/storage.h"

namespace dovetail::detail {

Result<std::unique_ptr<Storage>> make_uring_storage(unsigned /*threads*/) {
  return Error(Errc::resource_limit,
               "this build has no io_uring: install liburing's development package and configure again, or use pread");
}

}  // namespace dovetail::detail
