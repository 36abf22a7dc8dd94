// SPDX-License-Identifier: Apache-2.0
#include "convert/part_files.h"

#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>

#include "convert/record_split.h"
#include "format/layout.h"
#include "format/messages.h"
#include "format/staging_names.h"
#include "format/text/number_text.h"
#include "format/try.h"
#include "sources/bytes/source_file.h"
#include "writer/dataset_files.h"
#include "writer/output_file.h"

namespace dovetail::detail {

namespace {

constexpr std::uint64_t kMaxSpecBytes = std::uint64_t{64} << 20;

Error wrong_part(const std::string& path, const std::string& why) {
  return Error(Errc::bad_message, "not the manifest of a part: " + why).in_file(path);
}

Result<std::string> next_text(RecordReader& reader, const std::string& path) {
  DOVETAIL_ASSIGN(auto record, reader.next());
  if (!record) return wrong_part(path, "it ends early");
  return std::string(as_chars(*record));
}

Result<std::vector<ShardInfo>> read_shards(RecordReader& reader, const std::string& path) {
  DOVETAIL_ASSIGN(auto text, next_text(reader, path));
  const auto count = format::parse_number<std::uint32_t>(text);
  if (!count || *count > kMaxShards) return wrong_part(path, "'" + text + "' is not a number of shards");
  std::vector<ShardInfo> shards;
  while (shards.size() != *count) {
    DOVETAIL_ASSIGN(auto entry, next_text(reader, path));
    auto info = format::decode_shard_info(as_bytes(entry));
    if (!info) return info.error().in_file(path);
    // The name becomes a file name, so it must be valid.
    if (!shard_number_of(info->name)) return wrong_part(path, "'" + info->name + "' is not the name of a shard");
    shards.push_back(std::move(*info));
  }
  return shards;
}

// The names become names of folders. A single dataset needs none.
Result<void> check_outputs(const WholePart& part, const std::string& path) {
  if (part.shards.empty()) return wrong_part(path, "it has no dataset");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i != part.shards.size(); ++i) {
    const std::string& name = part.spec["split." + std::to_string(i)];
    if (name.empty() && part.shards.size() == 1) return {};
    if (!is_folder_name(name)) return wrong_part(path, "'" + name + "' cannot be the name of a folder");
    if (!names.insert(name).second) return wrong_part(path, "the split '" + name + "' occurs twice");
  }
  return {};
}

}  // namespace

std::uint32_t first_shard_of(std::uint32_t number, std::uint32_t parts, std::uint32_t shards) noexcept {
  return static_cast<std::uint32_t>(std::uint64_t{shards} * number / parts);
}

PartFiles::PartFiles(const ConvertPart& part)
    : prefix_(format::kPartPrefix + format::padded(part.number, 5) + "-of-" + format::padded(part.parts, 5)) {}

std::optional<ConvertPart> PartFiles::part_of(std::string_view name) {
  constexpr std::string_view kBetween = "-of-";
  constexpr std::string_view kPrefix = format::kPartPrefix;
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view numbers = name.substr(kPrefix.size(), name.find('.', kPrefix.size()) - kPrefix.size());
  const std::size_t between = numbers.find(kBetween);
  if (between == std::string_view::npos) return std::nullopt;
  const auto number = format::parse_number<std::uint32_t>(numbers.substr(0, between));
  const auto parts = format::parse_number<std::uint32_t>(numbers.substr(between + kBetween.size()));
  if (!number || !parts || *number >= *parts) return std::nullopt;
  const ConvertPart part{.number = *number, .parts = *parts};
  return PartFiles(part).has(name) ? std::optional(part) : std::nullopt;
}

bool PartFiles::has(std::string_view name) const {
  name = format::final_name(name);
  return name.starts_with(prefix_) && (name == lock() || name == conversion() || name == manifest());
}

Result<std::optional<ConversionSpec>> PartFiles::read_spec(const OutputFolder& folder) const {
  DOVETAIL_ASSIGN(auto there, folder.contains(conversion()));
  if (!there) return std::nullopt;
  const std::string path = folder.path_of(conversion());
  DOVETAIL_ASSIGN(auto file, SourceFile::open(path));
  if (file.size() > kMaxSpecBytes) return Error(Errc::bad_message, "not the description of a conversion").in_file(path);
  std::vector<std::byte> bytes(file.size());
  DOVETAIL_ASSIGN(auto read, file.read(bytes));
  auto spec = ConversionSpec::parse(as_chars(ByteView(bytes).first(read)));
  if (!spec) return spec.error().in_file(path);
  return std::move(*spec);
}

