// SPDX-License-Identifier: Apache-2.0
#include "sources/detect.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "format/layout.h"
#include "format/text/json_check.h"
#include "format/text/shell_quoted.h"
#include "format/text/utf8.h"
#include "format/tfrecord/tfrecord_name.h"
#include "format/try.h"
#include "format/words/convert_words.h"
#include "sources/bytes/byte_stream.h"
#include "sources/bytes/decoder.h"
#include "sources/bytes/names.h"
#include "sources/content.h"
#include "sources/foreign_formats.h"

namespace dovetail::detail {

namespace {

/// The beginning of a file, decoded if it is compressed.
struct Head {
  std::vector<std::byte> bytes;
  bool whole = false;  // the file ends here
  bool cut = false;    // the whole file was decoded, and ends early
};

// Decodes the beginning of a compressed file as far as possible. Reading finds later errors. Reads
// many bytes, because the first decoded byte may need a whole block of bzip2.
Head decode_head(const SourceFile& file, Compression compression) {
  Head head;
  head.bytes.resize(kHeadBytes);
  std::vector<std::byte> stored(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), kReadBytes)));
  std::span<std::byte> space = head.bytes;
  const auto read = file.peek(stored);
  auto decoder = make_decoder(compression);
  if (read && decoder) {
    ByteView in = ByteView(stored).first(*read);
    const bool good = (*decoder)->run(in, space).has_value();
    const bool all = good && *read == file.size() && in.empty();
    head.whole = all && (*decoder)->at_end();
    head.cut = all && !head.whole && !space.empty();
  }
  head.bytes.resize(head.bytes.size() - space.size());
  return head;
}

// Looks at the name only if the bytes are text of any kind.
std::optional<SourceFormat> recognise_text(ByteView head, const std::string& path) {
  if (head.empty() || !is_text(head)) return std::nullopt;
  if (format::begins_with_json_object(format::without_byte_order_mark(as_chars(head)))) return SourceFormat::jsonl;
  return format_of_name(path) == SourceFormat::csv ? SourceFormat::csv : SourceFormat::lines;
}

// `file_bytes` is 0 if `head` was decoded.
std::optional<SourceFormat> recognise_plain(ByteView head, std::uint64_t file_bytes, const std::string& path) {
  if (begins_with_tar(head)) return SourceFormat::tar;
  if (begins_with_idx(head, file_bytes)) return SourceFormat::idx;
  if (begins_with_recordio(head)) return SourceFormat::recordio;
  return recognise_text(head, path);
}

// Advice for names of formats that such a file can never be read as.
std::optional<std::string> advice_on_name(SourceFormat promised, const std::string& path) {
  if (promised == SourceFormat::mds) {
    return "the columns of MDS shards are in index.json; give the folder that holds it";
  }
  if (promised != SourceFormat::dovetail) return std::nullopt;
  return "this is not a Dovetail shard, or its beginning is damaged; `dovetail recover " + format::shell_path(path) +
         " TARGET` saves the intact records of a shard";
}

// Why the beginning of a text is not JSON lines.
std::string why_not_json_lines(ByteView head) {
  const std::string_view text = format::without_byte_order_mark(as_chars(head));
  const std::string_view line = text.substr(0, text.find('\n'));
  const auto fault = format::check_json(line);
  // An object of several lines only lacks its end.
  if (line.starts_with('{') && fault && fault->offset < line.size()) {
    return "its first line is not JSON: byte " + std::to_string(fault->offset) + ": " + fault->reason;
  }
  return "its first line is not a JSON object; JSON lines have one object per line (`jq -c .` converts other JSON, "
         "`jq -c '.[]'` an array)";
}

// If name and content disagree, one of them is wrong. Choosing one would hide the mistake.
Error disagreement(SourceFormat promised, SourceFormat found, ByteView head, const std::string& path) {
  const std::string name(to_string(promised));
  const std::string bytes(to_string(found));
  if (auto alone = advice_on_name(promised, path)) {
    return Error(Errc::unknown_format, "its name is that of " + name + ", but its bytes are those of " + bytes + "; " +
                                           *alone + ", or give --from " + bytes)
        .in_file(path);
  }
  const std::string why = promised == SourceFormat::jsonl && found == SourceFormat::lines
                              ? why_not_json_lines(head)
                              : "its bytes are those of " + bytes;
  return Error(Errc::unknown_format, "its name is that of " + name + ", but " + why + "; give --from " + name +
                                         " to read it as that anyway, or --from " + bytes)
      .in_file(path);
}

std::string format_advice() {
  std::string advice = "give the format with --from ";
  for (const auto& [word, format] : format::kSourceFormatWords) {
    if (format == SourceFormat::detect) continue;
    if (!advice.ends_with(' ')) advice += format == format::kSourceFormatWords.back().second ? " or " : ", ";
    advice += word;
  }
  return advice;
}

// The error for a file whose beginning matches no known format.
Error unknown(const Head& head, const std::string& path) {
  if (head.whole && head.bytes.empty()) {
    return Error(Errc::unknown_format, "the file is empty; give --from tfrecord or lines if that is intended")
        .in_file(path);
  }
  if (has_shard_magic(head.bytes)) {
    return Error(Errc::unknown_format, "this is a Dovetail shard that was compressed as a whole; decompress it first")
        .in_file(path);
  }
  if (auto foreign = advice_on_foreign_bytes(head.bytes)) return Error(Errc::unknown_format, *foreign).in_file(path);
  const SourceFormat promised = format_promised_by(path);
  if (promised == SourceFormat::tfrecord) {
    return Error(
               Errc::malformed_input,
               "its name is that of a TFRecord, but it does not begin like one: its first bytes are cut or damaged; if "
               "it has another format, give that with --from")
        .at(path, 0);
  }
  const auto advice = advice_on_name(promised, path);
  return Error(Errc::unknown_format, "its format is not known; " + advice.value_or(format_advice())).in_file(path);
}

