// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/bytes/decoder.h"

namespace dovetail::detail {

/// Common part of the compressions that consist of consecutive members.
class MemberDecoder : public Decoder {
 public:
  Result<void> run(ByteView& in, std::span<std::byte>& out) final;
  bool at_end() const noexcept override { return member_ended_; }

 protected:
  /// Advances both. Returns whether the member has ended.
  virtual Result<bool> decode(ByteView& in, std::span<std::byte>& out) = 0;
  /// Prepares for the member at the beginning of `in`, which is not empty; may skip bytes between
  /// members.
  virtual Result<void> begin_next(ByteView& in) = 0;

 private:
  bool member_ended_ = false;
  bool more_to_come_ = false;  // the library may hold decoded bytes that did not fit
};

/// Needs: gzip, zlib, bzip2, xz or zstd. Errors: the system's, if memory is short.
Result<std::unique_ptr<Decoder>> make_member_decoder(Compression compression);

}  // namespace dovetail::detail
