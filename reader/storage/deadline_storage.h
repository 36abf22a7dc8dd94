// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "reader/storage/read_watch.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// A read is made in pieces of this size, each with the whole time and a buffer of its own.
inline constexpr std::size_t kDeadlinePiece = 256 << 10;
/// Calls that a storage has at a time and that somebody waits for; fewer where its depth is less.
inline constexpr unsigned kMostCallsOut = 32;
/// Calls that were given up and have not come back: then everything else fails at once.
inline constexpr unsigned kMostAbandoned = 64;
/// Memory of the buffers.
inline constexpr std::size_t kDeadlineBytes = (kMostCallsOut + kMostAbandoned) * kDeadlinePiece;

/// A storage whose calls fail with `ETIMEDOUT` once they have taken `options.after`, counted from when the storage behind
/// gets them. While a call of a file is abandoned, others of the file fail at once. An abandoned call takes no place of
/// another: the storage behind gets one more, or, where it has no more to give, as many calls fewer are made at a time.
///
/// The system may write to the buffer of an abandoned read whenever it likes. So every read has a buffer of its own, whose
/// bytes are copied to where they are wanted, and files stay open until the system has let go of them. `stop` does not wait
/// for abandoned calls: it leaves the storage to a thread that does.
std::unique_ptr<Storage> make_deadline_storage(std::unique_ptr<Storage> inner, const WatchOptions& options);

}  // namespace dovetail::detail