Result<void> PartFiles::write_spec(std::shared_ptr<const OutputFolder> folder, const ConversionSpec& spec) const {
  const std::string text = spec.to_text();
  if (text.size() > kMaxSpecBytes) {
    return Error(Errc::invalid_option, "sources: their names and the options take " + std::to_string(text.size()) +
                                           " bytes, but the limit is " + std::to_string(kMaxSpecBytes) +
                                           "; name folders, or convert in several calls")
        .in_file(folder->path_of(conversion()));
  }
  DOVETAIL_ASSIGN(auto file, OutputFile::create(std::move(folder), conversion()));
  DOVETAIL_TRY(file.write(as_bytes(text)));
  return file.commit(true);
}

Result<void> PartFiles::write(const OutputFolder& folder, const WholePart& part, Codec codec) const {
  // The names of the shards must be durable before the part states that they are finished.
  DOVETAIL_TRY(folder.sync());
  WriterOptions options;
  options.codec = codec;
  options.dataset_id = part.dataset_id;
  options.shard_number = format::kPartShardNumber;
  options.record_type = format::kPartRecordType;
  options.overwrite = true;
  DOVETAIL_ASSIGN(auto writer, RecordWriter::create(folder.path_of(manifest()), options));
  DOVETAIL_TRY(writer.append(as_bytes(part.spec.to_text())));
  for (const std::vector<ShardInfo>& shards : part.shards) {
    DOVETAIL_TRY(writer.append(as_bytes(std::to_string(shards.size()))));
    for (const ShardInfo& info : shards) {
      DOVETAIL_TRY(writer.append(as_bytes(format::encode(info))));
    }
  }
  auto finished = writer.finish();
  if (!finished) return finished.error();
  return {};
}

Result<std::optional<WholePart>> PartFiles::read(const OutputFolder& folder) const {
  DOVETAIL_ASSIGN(auto there, folder.contains(manifest()));
  if (!there) return std::nullopt;
  const std::string path = folder.path_of(manifest());
  DOVETAIL_ASSIGN(auto reader, RecordReader::open(path));
  if (reader.shard().record_type != format::kPartRecordType) return wrong_part(path, "its records are of another type");
  DOVETAIL_ASSIGN(auto text, next_text(reader, path));
  auto spec = ConversionSpec::parse(text);
  if (!spec) return spec.error().in_file(path);
  WholePart part{std::move(*spec), reader.shard().dataset_id, {}};
  while (reader.position() != reader.shard().info.records) {
    DOVETAIL_ASSIGN(auto shards, read_shards(reader, path));
    part.shards.push_back(std::move(shards));
  }
  DOVETAIL_TRY(check_outputs(part, path));
  return part;
}

Result<void> check_counts(const OutputFolder& folder, const std::vector<std::string>& names, const ConvertPart& part) {
  for (const std::string& name : names) {
    const auto other = PartFiles::part_of(name);
    if (!other || other->parts == part.parts) continue;
    return Error(Errc::state_mismatch, "the unfinished conversion here has " + std::to_string(other->parts) +
                                           " parts, but this one has " + std::to_string(part.parts) +
                                           "; finish that one, take another target, or remove this folder")
        .in_file(folder.path_of(name));
  }
  return {};
}

std::optional<std::uint32_t> shards_of(const ConversionSpec& spec) noexcept {
  const auto shards = format::parse_number<std::uint32_t>(spec["shards"]);
  return shards && *shards <= kMaxShards ? shards : std::nullopt;
}

std::vector<std::string> names_of_outputs(const ConversionSpec& spec) {
  std::vector<std::string> names;
  for (;;) {
    const std::string& name = spec["split." + std::to_string(names.size())];
    if (name.empty()) break;
    names.push_back(name);
  }
  if (names.empty()) names.emplace_back();
  return names;
}

}  // namespace dovetail::detail
