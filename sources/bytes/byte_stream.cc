// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/byte_stream.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "format/try.h"
#include "sources/bytes/decoder.h"

namespace dovetail::detail {

namespace {

constexpr std::size_t kDecodedBytes = std::size_t{256} << 10;

/// Uninitialised memory. Small files never touch most of it.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : memory_(std::make_unique_for_overwrite<std::byte[]>(bytes)), bytes_(bytes) {}
  std::span<std::byte> all() const noexcept { return {memory_.get(), bytes_}; }
  ByteView first(std::size_t bytes) const noexcept { return all().first(bytes); }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t bytes_;
};

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(SourceFile file) : file_(std::move(file)), buffer_(kReadBytes) {}

  Result<std::optional<StreamPiece>> next() override {
    const std::uint64_t begin = file_.position();
    DOVETAIL_ASSIGN(auto read, file_.read(buffer_.all()));
    if (read == 0) return std::nullopt;
    return StreamPiece{buffer_.first(read), begin, file_.position()};
  }

  Result<std::uint64_t> skip(std::uint64_t bytes) override { return file_.skip(bytes); }

 private:
  SourceFile file_;
  Buffer buffer_;
};

class DecodedStream final : public ByteStream {
 public:
  DecodedStream(SourceFile file, std::unique_ptr<Decoder> decoder, Compression compression)
      : file_(std::move(file)),
        decoder_(std::move(decoder)),
        compression_(compression),
        stored_(kReadBytes),
        decoded_(kDecodedBytes) {}

  // Returns the bytes decoded before a failure first, because their records are valid.
  Result<std::optional<StreamPiece>> next() override {
    if (failure_) return *failure_;
    // Check for cancellation at every piece: the bytes of one read may decode to gigabytes.
    DOVETAIL_TRY(file_.read({}));
    const std::uint64_t begin = used();
    std::span<std::byte> space = decoded_.all();
    while (!space.empty() && !failure_) {
      if (auto decoded = decoder_->run(rest_, space); !decoded) {
        failure_ = decoded.error().at(file_.path(), used());
      } else if (rest_.empty() && !space.empty()) {
        auto more = refill();
        if (!more) {
          failure_ = more.error();
        } else if (!*more) {
          break;
        }
      }
    }
    const std::size_t made = kDecodedBytes - space.size();
    if (made != 0) return StreamPiece{decoded_.first(made), begin, used()};
    if (failure_) return *failure_;
    return std::nullopt;
  }

 private:
  std::uint64_t used() const { return file_.position() - rest_.size(); }

  // Returns whether there is more to decode.
  Result<bool> refill() {
    DOVETAIL_ASSIGN(auto read, file_.read(stored_.all()));
    rest_ = stored_.first(read);
    if (read != 0) return true;
    if (decoder_->at_end()) return false;
    return Error(Errc::truncated, "the " + std::string(to_string(compression_)) + " stream ends early")
        .at(file_.path(), used());
  }

  SourceFile file_;
  std::unique_ptr<Decoder> decoder_;
  Compression compression_;
  Buffer stored_;
  Buffer decoded_;
  ByteView rest_;  // bytes read, but not yet decoded
  std::optional<Error> failure_;
};

}  // namespace

Result<std::unique_ptr<ByteStream>> make_byte_stream(SourceFile file, Compression compression) {
  if (compression == Compression::none) return std::unique_ptr<ByteStream>(new PlainStream(std::move(file)));
  auto decoder = make_decoder(compression);
  if (!decoder) return decoder.error().in_file(file.path());
  return std::unique_ptr<ByteStream>(new DecodedStream(std::move(file), std::move(*decoder), compression));
}

}  // namespace dovetail::detail
