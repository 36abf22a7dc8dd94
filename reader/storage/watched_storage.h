// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "reader/storage/read_watch.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// Puts a watch on a storage: what it does not answer in time is told. Where `options.gives_up`, it is asked for once more,
/// on a thread and through a descriptor of its own, and after twice the time answered with `ETIMEDOUT`.
///
/// A read that is given up may still be going on somewhere in the system. So these reads have buffers of their own, of which
/// a bounded number of bytes is in flight at a time, and files stay open until the system has let go of them; `stop` leaves
/// the storage to a thread that waits for that, and does not wait itself.
///
/// Errors: `resource_limit` where no thread can be started.
Result<std::unique_ptr<Storage>> watch_storage(std::unique_ptr<Storage> storage, const WatchOptions& options);

}  // namespace dovetail::detail
