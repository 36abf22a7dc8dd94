// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/inspection_words.h"

#include <algorithm>

#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "tools/command/render.h"

namespace dovetail::tools {

std::string version_text(const ShardDescription& shard) {
  return std::to_string(shard.version_major) + '.' + std::to_string(shard.version_minor);
}

std::string beginning_of(const std::string& value) {
  constexpr std::size_t kShown = 200;
  if (value.size() <= kShown) return value;
  return std::string(format::utf8_prefix(value, kShown)) + "... (" + std::to_string(value.size()) +
         " bytes; --json has all)";
}

std::string range_text(const SizeHistogram::Bucket& bucket) {
  if (bucket.from == bucket.last) return std::to_string(bucket.from);
  return std::to_string(bucket.from) + " - " + std::to_string(bucket.last);
}

std::string sizes_note(const RecordSurvey& survey) {
  const std::string records = format::count_of(survey.sizes.records(), "record");
  const std::string damaged = survey.damaged_blocks == 0
                                  ? std::string()
                                  : "; without damaged blocks, " + std::to_string(survey.damaged_blocks) +
                                        " of them: `dovetail verify` tells more";
  if (survey.exact) return survey.sizes.records() == 1 ? "of the one record" : "all " + records;
  return "a sample of " + records + (damaged.empty() ? "; --full reads all" : damaged);
}

std::string damage_text(const Inspection& inspection) {
  const RecordSurvey& survey = inspection.survey;
  if (survey.unreadable == 0) return {};
  return "damaged: " + std::to_string(survey.unreadable) + " of " + format::count_of(survey.looked_at, "record") +
         " that were looked at cannot be read: " + survey.damage + "; `dovetail verify " +
         format::visible(inspection.path) + "` tells all\n";
}

std::string payload_text(const PayloadCounts& payloads) {
  if (payloads.total() == 0) return "unknown, for want of records to look at";
  std::string text(describe(payloads.guess()));
  const std::string looked_at = format::count_of(payloads.total(), "record") + " looked at";
  if (payloads.total() == 1) return text + "; " + looked_at;
  if (payloads.of(payloads.guess()) == payloads.total()) return text + ", as all " + looked_at;
  text += "; of " + looked_at;
  const char* separator = ": ";
  for (const auto& [payload, count] : by_count(payloads)) {
    text += separator + std::to_string(count) + ' ' + std::string(describe(payload));
    separator = ", ";
  }
  return text;
}

std::vector<std::pair<Payload, std::uint64_t>> by_count(const PayloadCounts& payloads) {
  std::vector<std::pair<Payload, std::uint64_t>> found;
  for (std::size_t i = 0; i < kPayloads; ++i) {
    if (payloads.counts[i] > 0) found.emplace_back(static_cast<Payload>(i), payloads.counts[i]);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return found;
}

std::string share_text(const Inspection::CodecShare& share, const Inspection& inspection) {
  std::string text = format::count_of(share.blocks, "block");
  if (share.blocks == 0) return text;
  const double part =
      static_cast<double>(share.raw_bytes) / static_cast<double>(std::max<std::uint64_t>(inspection.raw_bytes, 1));
  return text + ", " + decimal(part * 100, 1) + " % of the bytes: " + human_bytes(share.raw_bytes) + " in " +
         human_bytes(share.stored_bytes);
}

std::string run_text(const Inspection& inspection) {
  const auto shorter = [](const ShardDescription& a, const ShardDescription& b) {
    return a.info.run_records < b.info.run_records;
  };
  const auto [least, most] = std::minmax_element(inspection.shards.begin(), inspection.shards.end(), shorter);
  std::string text = std::to_string(least->info.run_records);
  if (least->info.run_records == most->info.run_records) return text;
  return text + " to " + std::to_string(most->info.run_records);
}

}  // namespace dovetail::tools
