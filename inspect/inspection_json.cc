// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "format/text/base64.h"
#include "format/text/hex.h"
#include "format/text/utf8.h"
#include "inspect/inspection.h"

namespace dovetail::inspect {

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
          {"fingerprint", format::hex64(shard.info.fingerprint)}};
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
  for (const auto& [payload, count] : payloads.by_count()) kinds[to_string(payload)] = count;
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

/// Values that are the same in all shards, taken from the first one.
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

/// As in `cat --format json`: values without a JSON form become strings or base64.
boost::json::value value_json(const FeatureStats& stats, const std::string& value) {
  if (stats.kind == ValueKind::bytes) {
    if (format::is_utf8(value)) return boost::json::string(value);
    return boost::json::object{{"base64", format::to_base64(as_bytes(value))}};
  }
  if (value.find("nan") != std::string::npos) return "NaN";
  if (value.find("inf") != std::string::npos) return value.front() == '-' ? "-Infinity" : "Infinity";
  return boost::json::parse(value);
}

boost::json::object to_json(const FeatureStats& stats) {
  boost::json::object object = {{"name", stats.name},
                                {"kind", to_text(stats.kind)},
                                {"records", stats.records},
                                {"empty_lists", stats.empty_lists},
                                {"values", stats.values}};
  if (stats.values == 0) return object;
  object["list_lengths"] = boost::json::object{{"least", stats.least_values},
                                               {"mean", stats.mean_values()},
                                               {"most", stats.most_values},
                                               {"fixed", stats.fixed()}};
  boost::json::object numbers;
  if (stats.kind == ValueKind::floats) {
    object["nans"] = stats.nans;
    object["infinities"] = stats.infinities;
    if (!stats.histogram.counts.empty()) numbers = {{"least", stats.least}, {"mean", stats.mean}, {"most", stats.most}};
  } else {
    numbers = {{"least", stats.least_int}, {"mean", stats.mean}, {"most", stats.most_int}};
  }
  object[stats.kind == ValueKind::bytes ? "byte_lengths" : "numbers"] = std::move(numbers);
  object["distinct"] = boost::json::object{
      {"count", stats.distinct}, {"exact", stats.distinct_error == 0}, {"standard_error", stats.distinct_error}};
  boost::json::array top;
  for (const TopValue& value : stats.top) {
    top.push_back(boost::json::object{{"value", value_json(stats, value.value)}, {"count", value.count}});
  }
  object["top"] = std::move(top);
  object["top_exact"] = !stats.top_estimated;
  if (stats.histogram.counts.empty()) return object;
  const std::vector<std::uint64_t>& counts = stats.histogram.counts;
  object["histogram"] = boost::json::object{{"from", stats.histogram.from},
                                            {"to", stats.histogram.to},
                                            {"counts", boost::json::array(counts.begin(), counts.end())},
                                            {"exact", !stats.histogram.estimated}};
  return object;
}

}  // namespace

boost::json::object to_json(const FeaturesReport& report) {
  boost::json::object object = {{"records", report.records},
                                {"examples", report.examples},
                                {"json_objects", report.json_objects},
                                {"damaged_blocks", report.damaged_blocks},
                                {"lost_records", report.lost_records},
                                {"names_left_out", report.names_left_out},
                                {"columns", nullptr}};
  if (report.first_other) object["first_other"] = report.first_other->detail();
  if (report.first_damage) object["first_damage"] = format::to_utf8(report.first_damage->to_string());
  if (!report.schema.columns.empty()) object["columns"] = dovetail::to_text(report.schema);
  boost::json::array without;
  for (const std::string& name : report.without_column) without.push_back(boost::json::string(name));
  object["without_column"] = std::move(without);
  boost::json::array features;
  for (const FeatureStats& stats : report.features) features.push_back(to_json(stats));
  object["features"] = std::move(features);
  return object;
}

boost::json::object to_json(const Inspection& inspection, bool with_blocks) {
  boost::json::object object = {{"format", inspection.format}, {"finished", !inspection.unfinished}};
  if (inspection.unfinished) return object;
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

}  // namespace dovetail::inspect
