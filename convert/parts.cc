// SPDX-License-Identifier: Apache-2.0
#include "convert/parts.h"

#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>

#include "convert/record_split.h"
#include "format/layout.h"
#include "format/messages.h"
#include "writer/dataset_files.h"

namespace dovetail::detail {

namespace {

Error wrong_part(const std::string& path, const std::string& why) {
  return Error(Errc::bad_message, "not the manifest of a part: " + why).in_file(path);
}

Result<std::string> next_text(RecordReader& reader, const std::string& path) {
  auto record = reader.next();
  if (!record) return record.error();
  if (!*record) return wrong_part(path, "it ends early");
  return std::string(as_chars(**record));
}

Result<std::vector<ShardInfo>> read_shards(RecordReader& reader, const std::string& path) {
  auto text = next_text(reader, path);
  if (!text) return text.error();
  std::uint32_t count = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), count);
  if (parsed.ec != std::errc() || parsed.ptr != text->data() + text->size() || count > kMaxShards) {
    return wrong_part(path, "'" + *text + "' is not a number of shards");
  }
  std::vector<ShardInfo> shards;
  for (; count != 0; --count) {
    auto entry = next_text(reader, path);
    if (!entry) return entry.error();
    auto info = format::decode_shard_info(as_bytes(*entry));
    if (!info) return info.error().in_file(path);
    // The name becomes that of a file.
    if (!shard_number_of(info->name)) return wrong_part(path, "'" + info->name + "' is not the name of a shard");
    shards.push_back(std::move(*info));
  }
  return shards;
}

// The names become those of folders below the target, or the target itself where there is one dataset without a name.
Result<void> check_outputs(const WholePart& part, const std::string& path) {
  if (part.shards.empty()) return wrong_part(path, "it has no dataset");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i != part.shards.size(); ++i) {
    const std::string& name = part.facts["split." + std::to_string(i)];
    if (name.empty() && part.shards.size() == 1) return {};
    if (!is_folder_name(name)) return wrong_part(path, "'" + name + "' cannot be the name of a folder");
    if (!names.insert(name).second) return wrong_part(path, "the split '" + name + "' is there twice");
  }
  return {};
}

}  // namespace

std::uint32_t first_shard_of(std::uint32_t number, std::uint32_t parts, std::uint32_t shards) noexcept {
  return static_cast<std::uint32_t>(std::uint64_t{shards} * number / parts);
}

Result<void> write_part(const WorkFolder& work, const WholePart& part, Codec codec) {
  // The names of the shards must be there to stay before the part says that they are.
  if (auto synced = work.folder()->sync(); !synced) return synced;
  WriterOptions options;
  options.codec = codec;
  options.dataset_id = part.dataset_id;
  options.shard_number = format::kPartShardNumber;
  options.record_type = format::kPartRecordType;
  options.overwrite = true;
  auto writer = RecordWriter::create(work.folder()->path_of(part_manifest_name(work.part())), options);
  if (!writer) return writer.error();
  if (auto added = writer->append(as_bytes(part.facts.to_text())); !added) return added;
  for (const std::vector<ShardInfo>& shards : part.shards) {
    if (auto added = writer->append(as_bytes(std::to_string(shards.size()))); !added) return added;
    for (const ShardInfo& info : shards) {
      if (auto added = writer->append(as_bytes(format::encode(info))); !added) return added;
    }
  }
  auto finished = writer->finish();
  if (!finished) return finished.error();
  return {};
}

Result<std::optional<WholePart>> read_part(const WorkFolder& work) {
  const std::string name = part_manifest_name(work.part());
  auto there = work.folder()->contains(name);
  if (!there) return there.error();
  if (!*there) return std::nullopt;
  const std::string path = work.folder()->path_of(name);
  auto reader = RecordReader::open(path);
  if (!reader) return reader.error();
  // By their type alone: the number was once that of the part.
  if (reader->shard().record_type != format::kPartRecordType)
    return wrong_part(path, "its records are of another type");
  auto text = next_text(*reader, path);
  if (!text) return text.error();
  auto facts = Facts::parse(*text);
  if (!facts) return facts.error().in_file(path);
  WholePart part{std::move(*facts), reader->shard().dataset_id, {}};
  while (reader->position() != reader->shard().info.records) {
    auto shards = read_shards(*reader, path);
    if (!shards) return shards.error();
    part.shards.push_back(std::move(*shards));
  }
  if (auto checked = check_outputs(part, path); !checked) return checked.error();
  return part;
}

}  // namespace dovetail::detail
