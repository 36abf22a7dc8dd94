// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/decoder.h"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "format/try.h"
#include "sources/bytes/snappy_blocks.h"

namespace dovetail::detail {

namespace {

/// The common part of the compressions that consist of consecutive members.
class MemberDecoder : public Decoder {
 public:
  Result<void> run(ByteView& in, std::span<std::byte>& out) final {
    while (!out.empty() && (!in.empty() || more_to_come_)) {
      if (member_ended_) {
        DOVETAIL_TRY(begin_next(in));
        if (in.empty()) return {};
        member_ended_ = false;
      }
      DOVETAIL_ASSIGN(member_ended_, decode(in, out));
      more_to_come_ = out.empty() && !member_ended_;
    }
    return {};
  }
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

Error no_memory() {
  return Error::from_errno(ENOMEM, "cannot decompress");
}

Error something_follows(Compression compression) {
  const std::string name(to_string(compression));
  return Error(Errc::decompression, "bytes that are not " + name + " follow the end of the " + name + " stream");
}

Error window_too_large() {
  return Error(Errc::decompression, "decoding needs a window of more than " + std::to_string(kMaxWindowBytes >> 20) +
                                        " MiB; decompress it with its own program");
}

template <class Size>
Size clamp_size(std::size_t size) {
  return static_cast<Size>(std::min<std::size_t>(size, std::numeric_limits<Size>::max()));
}

// The C libraries take their input as pointers to non-const characters of their own types.
template <class Byte>
Byte* begin_of(ByteView bytes) {
  return reinterpret_cast<Byte*>(const_cast<std::byte*>(bytes.data()));
}

// Advances both spans to the bytes that a library has left.
void advance(ByteView& in, std::size_t in_left, std::span<std::byte>& out, std::size_t out_left) {
  in = in.last(in_left);
  out = out.last(out_left);
}

class ZlibDecoder final : public MemberDecoder {
 public:
  explicit ZlibDecoder(Compression compression) : compression_(compression) {}
  ~ZlibDecoder() override {
    if (ready_) ::inflateEnd(&z_);
  }

  Result<void> begin() {
    constexpr int kWindow = 15;
    constexpr int kGzip = 16;  // added to the window, this requests gzip's header and trailer
    ready_ = ::inflateInit2(&z_, compression_ == Compression::gzip ? kWindow + kGzip : kWindow) == Z_OK;
    if (!ready_) return no_memory();
    return {};
  }

 private:
  Result<void> begin_next(ByteView& in) override {
    constexpr std::byte kGzipFirst{0x1F};
    if (compression_ != Compression::gzip || in.front() != kGzipFirst) return something_follows(compression_);
    ::inflateReset(&z_);
    return {};
  }

  Result<bool> decode(ByteView& in, std::span<std::byte>& out) override {
    const uInt in_bytes = clamp_size<uInt>(in.size());
    const uInt out_bytes = clamp_size<uInt>(out.size());
    z_.next_in = begin_of<Bytef>(in);
    z_.avail_in = in_bytes;
    z_.next_out = begin_of<Bytef>(out);
    z_.avail_out = out_bytes;
    const int status = ::inflate(&z_, Z_NO_FLUSH);
    advance(in, in.size() - (in_bytes - z_.avail_in), out, out.size() - (out_bytes - z_.avail_out));
    if (status == Z_STREAM_END) return true;
    if (status == Z_MEM_ERROR) return no_memory();
    if (status == Z_OK || status == Z_BUF_ERROR) return false;
    return Error(Errc::decompression, z_.msg != nullptr ? z_.msg : "a preset dictionary is needed");
  }

  z_stream z_{};
  Compression compression_;
  bool ready_ = false;
};

class Bzip2Decoder final : public MemberDecoder {
 public:
  ~Bzip2Decoder() override { end(); }

  Result<void> begin() {
    end();
    bz_ = {};
    ready_ = ::BZ2_bzDecompressInit(&bz_, 0, 0) == BZ_OK;
    if (!ready_) return no_memory();
    return {};
  }

 private:
  void end() noexcept {
    if (std::exchange(ready_, false)) ::BZ2_bzDecompressEnd(&bz_);
  }

  Result<void> begin_next(ByteView& in) override {
    if (in.front() != std::byte{'B'}) return something_follows(Compression::bzip2);
    return begin();
  }

  Result<bool> decode(ByteView& in, std::span<std::byte>& out) override {
    const auto in_bytes = clamp_size<unsigned>(in.size());
    const auto out_bytes = clamp_size<unsigned>(out.size());
    bz_.next_in = begin_of<char>(in);
    bz_.avail_in = in_bytes;
    bz_.next_out = begin_of<char>(out);
    bz_.avail_out = out_bytes;
    const int status = ::BZ2_bzDecompress(&bz_);
    advance(in, in.size() - (in_bytes - bz_.avail_in), out, out.size() - (out_bytes - bz_.avail_out));
    if (status == BZ_STREAM_END) return true;
    if (status == BZ_OK) return false;
    if (status == BZ_MEM_ERROR) return no_memory();
    return Error(Errc::decompression, status == BZ_DATA_ERROR_MAGIC ? "bzip2: no stream begins here"
                                                                    : "bzip2: damaged data, or a wrong checksum");
  }

