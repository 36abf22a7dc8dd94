// SPDX-License-Identifier: Apache-2.0
#include "tests/convert/sources.h"

#include <snappy.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "format/tfrecord.h"

namespace dovetail::test {

namespace {

std::string deflate_with(std::string_view bytes, int window) {
  z_stream stream{};
  if (::deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string out(::deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("cannot compress");
  return out;
}

}  // namespace

std::string tfrecord_bytes(const Records& records) {
  std::string out;
  for (const std::string& record : records) {
    std::array<std::byte, format::kTfrecordHeaderBytes> header;
    format::encode_tfrecord_header(record.size(), header);
    std::array<std::byte, format::kTfrecordFooterBytes> footer;
    format::encode_tfrecord_footer(as_bytes(record), footer);
    out.append(as_chars(header)).append(record).append(as_chars(footer));
  }
  return out;
}

std::string gzip(std::string_view bytes) {
  return deflate_with(bytes, 15 + 16);
}
std::string zlib(std::string_view bytes) {
  return deflate_with(bytes, 15);
}

std::string inflate(std::string_view bytes) {
  z_stream stream{};
  if (::inflateInit2(&stream, 15 + 32) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int status = Z_OK;
  while (status == Z_OK) {
    std::array<char, 65536> piece;
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = ::inflate(&stream, Z_NO_FLUSH);
    out.append(piece.data(), piece.size() - stream.avail_out);
  }
  const bool whole = status == Z_STREAM_END && stream.avail_in == 0;
  ::inflateEnd(&stream);
  if (!whole) throw std::runtime_error("not one compressed stream");
  return out;
}

std::string snappy_blocks(std::string_view bytes, std::size_t block_bytes) {
  std::string out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(block_bytes, bytes.size()))) {
    const std::string_view raw = bytes.substr(0, block_bytes);
    std::string stored;
    ::snappy::Compress(raw.data(), raw.size(), &stored);
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(stored.size() >> shift & 0xFF);
    out += stored;
  }
  return out;
}

Result<Records> read_source(RecordSource source) {
  Records records;
  for (;;) {
    auto record = source.next();
    if (!record) return record.error();
    if (!*record) return records;
    records.emplace_back(as_chars(**record));
  }
}

Result<Records> read_source(const std::string& path, const SourceOptions& options) {
  auto source = RecordSource::open(path, options);
  if (!source) return source.error();
  return read_source(std::move(*source));
}

}  // namespace dovetail::test
