// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/inspection_text.h"

#include <algorithm>

#include <dovetail/record_writer.h>

#include "format/block_bounds.h"
#include "format/text/count_of.h"
#include "format/text/shell_quoted.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "tools/command/render.h"
#include "tools/inspect/feature_views.h"

namespace dovetail::tools {

namespace {

std::string blocks_text(const inspect::Inspection& inspection, const Colours& colours) {
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

std::string sizes_text(const inspect::RecordSurvey& survey, const Colours& colours) {
  constexpr std::uint64_t kBar = 40;
  Table table({"bytes", "records", "share", ""}, /*text_last=*/true);
  for (const inspect::SizeHistogram::Bucket& bucket : survey.sizes.buckets()) {
    const double part = static_cast<double>(bucket.records) / static_cast<double>(survey.sizes.most());
    auto length = static_cast<std::size_t>(part * static_cast<double>(kBar));
    if (bucket.records > 0) length = std::max<std::size_t>(length, 1);
    table.add({range_text(bucket), std::to_string(bucket.records), share_of(bucket.records, survey.sizes.records()),
               std::string(length, '#')});
  }
  return "\nrecord sizes, " + sizes_note(survey) + '\n' + table.to_text(colours);
}

/// A value of metadata, cut if it is long. `--json` has all of it.
std::string beginning_of(const std::string& value) {
  constexpr std::size_t kShown = 200;
  if (value.size() <= kShown) return value;
  return std::string(format::utf8_prefix(value, kShown)) + "... (" + std::to_string(value.size()) +
         " bytes; --json has all)";
}

/// For example "tf.train.Example; of 64 records examined: 60 tf.train.Example, 4 other bytes".
std::string payload_text(const inspect::PayloadCounts& payloads) {
  if (payloads.total() == 0) return "unknown: there is no record to look at";
  std::string text(describe(payloads.guess()));
  const std::string examined = format::count_of(payloads.total(), "record") + " examined";
  if (payloads.total() == 1) return text + "; " + examined;
  if (payloads.of(payloads.guess()) == payloads.total()) return text + " in all " + examined;
  text += "; of " + examined;
  const char* separator = ": ";
  for (const auto& [payload, count] : payloads.by_count()) {
    text += separator + std::to_string(count) + ' ' + std::string(describe(payload));
    separator = ", ";
  }
  return text;
}

/// Blocks and bytes of one codec, and its share of the raw bytes.
std::string share_text(const inspect::Inspection::CodecShare& share, const inspect::Inspection& inspection) {
  std::string text = format::count_of(share.blocks, "block");
  if (share.blocks == 0) return text;
  return text + ", " + share_of(share.raw_bytes, inspection.raw_bytes) +
         " of the bytes: " + format::human_bytes(share.raw_bytes) + " in " + format::human_bytes(share.stored_bytes);
}

/// Records per run; a range if shards differ. Needs: at least one shard.
std::string run_text(const inspect::Inspection& inspection) {
  const auto shorter = [](const ShardDescription& a, const ShardDescription& b) {
    return a.info.run_records < b.info.run_records;
  };
  const auto [least, most] = std::minmax_element(inspection.shards.begin(), inspection.shards.end(), shorter);
  std::string text = std::to_string(least->info.run_records);
  if (least->info.run_records != most->info.run_records) return text + " to " + std::to_string(most->info.run_records);
  const auto longer =
      format::longer_run(inspection.records, inspection.raw_bytes, least->info.run_records, WriterOptions{}.run_bytes);
  if (!longer) return text;
  return text + ", on average " +
         format::human_bytes(
             format::mean_run_bytes(inspection.records, inspection.raw_bytes, least->info.run_records)) +
         "; --run-records " + std::to_string(*longer) + " makes reads longer";
}

void add_common(const ShardDescription& shard, Listing& listing) {
  listing.add("version", inspect::version_text(shard));
  listing.add("dataset id", shard.dataset_id.to_hex());
  if (!shard.record_type.empty()) listing.add("record type", shard.record_type);
  if (!shard.schema.empty()) listing.add("schema", shard.schema);
  listing.add("writer", shard.writer);
  for (const auto& [key, value] : shard.metadata) listing.add("meta " + key, beginning_of(value));
}

}  // namespace

std::string range_text(const inspect::SizeHistogram::Bucket& bucket) {
  if (bucket.from == bucket.last) return std::to_string(bucket.from);
  return std::to_string(bucket.from) + " - " + std::to_string(bucket.last);
}

std::string sizes_note(const inspect::RecordSurvey& survey) {
  const std::uint64_t records = survey.sizes.records();
  if (survey.exact) return records == 1 ? "of the one record" : "all " + format::count_of(records, "record");
  const std::string note = survey.sampled ? "a sample of " + format::count_of(records, "record")
                                          : "of " + format::count_of(records, "readable record");
  if (survey.damaged_blocks == 0) return note + "; --full reads all";
  return note + "; found " + format::count_of(survey.damaged_blocks, "damaged block") +
         ": `dovetail verify` lists all damage";
}

std::string damage_text(const inspect::Inspection& inspection) {
  const inspect::RecordSurvey& survey = inspection.survey;
  if (survey.unreadable == 0) return {};
  return "damaged: " + std::to_string(survey.unreadable) + " of " +
         format::count_of(survey.looked_at, "examined record") + " cannot be read: " + survey.damage +
         "; `dovetail verify " + format::visible(format::shell_path(inspection.path)) + "` lists all damage\n";
}

Table shards_table(const inspect::Inspection& inspection, std::size_t most) {
  Table table({"shard", "records", "run", "blocks", "raw", "file", "name"}, /*text_last=*/true);
  for (std::size_t i = 0; i < std::min(most, inspection.shards.size()); ++i) {
    const ShardInfo& info = inspection.shards[i].info;
    table.add({std::to_string(i), std::to_string(info.records), std::to_string(info.run_records),
               std::to_string(info.blocks), format::human_bytes(info.raw_bytes), format::human_bytes(info.file_bytes),
               info.name});
  }
  return table;
}

void add_facts(const inspect::Inspection& inspection, Listing& listing) {
  listing.add("format", inspection.format);
  listing.add("finished", inspection.unfinished ? "no" : "yes");
  if (inspection.unfinished) return;
  listing.add("records", std::to_string(inspection.records) + ", " + std::to_string(inspection.min_record_bytes) +
                             " to " + format::count_of(inspection.max_record_bytes, "byte"));
  listing.add("raw", format::count_of(inspection.raw_bytes, "byte"));
  listing.add("stored", format::count_of(inspection.stored_bytes, "byte"));
  listing.add("payload", payload_text(inspection.survey.payloads));
  if (inspection.foreign) {
    listing.add("files", inspection.files);
    listing.add("compression", inspection.compression);
    return;
  }
  listing.add("blocks", inspection.blocks);
  listing.add("not compressed", share_text(inspection.plain, inspection));
  listing.add("snappy", share_text(inspection.snappy, inspection));
  if (inspection.zstd.blocks > 0) listing.add("zstd", share_text(inspection.zstd, inspection));
  if (!inspection.shards.empty()) listing.add("records per run", run_text(inspection));
  listing.add("fingerprint", inspection.fingerprint);
  listing.add("manifest", inspection.has_manifest ? "yes" : "no");
  if (!inspection.shards.empty()) add_common(inspection.shards.front(), listing);
}

std::string to_text(const inspect::Inspection& inspection, bool with_blocks, const Colours& colours) {
  Listing listing;
  add_facts(inspection, listing);
  std::string text = listing.to_text(colours);
  if (inspection.unfinished) return text;
  text += sizes_text(inspection.survey, colours);
  if (!inspection.foreign) text += '\n' + shards_table(inspection).to_text(colours);
  if (inspection.features) text += to_text(*inspection.features, colours);
  if (with_blocks && !inspection.foreign) text += blocks_text(inspection, colours);
  return text + damage_text(inspection);
}

}  // namespace dovetail::tools
