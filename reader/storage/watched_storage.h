// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "reader/storage/read_watch.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// Puts a watch on a storage: requests that it does not answer in time are logged. With
/// `options.gives_up` they also fail (deadline_storage.h).
std::unique_ptr<Storage> watch_storage(std::unique_ptr<Storage> storage, const WatchOptions& options);

}  // namespace dovetail::detail
