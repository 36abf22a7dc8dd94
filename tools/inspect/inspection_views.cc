// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "tools/command/render.h"
#include "tools/inspect/feature_views.h"
#include "tools/inspect/inspection.h"
#include "tools/inspect/inspection_words.h"

namespace dovetail::tools {

namespace {

boost::json::object to_json(const ShardDescription& shard) {
  return {{"name", format::to_utf8(shard.info.name)},
          {"records", shard.info.records},
          {"blocks", shard.info.blocks},
          {"run_records", shard.info.run_records},
          {"raw_bytes", shard.info.raw_bytes},
          {"stored_bytes", shard.info.stored_bytes},
          {"file_bytes", shard.info.file_bytes},
          {"max_record_bytes", shard.info.max_record_bytes},
          {"fingerprint", hex64(shard.info.fingerprint)}};
}

boost::json::array blocks_json(const Inspection& inspection) {
  boost::json::array blocks;
  for (std::size_t shard = 0; shard < inspection.shards.size(); ++shard) {
    for (const BlockInfo& block : inspection.shards[shard].blocks) {
      blocks.push_back(boost::json::object{{"shard", shard},
                                           {"offset", block.offset},
                                           {"first_record", block.first_record},
                                           {"records", block.records},
                                           {"stored_bytes", block.stored_bytes},
                                           {"raw_bytes", block.raw_bytes},
                                           {"codec", to_string(block.codec)},
                                           {"table", block.has_table}});
    }
  }
  return blocks;
}

std::string blocks_text(const Inspection& inspection, const Colours& colours) {
  Table table({"shard", "offset", "first record", "records", "stored", "raw", "codec"});
  for (std::size_t shard = 0; shard < inspection.shards.size(); ++shard) {
    for (const BlockInfo& block : inspection.shards[shard].blocks) {
      table.add({std::to_string(shard), std::to_string(block.offset), std::to_string(block.first_record),
                 std::to_string(block.records), std::to_string(block.stored_bytes), std::to_string(block.raw_bytes),
                 std::string(to_string(block.codec))});
    }
  }
  return '\n' + table.to_text(colours);
}

std::string shards_text(const Inspection& inspection, const Colours& colours) {
  Table table({"shard", "records", "run", "blocks", "raw", "file", "name"}, /*text_last=*/true);
  for (std::size_t i = 0; i < inspection.shards.size(); ++i) {
    const ShardInfo& info = inspection.shards[i].info;
    table.add({std::to_string(i), std::to_string(info.records), std::to_string(info.run_records),
               std::to_string(info.blocks), human_bytes(info.raw_bytes), human_bytes(info.file_bytes),
               format::visible(info.name)});
  }
  return '\n' + table.to_text(colours);
}

boost::json::object to_json(const Inspection::CodecShare& share) {
  return {{"blocks", share.blocks}, {"raw_bytes", share.raw_bytes}, {"stored_bytes", share.stored_bytes}};
}

boost::json::object sizes_json(const RecordSurvey& survey) {
  boost::json::array buckets;
  for (const SizeHistogram::Bucket& bucket : survey.sizes.buckets()) {
    buckets.push_back(boost::json::object{{"from", bucket.from}, {"last", bucket.last}, {"records", bucket.records}});
  }
  return {{"exact", survey.exact}, {"records", survey.sizes.records()}, {"buckets", std::move(buckets)}};
}

boost::json::object payload_json(const PayloadCounts& payloads) {
  boost::json::object kinds;
  for (const auto& [payload, count] : by_count(payloads)) kinds[to_string(payload)] = count;
  boost::json::object object = {{"guess", nullptr}, {"samples", payloads.total()}, {"kinds", std::move(kinds)}};
  if (payloads.total() > 0) object["guess"] = to_string(payloads.guess());
  return object;
}

void add_survey(const RecordSurvey& survey, boost::json::object& object) {
  object["record_sizes"] = sizes_json(survey);
  object["payload"] = payload_json(survey.payloads);
  object["damaged_blocks"] = survey.damaged_blocks;
  object["looked_at"] = survey.looked_at;
  object["unreadable"] = survey.unreadable;
}

std::string sizes_text(const RecordSurvey& survey, const Colours& colours) {
  constexpr std::uint64_t kBar = 40;
  Table table({"bytes", "records", "share", ""}, /*text_last=*/true);
  for (const SizeHistogram::Bucket& bucket : survey.sizes.buckets()) {
    const double share = static_cast<double>(bucket.records) / static_cast<double>(survey.sizes.records());
    const double part = static_cast<double>(bucket.records) / static_cast<double>(survey.sizes.most());
    auto length = static_cast<std::size_t>(part * static_cast<double>(kBar));
    if (bucket.records > 0) length = std::max<std::size_t>(length, 1);
    table.add(
        {range_text(bucket), std::to_string(bucket.records), percent(share, 1), colours.bar(std::string(length, '#'))});
  }
  return "\nrecord sizes, " + sizes_note(survey) + '\n' + table.to_text(colours);
}

/// Values of the dataset that its first shard stands for.
void add_common(const ShardDescription& shard, boost::json::object& object) {
  boost::json::object metadata;
  for (const auto& [key, value] : shard.metadata) metadata[format::to_utf8(key)] = format::to_utf8(value);
  object["metadata"] = std::move(metadata);
  object["version"] = version_text(shard);
  object["dataset_id"] = shard.dataset_id.to_hex();
  object["record_type"] = format::to_utf8(shard.record_type);
  if (!shard.schema.empty()) object["schema"] = format::to_utf8(shard.schema);
  object["writer"] = format::to_utf8(shard.writer);
  object["run_records"] = shard.info.run_records;
}

void add_common(const ShardDescription& shard, Listing& listing) {
  listing.add("version", version_text(shard));
  listing.add("dataset id", shard.dataset_id.to_hex());
  if (!shard.record_type.empty()) listing.add("record type", shard.record_type);
  if (!shard.schema.empty()) listing.add("schema", shard.schema);
  listing.add("writer", shard.writer);
  for (const auto& [key, value] : shard.metadata) listing.add("meta " + key, beginning_of(value));
}

}  // namespace

boost::json::object to_json(const Inspection& inspection, bool with_blocks) {
  boost::json::object object = {{"format", inspection.format}, {"finished", inspection.finished}};
  if (!inspection.finished) return object;
  object["records"] = inspection.records;
  object["blocks"] = inspection.blocks;
  object["raw_bytes"] = inspection.raw_bytes;
  object["stored_bytes"] = inspection.stored_bytes;
  object["min_record_bytes"] = inspection.min_record_bytes;
  object["max_record_bytes"] = inspection.max_record_bytes;
  object["codecs"] = boost::json::object{
      {"none", inspection.plain.blocks}, {"snappy", inspection.snappy.blocks}, {"zstd", inspection.zstd.blocks}};
  object["codec_shares"] = boost::json::object{
      {"none", to_json(inspection.plain)}, {"snappy", to_json(inspection.snappy)}, {"zstd", to_json(inspection.zstd)}};
  add_survey(inspection.survey, object);
  object["metadata"] = boost::json::object();
  if (inspection.features) object["features"] = to_json(*inspection.features);
  if (inspection.foreign) {
    object["compression"] = inspection.compression;
    object["files"] = inspection.files;
    return object;
  }
  if (!inspection.shards.empty()) add_common(inspection.shards.front(), object);
  object["fingerprint"] = inspection.fingerprint;
  object["manifest"] = inspection.has_manifest;
  boost::json::array shards;
  for (const ShardDescription& shard : inspection.shards) shards.push_back(to_json(shard));
  object["shards"] = std::move(shards);
  if (with_blocks) object["block_list"] = blocks_json(inspection);
  return object;
}

std::string to_text(const Inspection& inspection, bool with_blocks, const Colours& colours) {
  Listing listing;
  listing.add("format", inspection.format);
  listing.add("finished", inspection.finished ? "yes" : "no");
  if (!inspection.finished) return listing.to_text(colours);
  listing.add("records", std::to_string(inspection.records) + ", " + std::to_string(inspection.min_record_bytes) +
                             " to " + format::count_of(inspection.max_record_bytes, "byte"));
  listing.add("raw", format::count_of(inspection.raw_bytes, "byte"));
  listing.add("stored", format::count_of(inspection.stored_bytes, "byte"));
  listing.add("payload", payload_text(inspection.survey.payloads));
  const std::string features = inspection.features ? to_text(*inspection.features, colours) : std::string();
  if (inspection.foreign) {
    listing.add("files", inspection.files);
    listing.add("compression", inspection.compression);
    return listing.to_text(colours) + sizes_text(inspection.survey, colours) + features;
  }
  listing.add("blocks", std::to_string(inspection.blocks));
  listing.add("not compressed", share_text(inspection.plain, inspection));
  listing.add("snappy", share_text(inspection.snappy, inspection));
  if (inspection.zstd.blocks > 0) listing.add("zstd", share_text(inspection.zstd, inspection));
  if (!inspection.shards.empty()) listing.add("records per run", run_text(inspection));
  listing.add("fingerprint", inspection.fingerprint);
  listing.add("manifest", inspection.has_manifest ? "yes" : "no");
  if (!inspection.shards.empty()) add_common(inspection.shards.front(), listing);
  return listing.to_text(colours) + sizes_text(inspection.survey, colours) + shards_text(inspection, colours) +
         features + (with_blocks ? blocks_text(inspection, colours) : std::string()) + damage_text(inspection);
}

}  // namespace dovetail::tools
