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
#include "format/try.h"
#include "writer/dataset_files.h"

namespace dovetail::detail {

namespace {

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
  std::uint32_t count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || count > kMaxShards) {
    return wrong_part(path, "'" + text + "' is not a number of shards");
  }
  std::vector<ShardInfo> shards;
  for (; count != 0; --count) {
    DOVETAIL_ASSIGN(auto entry, next_text(reader, path));
    auto info = format::decode_shard_info(as_bytes(entry));
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
  DOVETAIL_TRY(work.folder()->sync());
  WriterOptions options;
  options.codec = codec;
  options.dataset_id = part.dataset_id;
  options.shard_number = format::kPartShardNumber;
  options.record_type = format::kPartRecordType;
  options.overwrite = true;
  DOVETAIL_ASSIGN(auto writer, RecordWriter::create(work.folder()->path_of(part_manifest_name(work.part())), options));
  DOVETAIL_TRY(writer.append(as_bytes(part.facts.to_text())));
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

Result<std::optional<WholePart>> read_part(const WorkFolder& work) {
  const std::string name = part_manifest_name(work.part());
  DOVETAIL_ASSIGN(auto there, work.folder()->contains(name));
  if (!there) return std::nullopt;
  const std::string path = work.folder()->path_of(name);
  DOVETAIL_ASSIGN(auto reader, RecordReader::open(path));
  // By their type alone: the number was once that of the part.
  if (reader.shard().record_type != format::kPartRecordType) return wrong_part(path, "its records are of another type");
  DOVETAIL_ASSIGN(auto text, next_text(reader, path));
  auto facts = Facts::parse(text);
  if (!facts) return facts.error().in_file(path);
  WholePart part{std::move(*facts), reader.shard().dataset_id, {}};
  while (reader.position() != reader.shard().info.records) {
    DOVETAIL_ASSIGN(auto shards, read_shards(reader, path));
    part.shards.push_back(std::move(shards));
  }
  DOVETAIL_TRY(check_outputs(part, path));
  return part;
}

}  // namespace dovetail::detail
