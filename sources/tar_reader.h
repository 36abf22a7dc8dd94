// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/error.h>

#include "sources/bytes/byte_stream.h"
#include "sources/file_records.h"

namespace dovetail::detail {

/// A regular file in a tar.
struct TarMember {
  std::string name;
  std::uint64_t bytes = 0;  ///< As its header claims.
  RecordPlace place;        ///< Of its header.
};

/// Walks over the regular files of a tar by libarchive: ustar, pax, GNU and older ones, long names and holes included.
///
/// Names are what they are: nothing is ever written to them. What is no regular file is counted and left out; so is a link
/// to another member, which has no bytes of its own.
/// Errors: `truncated` where the archive is cut, its two blocks of zeros at the end included, `malformed_input`, also
///         where something follows them; those of the stream. All name offsets in the file, and are final but for
///         `record_too_large`.
/// Cost:   some 100 KiB, and what is read of one member.
class TarReader {
 public:
  static Result<TarReader> open(std::string path, std::unique_ptr<ByteStream> stream);
  TarReader(TarReader&&) noexcept;
  TarReader& operator=(TarReader&&) noexcept;
  ~TarReader();

  /// The next regular file, or nothing at the end. Leaves out what was not read of the one before.
  Result<std::optional<TarMember>> next();
  /// Appends the bytes of that file. Errors: `record_too_large` where `out` would have more than `limit` bytes.
  Result<void> read(std::vector<std::byte>& out, std::uint64_t limit);
  /// Entries left out so far.
  std::uint64_t ignored() const noexcept;

 private:
  struct State;
  explicit TarReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::detail
