// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "convert/decoder.h"

namespace dovetail::detail {

/// Decodes gzip (any number of members, one after the other) or one zlib stream.
///
/// Errors: bytes after the end of a stream are one.
/// Cost:   about 40 KiB, whatever the input claims.
class Inflater final : public Decoder {
 public:
  /// Needs: gzip or zlib. Errors: the system's, where memory is short.
  static Result<Inflater> make(Compression compression);

  Inflater(Inflater&&) noexcept;
  Inflater& operator=(Inflater&&) noexcept;
  ~Inflater() override;

  Result<void> run(ByteView& in, std::span<std::byte>& out) override;
  bool at_end() const noexcept override { return at_end_; }

 private:
  struct Stream;
  Inflater(std::unique_ptr<Stream> stream, Compression compression);

  std::unique_ptr<Stream> stream_;  // zlib keeps its address
  Compression compression_;
  bool at_end_ = false;
};

}  // namespace dovetail::detail
