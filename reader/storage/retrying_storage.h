// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "reader/storage/read_watch.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// A storage whose reads and calls are given up where they hang; see `watch_storage`. Throws `std::system_error` where no
/// thread can be started.
std::unique_ptr<Storage> make_retrying_storage(std::unique_ptr<Storage> inner, const WatchOptions& options);

}  // namespace dovetail::detail
