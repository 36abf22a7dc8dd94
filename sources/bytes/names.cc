// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "format/layout.h"
#include "format/text/lower_case.h"
#include "format/tfrecord/tfrecord_name.h"

namespace dovetail::detail {

namespace {

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Lower case, because Windows and old cameras write capitals.
std::string lower_name(std::string_view path) {
  return format::lower_case(base_name(path));
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool cut_suffix(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return true;
}

constexpr std::array<std::string_view, 4> kCompressions = {".gz", ".zst", ".bz2", ".xz"};

void cut_compression(std::string_view& name) {
  for (const std::string_view suffix : kCompressions) {
    if (cut_suffix(name, suffix)) return;
  }
}

// `-idx3-ubyte`, or `.idx3-ubyte`.
bool has_idx_name(std::string_view name) {
  if (!cut_suffix(name, "-ubyte") || name.empty() || !is_digit(name.back())) return false;
  name.remove_suffix(1);
  return name.ends_with("-idx") || name.ends_with(".idx");
}

}  // namespace

SourceFormat format_of_name(std::string_view path) {
  using Ending = std::pair<std::string_view, SourceFormat>;
  // These endings may be followed by one of any compression.
  constexpr std::array kPacked = {
      Ending{".tar", SourceFormat::tar},      Ending{".csv", SourceFormat::csv},
      Ending{".tsv", SourceFormat::csv},      Ending{".jsonl", SourceFormat::jsonl},
      Ending{".ndjson", SourceFormat::jsonl}, Ending{format::kShardSuffix, SourceFormat::dovetail},
  };
  constexpr std::array kWhole = {
      Ending{".tgz", SourceFormat::tar},        Ending{".tbz2", SourceFormat::tar},
      Ending{".txz", SourceFormat::tar},        Ending{".tzst", SourceFormat::tar},
      Ending{".mds", SourceFormat::mds},        Ending{".mds.br", SourceFormat::mds},
      Ending{".mds.bz2", SourceFormat::mds},    Ending{".mds.gz", SourceFormat::mds},
      Ending{".mds.snappy", SourceFormat::mds}, Ending{".mds.zstd", SourceFormat::mds},
  };
  if (format::has_tfrecord_name(path)) return SourceFormat::tfrecord;
  const std::string lower = lower_name(path);
  std::string_view unpacked = lower;
  cut_compression(unpacked);
  const auto format_in = [](const auto& endings, std::string_view name) {
    const auto found = std::find_if(endings.begin(), endings.end(),
                                    [&](const Ending& ending) { return name.ends_with(ending.first); });
    return found == endings.end() ? std::optional<SourceFormat>() : found->second;
  };
  if (const auto format = format_in(kWhole, lower)) return *format;
  if (const auto format = format_in(kPacked, unpacked)) return *format;
  // For these formats, related files are found by exact names, so the case must match.
  std::string_view exact = base_name(path);
  cut_compression(exact);
  if (exact.ends_with(".rec")) return SourceFormat::recordio;
  return has_idx_name(exact) ? SourceFormat::idx : SourceFormat::detect;
}

SourceFormat format_promised_by(std::string_view path) {
  const SourceFormat format = format_of_name(path);
  const std::string lower = lower_name(path);
  std::string_view name = lower;
  if (format == SourceFormat::tfrecord) {
    return name.find(".tfrecord") == std::string_view::npos ? SourceFormat::detect : format;
  }
  cut_compression(name);
  return format == SourceFormat::detect && name.ends_with(".json") ? SourceFormat::jsonl : format;
}

std::string_view without_compression(std::string_view path) {
  cut_compression(path);
  return path;
}

Compression compression_promised_by(std::string_view path) {
  using Ending = std::pair<std::string_view, Compression>;
  constexpr std::array kAny = {
      Ending{".gz", Compression::gzip},   Ending{".tgz", Compression::gzip},  Ending{".zst", Compression::zstd},
      Ending{".tzst", Compression::zstd}, Ending{".bz2", Compression::bzip2}, Ending{".tbz2", Compression::bzip2},
      Ending{".xz", Compression::xz},     Ending{".txz", Compression::xz},
  };
  constexpr std::array kOfTfrecords = {Ending{".gzip", Compression::gzip}, Ending{".zlib", Compression::zlib},
                                       Ending{".zz", Compression::zlib}};
  const std::string name = lower_name(path);
  const auto ends = [&name](const Ending& ending) { return name.ends_with(ending.first); };
  if (const auto* found = std::find_if(kAny.begin(), kAny.end(), ends); found != kAny.end()) return found->second;
  if (!format::has_tfrecord_name(path)) return Compression::none;
  const auto* const found = std::find_if(kOfTfrecords.begin(), kOfTfrecords.end(), ends);
  return found == kOfTfrecords.end() ? Compression::none : found->second;
}

bool is_sidecar(std::string_view path, SourceFormat of) {
  if (of == SourceFormat::recordio) return path.ends_with(".idx") || path.ends_with(".lst");
  return of == SourceFormat::tfrecord && (path.ends_with(format::kTfrecordIndexSuffix) || path.ends_with(".idx"));
}

std::vector<std::string> labels_of_images(const std::string& path) {
  constexpr std::string_view kImages = "images";
  std::string_view name = path;
  cut_compression(name);
  if (!has_idx_name(name)) return {};
  std::string stem(name.substr(0, name.size() - std::string_view("-idx0-ubyte").size()));
  const char separator = name[stem.size()];
  if (!stem.ends_with(kImages)) return {};
  stem.replace(stem.size() - kImages.size(), kImages.size(), "labels");
  const std::string labels = stem + separator + "idx1-ubyte";
  std::vector<std::string> names = {labels};
  for (const std::string_view suffix : kCompressions) names.push_back(labels + std::string(suffix));
  return names;
}

bool has_tsv_name(std::string_view path) {
  const std::string lower = lower_name(path);
  std::string_view name = lower;
  cut_compression(name);
  return name.ends_with(".tsv");
}

}  // namespace dovetail::detail