Error overwritten_tfrecord(const std::string& path) {
  return Error(Errc::malformed_input,
               "its name or the index beside it is that of a TFRecord, but it is a shard, a manifest or an index of "
               "Dovetail; put the TFRecord back, or give this file another name")
      .in_file(path);
}

// An emptied file would pass for one without records, and a damaged beginning for text.
Result<void> check_promised_compression(ByteView head, const SourceFile& file, SourceFormat wanted) {
  const Compression promised = compression_promised_by(file.path());
  if (promised == Compression::none || has_shard_magic(head)) return {};
  // TFRecords are exempt: they have checksums of their own, and TensorFlow writes zlib under any
  // name.
  const bool tfrecord = wanted == SourceFormat::tfrecord || format::has_tfrecord_name(file.path());
  const Compression found = tfrecord ? compression_of_tfrecord(head, file.size()) : compression_of_magic(head);
  if (found != Compression::none || begins_with_tfrecord(head)) return {};
  const std::string word(to_string(promised));
  if (head.empty()) {
    return Error(Errc::truncated, "the file is empty, but its name is that of " + word + "; fetch or write it again")
        .in_file(file.path());
  }
  return Error(Errc::malformed_input, "its name is that of " + word +
                                          ", but it does not begin like that: it is cut or damaged; if it was never "
                                          "compressed, rename it")
      .at(file.path(), 0);
}

Result<FileKind> recognise(ByteView plain, const SourceFile& file) {
  if (has_shard_magic(plain)) return FileKind{SourceFormat::dovetail, Compression::none};
  const Compression compression = compression_of_tfrecord(plain, file.size());
  if (compression == Compression::snappy) return FileKind{SourceFormat::tfrecord, compression};
  const Head stored{.bytes = {plain.begin(), plain.end()}, .whole = plain.size() == file.size()};
  const Head head = compression == Compression::none ? stored : decode_head(file, compression);
  if (begins_with_tfrecord(head.bytes)) return FileKind{SourceFormat::tfrecord, compression};
  // Text may also begin with two bytes that are valid in zlib.
  const bool decoded = compression != Compression::none && compression != Compression::zlib;
  const auto format = recognise_plain(decoded ? head.bytes : plain, decoded ? 0 : file.size(), file.path());
  const SourceFormat promised = format_promised_by(file.path());
  if (decoded && head.cut && (!format || (promised != SourceFormat::detect && promised != *format))) {
    return Error(Errc::truncated, "the " + std::string(to_string(compression)) + " file ends early")
        .at(file.path(), file.size());
  }
  if (format) return FileKind{*format, decoded ? compression : Compression::none};
  return unknown(decoded ? head : stored, file.path());
}

Result<std::vector<std::byte>> read_head(const SourceFile& file) {
  std::vector<std::byte> bytes(kHeadBytes);
  DOVETAIL_ASSIGN(const auto read, file.peek(bytes));
  bytes.resize(read);
  return bytes;
}

}  // namespace

bool has_index(const std::string& path) {
  // A dangling link counts, as it does when a dataset is opened.
  std::error_code absent;
  return std::filesystem::symlink_status(path + format::kTfrecordIndexSuffix, absent).type() !=
         std::filesystem::file_type::not_found;
}

bool is_known_as_tfrecord(const std::string& path) {
  return format::has_tfrecord_name(path) || has_index(path);
}

Result<FileKind> detect_bytes(const SourceFile& file) {
  DOVETAIL_ASSIGN(auto head, read_head(file));
  return recognise(head, file);
}

Result<FileKind> detect_file(const SourceFile& file, SourceFormat wanted) {
  if (wanted == SourceFormat::detect && has_index(file.path())) wanted = SourceFormat::tfrecord;
  DOVETAIL_ASSIGN(const auto bytes, read_head(file));
  const ByteView head(bytes);
  DOVETAIL_TRY(check_promised_compression(head, file, wanted));
  if (wanted == SourceFormat::detect) {
    auto kind = recognise(head, file);
    if (!kind || kind->format == SourceFormat::dovetail) return kind;
    const SourceFormat promised = format_promised_by(file.path());
    if (promised == SourceFormat::detect || promised == kind->format) return kind;
    const bool plain = kind->compression == Compression::none;
    return disagreement(promised, kind->format, plain ? bytes : decode_head(file, kind->compression).bytes,
                        file.path());
  }
  if (has_shard_magic(head)) {
    if (wanted == SourceFormat::dovetail) return FileKind{wanted, Compression::none};
    if (wanted == SourceFormat::tfrecord && is_known_as_tfrecord(file.path())) return overwritten_tfrecord(file.path());
    return Error(Errc::unknown_format, "this is a Dovetail shard, so it is already packed").in_file(file.path());
  }
  if (wanted == SourceFormat::tfrecord) return FileKind{wanted, compression_of_tfrecord(head, file.size())};
  return FileKind{wanted, wanted == SourceFormat::mds ? Compression::none : compression_of_magic(head)};
}

}  // namespace dovetail::detail
