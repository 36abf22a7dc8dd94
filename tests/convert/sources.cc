// SPDX-License-Identifier: Apache-2.0
#include "tests/convert/sources.h"

#include <archive.h>
#include <archive_entry.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "format/example/example_wire.h"
#include "format/tfrecord/tfrecord.h"

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

// With a checksum, as the program writes it and libarchive does not.
std::string zstd(std::string_view bytes) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(::ZSTD_createCCtx(), &::ZSTD_freeCCtx);
  ::ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(::ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t used = ::ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  if (::ZSTD_isError(used) != 0) throw std::runtime_error("cannot compress");
  out.resize(used);
  return out;
}

}  // namespace

std::string gzip(std::string_view bytes) {
  return deflate_with(bytes, 15 + 16);
}
std::string zlib(std::string_view bytes) {
  return deflate_with(bytes, 15);
}

std::string compress(std::string_view bytes, Compression compression) {
  if (compression == Compression::gzip) return gzip(bytes);
  if (compression == Compression::zstd) return zstd(bytes);
  const int filter = compression == Compression::bzip2 ? ARCHIVE_FILTER_BZIP2 : ARCHIVE_FILTER_XZ;
  std::string out(bytes.size() * 2 + 4096, '\0');
  std::size_t used = 0;
  archive* const packer = ::archive_write_new();
  archive_entry* const entry = ::archive_entry_new();
  ::archive_entry_set_filetype(entry, AE_IFREG);
  const bool good = ::archive_write_add_filter(packer, filter) == ARCHIVE_OK &&
                    ::archive_write_set_format_raw(packer) == ARCHIVE_OK &&
                    ::archive_write_set_bytes_in_last_block(packer, 1) == ARCHIVE_OK &&
                    ::archive_write_open_memory(packer, out.data(), out.size(), &used) == ARCHIVE_OK &&
                    ::archive_write_header(packer, entry) == ARCHIVE_OK &&
                    ::archive_write_data(packer, bytes.data(), bytes.size()) == static_cast<la_ssize_t>(bytes.size()) &&
                    ::archive_write_close(packer) == ARCHIVE_OK;
  ::archive_entry_free(entry);
  ::archive_write_free(packer);
  if (!good) throw std::runtime_error("cannot compress");
  out.resize(used);
  return out;
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

std::string tar_entry(const TarEntry& entry) {
  std::string header(512, '\0');
  const auto put = [&header](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  const auto octal = [](std::uint64_t value, std::size_t digits) {
    std::string text(digits, '0');
    for (std::size_t i = digits; i-- > 0; value >>= 3) text[i] = static_cast<char>('0' + (value & 7));
    return text;
  };
  const std::uint64_t size = entry.claimed == UINT64_MAX ? entry.bytes.size() : entry.claimed;
  put(0, entry.name.substr(0, 100));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  if (size >> 33 == 0) {
    put(124, octal(size, 11));
  } else {
    header[124] = '\x80';  // base 256, big-endian
    for (std::size_t i = 0; i < 8; ++i) header[135 - i] = static_cast<char>(size >> (8 * i) & 0xFF);
  }
  put(136, "00000000000");
  put(148, "        ");
  header[156] = entry.type;
  if (entry.type == '1' || entry.type == '2') put(157, "elsewhere");
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + std::string("\0 ", 2));
  std::string bytes = entry.bytes;
  bytes.resize((bytes.size() + 511) / 512 * 512);
  return header + bytes;
}

std::string tar_bytes(const std::vector<TarEntry>& entries) {
  std::string tar;
  for (const TarEntry& entry : entries) tar += tar_entry(entry);
  return tar + std::string(1024, '\0');
}

std::string example_text(std::string_view record) {
  format::ExampleFeatures features;
  if (const auto parsed = features.parse(as_bytes(record)); !parsed) return parsed.error().to_string();
  std::ostringstream out;
  for (const format::FeatureView& feature : features.all()) {
    out << (out.tellp() == 0 ? "" : " ") << feature.name << '=';
    format::FeatureValues values(feature);
    ByteView bytes;
    float real = 0;
    std::int64_t number = 0;
    const char* between = "";
    switch (feature.kind) {
      case format::FeatureKind::bytes:
        while (values.next(bytes)) out << '<' << as_chars(bytes) << '>';
        break;
      case format::FeatureKind::floats:
        out << '(';
        for (; values.next(real); between = " ") out << between << real;
        out << ')';
        break;
      case format::FeatureKind::ints:
        out << '[';
        for (; values.next(number); between = " ") out << between << number;
        out << ']';
        break;
      case format::FeatureKind::none:
        break;
    }
  }
  return out.str();
}

std::vector<std::string> example_texts(const Records& examples) {
  std::vector<std::string> texts;
  for (const std::string& example : examples) texts.push_back(example_text(example));
  return texts;
}

std::string idx(int type, const std::vector<std::uint32_t>& sizes, std::string_view elements) {
  std::string out{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 0xFF);
  }
  return out.append(elements);
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

std::vector<std::string> read_texts(const std::string& path, const SourceOptions& options) {
  return example_texts(read_source(path, options).value());
}

std::vector<std::uint64_t> parts_that_differ(const std::string& path, const SourceOptions& options) {
  const Records all = read_source(path, options).value();
  std::vector<std::uint64_t> wrong;
  for (const std::uint64_t parts : {1u, 2u, 3u, 7u, 50u}) {
    Records joined;
    for (std::uint64_t part = 0; part < parts; ++part) {
      RecordSource source = RecordSource::open(path, options).value();
      const std::uint64_t bytes = source.input_bytes();
      const std::uint64_t end = part + 1 == parts ? UINT64_MAX : (part + 1) * bytes / parts;
      source.skip_to(part * bytes / parts).value();
      while (const auto record = source.next().value()) {
        if (source.consumed_bytes() >= end) break;
        joined.emplace_back(as_chars(*record));
      }
    }
    if (joined != all) wrong.push_back(parts);
  }
  return wrong;
}

}  // namespace dovetail::test
