// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/error.h>

#include "sources/bytes/byte_stream.h"
#include "sources/file_records.h"

namespace dovetail::detail {

/// A regular file in a tar.
struct TarMember {
  std::string name;
  RecordPlace place;  ///< Of the member's header.
};

/// Key and part of a member's name, as in WebDataset: the key is everything before the first dot of
/// the last path component; the rest, in lower case, names the part. Both are empty if there is no
/// dot, or nothing before it.
struct MemberName {
  std::string_view key;
  std::string extension;
};
MemberName split_member_name(std::string_view name);

/// Walks over the regular files of a tar by libarchive: ustar, pax, GNU and older ones, long names
/// and holes included.
///
/// Names are untrusted, but nothing is written to them. Other entries than regular files are
/// counted and left out, including a link to another member, which has no bytes of its own.
/// Errors: `truncated` if the archive is cut, including its two final blocks of zeros;
///         `malformed_input`, also for data after the end; those of the stream. All name offsets in
///         the file, and are final except `record_too_large`.
/// Cost:   about 100 KiB, and the bytes read of one member.
class TarReader {
 public:
  static Result<TarReader> open(std::string path, std::unique_ptr<ByteStream> stream);
  TarReader(TarReader&&) noexcept;
  ~TarReader();

  /// The next regular file, or nothing at the end. Skips the unread rest of the one before.
  Result<std::optional<TarMember>> next();
  /// Appends the bytes of that file. Errors: `record_too_large` if `out` would exceed `limit`
  /// bytes.
  Result<void> read(std::vector<std::byte>& out, std::uint64_t limit);
  /// Entries left out so far.
  std::uint64_t ignored() const noexcept;

 private:
  struct State;
  explicit TarReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dovetail::detail
