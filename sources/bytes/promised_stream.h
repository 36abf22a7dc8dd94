// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/error.h>

#include "sources/bytes/byte_stream.h"
#include "sources/bytes/hashes.h"

namespace dovetail::detail {

/// The decoded size and hashes of a stream, from an index.
struct StreamPromise {
  std::uint64_t bytes = 0;
  /// Names of hashes and their digits. Hashes with unknown names are not checked.
  std::vector<std::pair<std::string, std::string>> hashes;
};

/// Passes a stream through, and compares it with its index.
/// Errors: `sidecar_mismatch`: at once for too many bytes; at the end for too few, or a wrong hash.
class PromisedStream final : public ByteStream {
 public:
  PromisedStream(std::string path, std::unique_ptr<ByteStream> stream, StreamPromise promise);
  Result<std::optional<StreamPiece>> next() override;

 private:
  Result<std::optional<StreamPiece>> end() const;
  Error broken(const std::string& reason) const;

  std::string path_;
  std::unique_ptr<ByteStream> stream_;
  StreamPromise promise_;
  std::vector<std::unique_ptr<ContentHash>> hashes_;
  std::uint64_t bytes_ = 0;
  std::uint64_t input_end_ = 0;
};

}  // namespace dovetail::detail
