// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "reader/storage/read_watch.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// Puts a watch on a storage: calls that it does not answer in time are logged, and fail where `options.gives_up`
/// (deadline_storage.h).
std::unique_ptr<Storage> watch_storage(std::unique_ptr<Storage> storage, const WatchOptions& options);

}  // namespace dovetail::detail
