// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "reader/storage/read_watch.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// Puts a watch on a storage: requests that it does not answer in time are logged. With
/// `options.gives_up` they also fail (`make_deadline_storage`).
std::unique_ptr<Storage> watch_storage(std::unique_ptr<Storage> storage, const WatchOptions& options);

/// Reads are made in pieces of this size. Each piece has a deadline and a buffer of its own.
inline constexpr std::size_t kDeadlinePiece = 256 << 10;
/// The most calls of each kind that the storage has at a time without being late; fewer if its
/// depth is less.
inline constexpr unsigned kMostCallsOut = 32;
/// The most calls that are given up and have not returned. Beyond this, every other call fails at
/// once.
inline constexpr unsigned kMostAbandoned = 64;

/// A storage whose calls fail with `ETIMEDOUT` once they have taken `options.after`, counted from
/// when the inner storage gets them. While a call on a file is abandoned, other calls on this file
/// fail at once.
///
/// An abandoned call takes no place of others: the inner storage adds a place. If it cannot, one
/// call fewer is made at a time.
///
/// The system may write to the buffer of an abandoned read at any time. So every read has a buffer
/// of its own, which is copied to the destination. Files stay open until the system has returned.
/// `stop` does not wait for abandoned calls: a separate thread waits for them and stops the inner
/// storage.
std::unique_ptr<Storage> make_deadline_storage(std::unique_ptr<Storage> inner, const WatchOptions& options);

}  // namespace dovetail::detail
