// SPDX-License-Identifier: Apache-2.0
#include "sources/foreign_formats.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "format/address.h"
#include "format/endian.h"
#include "format/text/lower_case.h"

namespace dovetail::detail {

namespace {

using namespace std::string_view_literals;

struct ForeignFormat {
  std::string_view magic;
  std::string_view name;
  std::string_view recipe;
};

constexpr std::string_view kFromParquet =
    "write it as JSON lines first: python3 -c \"import pandas; pandas.read_parquet('FILE').to_json('FILE.jsonl', "
    "orient='records', lines=True)\"";
constexpr std::string_view kFromFeather =
    "write it as JSON lines first: python3 -c \"import pandas; pandas.read_feather('FILE').to_json('FILE.jsonl', "
    "orient='records', lines=True)\"";
constexpr std::string_view kFromArrowStream =
    "write it as JSON lines first: python3 -c \"import pyarrow; "
    "pyarrow.ipc.open_stream(pyarrow.memory_map('FILE')).read_pandas()"
    ".to_json('FILE.jsonl', orient='records', lines=True)\"";
constexpr std::string_view kFromArray =
    "a record of each row: python3 -c \"import dovetail, numpy; w = dovetail.DatasetWriter('DIR'); "
    "w.extend(numpy.load('FILE', mmap_mode='r')); w.finish()\"";
constexpr std::string_view kFromArrays =
    "an Example of the rows of its arrays: python3 -c \"import dovetail, numpy; a = dict(numpy.load('FILE')); "
    "w = dovetail.DatasetWriter('DIR', record_type='example'); "
    "w.extend(dovetail.example(**dict(zip(a, r))) for r in zip(*a.values())); w.finish()\"";
constexpr std::string_view kFromHdf5 =
    "an Example of the rows of its datasets: python3 -c \"import dovetail, h5py; a = h5py.File('FILE'); "
    "w = dovetail.DatasetWriter('DIR', record_type='example'); "
    "w.extend(dovetail.example(**dict(zip(a, r))) for r in zip(*a.values())); w.finish()\"";
constexpr std::string_view kFromZip = "unpack it and give the folder: unzip FILE -d FOLDER";

constexpr std::array kFormats = {
    ForeignFormat{"PAR1"sv, "a Parquet file", kFromParquet},
    ForeignFormat{"ARROW1"sv, "an Arrow or Feather file", kFromFeather},
    ForeignFormat{"FEA1"sv, "a Feather file", kFromFeather},
    ForeignFormat{"\x93NUMPY"sv, "a NumPy array (.npy)", kFromArray},
    ForeignFormat{"\x89HDF\r\n\x1A\n"sv, "an HDF5 file", kFromHdf5},
    ForeignFormat{"\x04\x22\x4D\x18"sv, "a file compressed with lz4",
                  "decompress it as it is read: lz4 -dc FILE | dovetail convert - --from jsonl --to DIR"},
};

constexpr std::string_view kImageSources = "give the folder that holds the images, or a tar of them (WebDataset)";

// A source of images has many of them.
std::string_view name_of_image(std::string_view text) {
  constexpr std::array kImages = {std::pair{"\xFF\xD8\xFF"sv, "JPEG"sv}, std::pair{"\x89PNG\r\n\x1A\n"sv, "PNG"sv},
                                  std::pair{"GIF8"sv, "GIF"sv}, std::pair{"II*\0"sv, "TIFF"sv},
                                  std::pair{"MM\0*"sv, "TIFF"sv}};
  if (text.starts_with("RIFF"sv) && text.substr(0, 12).ends_with("WEBP"sv)) return "WebP"sv;
  for (const auto& [magic, name] : kImages) {
    if (text.starts_with(magic)) return name;
  }
  return {};
}

std::string advice_on(const ForeignFormat& format) {
  return "this is " + std::string(format.name) + ", which is not supported; " + std::string(format.recipe) +
         "; see docs/sources.md";
}

// An Arrow stream, as Hugging Face's datasets have it, has no magic. It begins with a mark, then
// the length of its first message, which is small and a multiple of 8, then a FlatBuffers table.
bool is_arrow_stream(ByteView head) {
  constexpr std::size_t kPrefix = 12;
  constexpr std::uint32_t kMark = 0xFFFFFFFF;
  constexpr std::uint32_t kMaxSchemaBytes = 1u << 24;
  if (head.size() < kPrefix || format::load_le<std::uint32_t>(head.data()) != kMark) return false;
  const auto bytes = format::load_le<std::uint32_t>(head.data() + 4);
  const auto table = format::load_le<std::uint32_t>(head.data() + 8);
  return bytes != 0 && bytes % 8 == 0 && bytes < kMaxSchemaBytes && table % 4 == 0 && table < bytes;
}

// A byte order mark of UTF-16. In UTF-32 and in binary data zeros often follow it.
bool is_utf16(std::string_view text) {
  constexpr std::size_t kLeast = 4;
  if (text.size() < kLeast || !(text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv))) return false;
  return text.substr(2, 2) != "\0\0"sv;
}

// The first member of an archive written by NumPy is an array.
ForeignFormat zip_of(std::string_view text) {
  constexpr std::size_t kNameLengthAt = 26;
  constexpr std::size_t kNameAt = 30;
  constexpr std::string_view kArray = ".npy";
  if (text.size() > kNameAt) {
    const std::size_t length = format::load_le<std::uint16_t>(as_bytes(text).data() + kNameLengthAt);
    if (text.substr(kNameAt, length).ends_with(kArray)) return {{}, "a NumPy archive (.npz)", kFromArrays};
  }
  return {{}, "a zip archive", kFromZip};
}

}  // namespace

std::optional<std::string> advice_on_foreign_bytes(ByteView head) {
  const std::string_view text = as_chars(head);
  if (text.starts_with("PK\3\4"sv) || text.starts_with("PK\5\6"sv)) return advice_on(zip_of(text));
  if (is_arrow_stream(head)) return advice_on({{}, "a stream of Arrow", kFromArrowStream});
  if (is_utf16(text))
    return advice_on({{}, "a text in UTF-16", "write it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW"});
  const auto* const found = std::find_if(kFormats.begin(), kFormats.end(),
                                         [&](const auto& format) { return text.starts_with(format.magic); });
  if (found != kFormats.end()) return advice_on(*found);
  const std::string_view image = name_of_image(text);
  if (image.empty()) return std::nullopt;
  return "this is a " + std::string(image) + " image; " + std::string(kImageSources);
}

std::optional<std::string> advice_on_address(std::string_view path) {
  if (!format::is_address(path)) return std::nullopt;
  const std::string scheme = format::lower_case(path.substr(0, path.find(':')));
  struct Client {
    std::string_view scheme;
    std::string_view command;
  };
  constexpr std::array kClients = {Client{"s3", "aws s3 cp URL -"}, Client{"gs", "gcloud storage cat URL"},
                                   Client{"https", "curl -fsSL URL"}, Client{"http", "curl -fsSL URL"}};
  const auto* const client =
      std::find_if(kClients.begin(), kClients.end(), [&](const Client& each) { return each.scheme == scheme; });
  const std::string advice = "this is a remote address, but only local files are read; ";
  if (client == kClients.end()) return advice + "copy it here first";
  return advice + "copy it here first, or read it as a stream: " + std::string(client->command) +
         " | dovetail convert - --to DIR";
}

bool has_table_name(std::string_view path) {
  const std::string name = format::lower_case(path);
  return name.ends_with(".parquet") || name.ends_with(".arrow") || name.ends_with(".feather");
}

}  // namespace dovetail::detail
