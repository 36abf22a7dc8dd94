// SPDX-License-Identifier: Apache-2.0
#include "convert/inflater.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <utility>

namespace dovetail::detail {

namespace {

constexpr int kZlibWindow = 15;
constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for the gzip wrapper
constexpr std::byte kGzipFirst{0x1F};

uInt clamp_size(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace

struct Inflater::Stream {
  z_stream z{};
  bool ready = false;
  ~Stream() {
    if (ready) ::inflateEnd(&z);
  }
};

Result<Inflater> Inflater::make(Compression compression) {
  auto stream = std::make_unique<Stream>();
  const int window = compression == Compression::gzip ? kGzipWindow : kZlibWindow;
  if (::inflateInit2(&stream->z, window) != Z_OK) return Error::from_errno(ENOMEM, "cannot begin to decompress");
  stream->ready = true;
  return Inflater(std::move(stream), compression);
}

Inflater::Inflater(std::unique_ptr<Stream> stream, Compression compression)
    : stream_(std::move(stream)), compression_(compression) {}
Inflater::Inflater(Inflater&&) noexcept = default;
Inflater& Inflater::operator=(Inflater&&) noexcept = default;
Inflater::~Inflater() = default;

Result<void> Inflater::run(ByteView& in, std::span<std::byte>& out) {
  z_stream& z = stream_->z;
  while (!in.empty() && !out.empty()) {
    if (at_end_) {
      if (compression_ != Compression::gzip)
        return Error(Errc::decompression, "bytes follow the end of the zlib stream");
      if (in.front() != kGzipFirst) return Error(Errc::decompression, "bytes that are not gzip follow the gzip stream");
      ::inflateReset(&z);
      at_end_ = false;
    }
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    z.avail_in = clamp_size(in.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = clamp_size(out.size());
    const int status = ::inflate(&z, Z_NO_FLUSH);
    in = in.subspan(static_cast<std::size_t>(reinterpret_cast<const std::byte*>(z.next_in) - in.data()));
    out = out.subspan(static_cast<std::size_t>(reinterpret_cast<std::byte*>(z.next_out) - out.data()));
    if (status == Z_STREAM_END) {
      at_end_ = true;
    } else if (status == Z_MEM_ERROR) {
      return Error::from_errno(ENOMEM, "cannot decompress");
    } else if (status != Z_OK) {
      return Error(Errc::decompression, z.msg != nullptr ? z.msg : "a preset dictionary is needed");
    }
  }
  return {};
}

}  // namespace dovetail::detail
