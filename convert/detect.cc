// SPDX-License-Identifier: Apache-2.0
#include "convert/detect.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convert/content.h"
#include "convert/decoder.h"
#include "convert/names.h"
#include "format/json_check.h"

namespace dovetail::detail {

namespace {

// What the beginning of a compressed file decodes to, as far as it does: what is wrong behind it is found when reading.
std::vector<std::byte> decode_head(ByteView head, Compression compression) {
  std::vector<std::byte> decoded(kHeadBytes);
  std::span<std::byte> space = decoded;
  auto decoder = make_decoder(compression);
  if (!decoder) return {};
  (void)(*decoder)->run(head, space);
  decoded.resize(decoded.size() - space.size());
  return decoded;
}

// Names are asked only where every text would do.
std::optional<SourceFormat> recognise_text(ByteView head, const std::string& path) {
  if (head.empty() || !is_text(head)) return std::nullopt;
  if (format::begins_with_json_object(as_chars(head))) return SourceFormat::jsonl;
  return format_of_name(path) == SourceFormat::csv ? SourceFormat::csv : SourceFormat::lines;
}

// `file_bytes` is 0 where `head` was decoded.
std::optional<SourceFormat> recognise_plain(ByteView head, std::uint64_t file_bytes, const std::string& path) {
  if (begins_with_tar(head)) return SourceFormat::tar;
  if (begins_with_idx(head, file_bytes)) return SourceFormat::idx;
  if (file_bytes != 0 && begins_with_recordio(head)) return SourceFormat::recordio;
  return recognise_text(head, path);
}

std::optional<FileKind> recognise(ByteView head, const SourceFile& file) {
  const Compression compression = compression_of_tfrecord(head, file.size());
  if (compression == Compression::none) {
    if (begins_with_tfrecord(head)) return FileKind{SourceFormat::tfrecord, compression};
  } else {
    const std::vector<std::byte> decoded = decode_head(head, compression);
    if (compression == Compression::snappy || begins_with_tfrecord(decoded)) {
      return FileKind{SourceFormat::tfrecord, compression};
    }
    if (compression == Compression::gzip) {
      const auto format = recognise_plain(decoded, 0, file.path());
      if (!format) return std::nullopt;
      return FileKind{*format, compression};
    }
  }
  // Text, too, may begin with two bytes that zlib could begin with.
  const auto format = recognise_plain(head, file.size(), file.path());
  if (!format) return std::nullopt;
  return FileKind{*format, Compression::none};
}

// For names of formats that such a file cannot be read as, whatever is said.
std::optional<std::string> advice_on_name(SourceFormat promised, const std::string& path) {
  if (promised == SourceFormat::mds) {
    return "the columns of MDS shards are in index.json: give the folder that holds it";
  }
  if (promised != SourceFormat::dovetail) return std::nullopt;
  return "this is no Dovetail shard, or one whose beginning is damaged: `dovetail recover " + path +
         " TARGET` saves what is left of one";
}

// Where its name promises something else, one of the two is wrong, and whichever were taken nobody would notice.
Error disagreement(SourceFormat promised, SourceFormat found, const std::string& path) {
  const std::string name(to_string(promised));
  const std::string bytes(to_string(found));
  if (auto alone = advice_on_name(promised, path)) {
    return Error(Errc::unknown_format, "its name promises " + name + ", and its bytes are those of " + bytes + "; " +
                                           *alone + ", or say --from " + bytes)
        .in_file(path);
  }
  const std::string why =
      promised == SourceFormat::jsonl && found == SourceFormat::lines
          ? "its first line is no JSON object, of which JSON lines have one on each line (`jq -c .` "
            "makes that of other JSON, `jq -c '.[]'` of an array)"
          : "its bytes are those of " + bytes;
  return Error(Errc::unknown_format, "its name promises " + name + ", and " + why + "; say --from " + name +
                                         " to read it as that all the same, or --from " + bytes)
      .in_file(path);
}

bool may_be_gzip(SourceFormat format) {
  return format != SourceFormat::recordio && format != SourceFormat::mds;
}

}  // namespace

Result<FileKind> detect_bytes(const SourceFile& file) {
  std::vector<std::byte> bytes(kHeadBytes);
  const auto read = file.peek(bytes);
  if (!read) return read.error();
  const ByteView head = ByteView(bytes).first(*read);
  if (has_shard_magic(head)) return FileKind{SourceFormat::dovetail, Compression::none};
  if (head.empty()) {
    return Error(Errc::unknown_format, "the file is empty; say --from tfrecord or lines where it may be")
        .in_file(file.path());
  }
  if (const std::optional<FileKind> kind = recognise(head, file)) return *kind;
  const auto advice = advice_on_name(format_promised_by(file.path()), file.path());
  return Error(Errc::unknown_format, "its bytes are those of no known format; " + advice.value_or(format_advice()))
      .in_file(file.path());
}

Result<FileKind> detect_file(const SourceFile& file, SourceFormat wanted) {
  if (wanted == SourceFormat::detect) {
    auto kind = detect_bytes(file);
    if (!kind || kind->format == SourceFormat::dovetail) return kind;
    const SourceFormat promised = format_promised_by(file.path());
    if (promised == SourceFormat::detect || promised == kind->format) return kind;
    return disagreement(promised, kind->format, file.path());
  }
  std::vector<std::byte> bytes(kHeadBytes);
  const auto read = file.peek(bytes);
  if (!read) return read.error();
  const ByteView head = ByteView(bytes).first(*read);
  if (has_shard_magic(head)) {
    if (wanted == SourceFormat::dovetail) return FileKind{wanted, Compression::none};
    return Error(Errc::unknown_format, "this is a Dovetail shard: it is packed already").in_file(file.path());
  }
  if (wanted == SourceFormat::tfrecord) return FileKind{wanted, compression_of_tfrecord(head, file.size())};
  const bool gzip = may_be_gzip(wanted) && has_gzip_magic(head);
  return FileKind{wanted, gzip ? Compression::gzip : Compression::none};
}

const char* format_advice() noexcept {
  return "say which with --from tfrecord, tar, jsonl, csv, lines, mds, recordio, idx, dovetail or folder";
}

}  // namespace dovetail::detail
