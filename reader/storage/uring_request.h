// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "reader/storage/storage.h"

namespace dovetail::detail {

/// A call of `Storage::read`.
struct UringRequest {
  UringRequest(const InputFile& from, std::uint64_t at, ReadInto destination, Storage::ReadHandler completion)
      : file(from), offset(at), into(destination), done(std::move(completion)) {}

  const InputFile& file;
  const std::uint64_t offset;
  const ReadInto into;
  Storage::ReadHandler done;

  /// Empty: read through the page cache.
  std::optional<DirectAccess> direct;
  /// Bytes of `into` for which pieces have been started.
  std::size_t cut = 0;
  unsigned pieces_in_flight = 0;
  /// The error with the smallest offset, which a sequential reader would have met first.
  std::optional<Error> error;

  bool within_file() const noexcept {
    return offset <= file.size() && into.size() <= file.size() - offset && into.size() > 0;
  }
  void fail(const Error& other) {
    if (!error || other.offset() < error->offset()) error = other;
  }
};

/// A part of a request that is one operation of the ring.
struct UringPiece {
  std::shared_ptr<UringRequest> request;
  /// The next missing byte in the file, and its destination.
  std::uint64_t offset = 0;
  ReadInto into;
  unsigned attempts = 0;
  /// The aligned range that is read into the buffer.
  std::uint64_t aligned_offset = 0;
  std::size_t aligned_bytes = 0;
};

}  // namespace dovetail::detail
