// SPDX-License-Identifier: Apache-2.0
#include "format/zstd_codec.h"

#include <zstd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "format/endian.h"

namespace dovetail::format {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

/// Returns the context of this thread; null if there is no memory for one.
template <class Context, Context* (*create)()>
Context* context_of_thread() noexcept {
  thread_local std::unique_ptr<Context, FreeContext> context;
  if (context == nullptr) context.reset(create());
  return context.get();
}

Error damaged(const std::string& what) {
  return Error(Errc::decompression, "zstd " + what);
}

}  // namespace

bool append_zstd_frame(ByteView raw, std::uint32_t level, std::vector<std::byte>& body) {
  const std::size_t start = body.size();
  body.resize(start + ZSTD_compressBound(raw.size()));
  ZSTD_CCtx* const context = context_of_thread<ZSTD_CCtx, ZSTD_createCCtx>();
  if (context == nullptr) return false;
  const std::size_t bytes = ZSTD_compressCCtx(context, body.data() + start, body.size() - start, raw.data(), raw.size(),
                                              static_cast<int>(level));
  if (ZSTD_isError(bytes) != 0) return false;
  body.resize(start + bytes);
  return true;
}

Result<void> decode_zstd_frame(ByteView stored, std::span<std::byte> raw) {
  // Some builds of the library also decode frames from before RFC 8878, with decoders that nobody
  // maintains.
  if (stored.size() < sizeof(std::uint32_t) || load_le<std::uint32_t>(stored.data()) != ZSTD_MAGICNUMBER) {
    return damaged("data has no frame");
  }
  const unsigned long long promised = ZSTD_getFrameContentSize(stored.data(), stored.size());
  if (promised == ZSTD_CONTENTSIZE_ERROR || promised == ZSTD_CONTENTSIZE_UNKNOWN) return damaged("data has no size");
  if (promised != raw.size()) {
    return damaged("data has " + std::to_string(promised) + " bytes, expected " + std::to_string(raw.size()));
  }
  if (ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size()) {
    return damaged("data is not a single frame");
  }
  ZSTD_DCtx* const context = context_of_thread<ZSTD_DCtx, ZSTD_createDCtx>();
  if (context == nullptr) return Error::from_errno(ENOMEM, "no memory for a zstd decoder");
  const std::size_t bytes = ZSTD_decompressDCtx(context, raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(bytes) != 0) return damaged(std::string("data is damaged: ") + ZSTD_getErrorName(bytes));
  if (bytes != raw.size()) return damaged("data has another size");
  return {};
}

}  // namespace dovetail::format
