// SPDX-License-Identifier: Apache-2.0
#include "tfrecord/tfrecord_output.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

#include "format/tfrecord/tfrecord.h"
#include "format/tfrecord/tfrecord_snappy.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

constexpr std::size_t kWriteBytes = std::size_t{1} << 20;
// Frees memory that one huge record has enlarged.
constexpr std::size_t kKeptBytes = 2 * kWriteBytes;

class PlainEncoder final : public StreamEncoder {
 public:
  void add(ByteView bytes, std::vector<std::byte>& out) override { out.insert(out.end(), bytes.begin(), bytes.end()); }
  void finish(std::vector<std::byte>& /*out*/) override {}
};

class SnappyEncoder final : public StreamEncoder {
 public:
  void add(ByteView bytes, std::vector<std::byte>& out) override { encoder_.add(bytes, out); }
  void finish(std::vector<std::byte>& out) override { encoder_.finish(out); }

 private:
  format::TfrecordSnappyEncoder encoder_;
};

class DeflateEncoder final : public StreamEncoder {
 public:
  explicit DeflateEncoder(TfrecordCompression compression) {
    constexpr int kWindow = 15;
    constexpr int kGzipFraming = 16;  // added to the window, it asks zlib for gzip's header and trailer
    constexpr int kMemory = 8;
    const int window = compression == TfrecordCompression::gzip ? kWindow + kGzipFraming : kWindow;
    // With these arguments, only memory can be lacking.
    if (::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  DeflateEncoder(const DeflateEncoder&) = delete;
  DeflateEncoder& operator=(const DeflateEncoder&) = delete;
  ~DeflateEncoder() override { ::deflateEnd(&stream_); }

  void add(ByteView bytes, std::vector<std::byte>& out) override {
    while (!bytes.empty()) {
      const std::size_t part = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      // zlib takes a pointer to non-const, but does not write through it.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(part);
      while (stream_.avail_in != 0) run(Z_NO_FLUSH, out);
      bytes = bytes.subspan(part);
    }
  }
  void finish(std::vector<std::byte>& out) override {
    while (run(Z_FINISH, out) != Z_STREAM_END) {
    }
  }

 private:
  int run(int flush, std::vector<std::byte>& out) {
    constexpr std::size_t kStep = std::size_t{64} << 10;
    const std::size_t begin = out.size();
    out.resize(begin + kStep);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
    stream_.avail_out = static_cast<uInt>(kStep);
    const int status = ::deflate(&stream_, flush);
    out.resize(begin + kStep - stream_.avail_out);
    return status;
  }

  z_stream stream_{};
};

std::unique_ptr<StreamEncoder> make_encoder(TfrecordCompression compression) {
  switch (compression) {
    case TfrecordCompression::snappy:
      return std::make_unique<SnappyEncoder>();
    case TfrecordCompression::gzip:
    case TfrecordCompression::zlib:
      return std::make_unique<DeflateEncoder>(compression);
    case TfrecordCompression::none:
      break;
  }
  return std::make_unique<PlainEncoder>();
}

}  // namespace

Result<TfrecordOutput> TfrecordOutput::create(std::shared_ptr<const OutputFolder> folder, const std::string& name,
                                              TfrecordCompression compression) {
  if (compression > TfrecordCompression::snappy) {
    return Error(Errc::invalid_option, "compression: it must be none, gzip, zlib or snappy");
  }
  DOVETAIL_ASSIGN(auto file, OutputFile::create(std::move(folder), name));
  return TfrecordOutput(std::move(file), make_encoder(compression));
}

Result<void> TfrecordOutput::append(ByteView record) {
  std::array<std::byte, format::kTfrecordHeaderBytes> header;
  format::encode_tfrecord_header(record.size(), header);
  std::array<std::byte, format::kTfrecordFooterBytes> footer;
  format::encode_tfrecord_footer(record, footer);
  for (const ByteView part : {ByteView(header), record, ByteView(footer)}) encoder_->add(part, buffer_);
  return buffer_.size() >= kWriteBytes ? flush() : Result<void>();
}

Result<void> TfrecordOutput::flush() {
  Result<void> written = file_.write(buffer_);
  if (buffer_.capacity() > kKeptBytes) buffer_ = std::vector<std::byte>();
  buffer_.clear();
  return written;
}

Result<OutputFile> TfrecordOutput::finish() {
  encoder_->finish(buffer_);
  DOVETAIL_TRY(flush());
  DOVETAIL_TRY(file_.sync());
  return std::move(file_);
}

}  // namespace dovetail::detail