  bz_stream bz_{};
  bool ready_ = false;
};

class XzDecoder final : public MemberDecoder {
 public:
  ~XzDecoder() override { ::lzma_end(&xz_); }

  // Can also restart a decoder that has begun before.
  Result<void> begin() {
    constexpr std::uint64_t kBesideWindow = std::uint64_t{1} << 20;
    const auto status = ::lzma_stream_decoder(&xz_, kMaxWindowBytes + kBesideWindow, LZMA_TELL_UNSUPPORTED_CHECK);
    if (status != LZMA_OK) return no_memory();
    return {};
  }
  bool at_end() const noexcept override { return MemberDecoder::at_end() && padding_ % 4 == 0; }

 private:
  // Zeros may follow a stream, in multiples of four bytes.
  Result<void> begin_next(ByteView& in) override {
    const auto stream = std::find_if(in.begin(), in.end(), [](std::byte byte) { return byte != std::byte{0}; });
    padding_ += static_cast<std::uint64_t>(stream - in.begin());
    in = in.subspan(static_cast<std::size_t>(stream - in.begin()));
    if (in.empty()) return {};
    constexpr std::byte kFirst{0xFD};
    if (in.front() != kFirst || std::exchange(padding_, 0) % 4 != 0) return something_follows(Compression::xz);
    return begin();
  }

  Result<bool> decode(ByteView& in, std::span<std::byte>& out) override {
    xz_.next_in = begin_of<std::uint8_t>(in);
    xz_.avail_in = in.size();
    xz_.next_out = begin_of<std::uint8_t>(out);
    xz_.avail_out = out.size();
    const lzma_ret status = ::lzma_code(&xz_, LZMA_RUN);
    advance(in, xz_.avail_in, out, xz_.avail_out);
    switch (status) {
      case LZMA_STREAM_END:
        return true;
      case LZMA_OK:
      case LZMA_BUF_ERROR:
        return false;
      case LZMA_MEM_ERROR:
        return no_memory();
      case LZMA_MEMLIMIT_ERROR:
        return window_too_large();
      case LZMA_UNSUPPORTED_CHECK:
        return Error(Errc::decompression, "xz: its checksum has an unsupported type");
      case LZMA_OPTIONS_ERROR:
        return Error(Errc::decompression, "xz: an unsupported filter or option");
      default:
        return Error(Errc::decompression, "xz: damaged data, or a wrong checksum");
    }
  }

  lzma_stream xz_ = LZMA_STREAM_INIT;
  std::uint64_t padding_ = 0;
};

// The library distinguishes frames from skippable frames.
class ZstdDecoder final : public MemberDecoder {
 public:
  Result<void> begin() {
    context_.reset(::ZSTD_createDCtx());
    if (!context_) return no_memory();
    constexpr int kMaxWindowLog = 27;
    static_assert(std::uint64_t{1} << kMaxWindowLog == kMaxWindowBytes);
    ::ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
    return {};
  }

 private:
  struct End {
    void operator()(ZSTD_DCtx* context) const noexcept { ::ZSTD_freeDCtx(context); }
  };

  Result<void> begin_next(ByteView& /*in*/) override {
    followed_ = true;
    return {};
  }

  Result<bool> decode(ByteView& in, std::span<std::byte>& out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t status = ::ZSTD_decompressStream(context_.get(), &to, &from);
    advance(in, from.size - from.pos, out, to.size - to.pos);
    if (::ZSTD_isError(status) == 0) return status == 0;
    switch (::ZSTD_getErrorCode(status)) {
      case ZSTD_error_memory_allocation:
        return no_memory();
      case ZSTD_error_frameParameter_windowTooLarge:
        return window_too_large();
      case ZSTD_error_prefix_unknown:
        if (followed_) return something_follows(Compression::zstd);
        [[fallthrough]];
      default:
        return Error(Errc::decompression, std::string("zstd: ") + ::ZSTD_getErrorName(status));
    }
  }

  std::unique_ptr<ZSTD_DCtx, End> context_;
  bool followed_ = false;
};

template <class Made>
Result<std::unique_ptr<Decoder>> begun(std::unique_ptr<Made> decoder) {
  DOVETAIL_TRY(decoder->begin());
  return std::unique_ptr<Decoder>(std::move(decoder));
}

}  // namespace

Result<std::unique_ptr<Decoder>> make_decoder(Compression compression) {
  if (compression == Compression::snappy) return std::unique_ptr<Decoder>(std::make_unique<SnappyBlocks>());
  if (compression == Compression::bzip2) return begun(std::make_unique<Bzip2Decoder>());
  if (compression == Compression::xz) return begun(std::make_unique<XzDecoder>());
  if (compression == Compression::zstd) return begun(std::make_unique<ZstdDecoder>());
  return begun(std::make_unique<ZlibDecoder>(compression));
}

}  // namespace dovetail::detail
