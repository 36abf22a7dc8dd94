// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/promised_stream.h"

#include <cstddef>
#include <optional>

namespace dovetail::detail {

PromisedStream::PromisedStream(std::string path, std::unique_ptr<ByteStream> stream, StreamPromise promise)
    : path_(std::move(path)), stream_(std::move(stream)), promise_(std::move(promise)) {
  for (const auto& [name, digits] : promise_.hashes) hashes_.push_back(make_content_hash(name));
}

Result<std::optional<StreamPiece>> PromisedStream::next() {
  auto piece = stream_->next();
  if (!piece) return piece.error();
  if (!*piece) return end();
  const StreamPiece& found = **piece;
  if (found.bytes.size() > promise_.bytes - bytes_) {
    return broken("it decodes to more bytes than the " + std::to_string(promise_.bytes) + " in its index");
  }
  bytes_ += found.bytes.size();
  input_end_ = found.input_end;
  for (const auto& hash : hashes_) {
    if (hash) hash->add(found.bytes);
  }
  return piece;
}

Result<std::optional<StreamPiece>> PromisedStream::end() const {
  if (bytes_ != promise_.bytes) {
    return broken("it decodes to " + std::to_string(bytes_) + " bytes, but its index has " +
                  std::to_string(promise_.bytes));
  }
  for (std::size_t i = 0; i != hashes_.size(); ++i) {
    if (!hashes_[i]) continue;
    const auto& [name, digits] = promise_.hashes[i];
    const std::string found = hashes_[i]->hex();
    if (found != digits) return broken("its " + name + " is " + found + ", but its index has " + digits);
  }
  return std::nullopt;
}

Error PromisedStream::broken(const std::string& reason) const {
  return Error(Errc::sidecar_mismatch, reason).at(path_, input_end_);
}

}  // namespace dovetail::detail
