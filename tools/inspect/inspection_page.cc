// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/inspection_page.h"

#include <algorithm>
#include <utility>

#include "format/text/count_of.h"
#include "format/text/number_text.h"
#include "format/try.h"
#include "inspect/open_input.h"
#include "tools/command/render.h"
#include "tools/command/svg.h"
#include "tools/command/text_file.h"
#include "tools/inspect/block_map.h"
#include "tools/inspect/class_counts.h"
#include "tools/inspect/feature_section.h"
#include "tools/inspect/feature_views.h"
#include "tools/inspect/html.h"
#include "tools/inspect/inspection_text.h"
#include "tools/inspect/page_head.h"
#include "tools/inspect/page_records.h"
#include "tools/inspect/page_style.h"

namespace dovetail::tools {

namespace {

constexpr std::size_t kMostCells = 2048;
constexpr std::size_t kMostImageBytes = std::size_t{8} << 20;  // of all images
constexpr std::size_t kMostShards = 1000;

std::string both(std::uint64_t bytes) {
  return format::human_bytes(bytes) + " (" + format::count_of(bytes, "byte") + ")";
}

std::string section(std::string_view title, std::string_view note, std::string_view content) {
  std::string html = "<section>\n<h2>" + std::string(title) + "</h2>\n";
  if (!note.empty()) html += "<p class=\"note\">" + html_text(note) + "</p>\n";
  return html + std::string(content) + "</section>\n";
}

std::string facts(const inspect::Inspection& inspection) {
  HtmlFacts facts("facts");
  facts.add("path", inspection.path);
  facts.add("format", inspection.format);
  facts.add("records", std::to_string(inspection.records));
  facts.add("smallest record", format::count_of(inspection.min_record_bytes, "byte"));
  facts.add("largest record", format::count_of(inspection.max_record_bytes, "byte"));
  facts.add("payload", payload_text(inspection.survey.payloads));
  facts.add("raw", both(inspection.raw_bytes));
  facts.add("stored", both(inspection.stored_bytes));
  if (inspection.foreign) {
    facts.add("files", std::to_string(inspection.files));
    facts.add("compression", inspection.compression);
    return facts.finish();
  }
  facts.add("shards", std::to_string(inspection.shards.size()));
  facts.add("blocks", std::to_string(inspection.blocks));
  facts.add("fingerprint", inspection.fingerprint);
  facts.add("manifest", inspection.has_manifest ? "yes" : "no");
  if (inspection.shards.empty()) return facts.finish();
  const ShardDescription& first = inspection.shards.front();
  facts.add("records per run", run_text(inspection));
  facts.add("version", inspect::version_text(first));
  facts.add("dataset id", first.dataset_id.to_hex());
  facts.add("record type", first.record_type);
  if (!first.schema.empty()) facts.add("schema", first.schema);
  facts.add("writer", first.writer);
  for (const auto& [key, value] : first.metadata) facts.add("meta " + key, beginning_of(value));
  return facts.finish();
}

/// The start of a bar of the histogram, for example "512", "4 K", "2 M".
std::string short_size(std::uint64_t bytes) {
  constexpr std::string_view kUnits = " KMGTPE";
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); bytes /= 1024) ++unit;
  return std::to_string(bytes) + (unit == 0 ? "" : ' ' + std::string(1, kUnits[unit]));
}

std::string sizes_svg(const inspect::SizeHistogram& sizes) {
  constexpr double kMostWidth = 960;
  constexpr double kHeight = 180;
  const std::vector<inspect::SizeHistogram::Bucket> buckets = sizes.buckets();
  const auto bars = static_cast<double>(std::max<std::size_t>(buckets.size(), 1));
  const double step = std::min(90.0, kMostWidth / bars);
  Svg svg(step * bars, "Records by size");
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const inspect::SizeHistogram::Bucket& bucket = buckets[i];
    const double share =
        static_cast<double>(bucket.records) / static_cast<double>(std::max<std::uint64_t>(sizes.most(), 1));
    const double height = bucket.records == 0 ? 0 : std::max(1.5, share * kHeight);
    const double x = static_cast<double>(i) * step;
    const double middle = x + step / 2;
    svg.rect(x + 2, 20 + kHeight - height, step - 4, height, "", "bar",
             range_text(bucket) + " bytes: " + format::count_of(bucket.records, "record"));
    const Svg::TextStyle style{.size = 11, .anchor = Svg::Anchor::middle, .colour = "currentColor"};
    if (bucket.records > 0) svg.text(middle, 14 + kHeight - height, share_of(bucket.records, sizes.records()), style);
    svg.text(middle, 36 + kHeight, short_size(bucket.from), style);
  }
  // A narrow window scrolls the drawing; smaller, its text could not be read.
  return "<div style=\"width:" + format::fixed(step * bars, 0) + "px\">" + svg.finish_inline(kHeight + 44) + "</div>";
}

std::string sizes(const inspect::RecordSurvey& survey) {
  HtmlTable table("sizes", {"bytes", "records", "share", ""});
  for (const inspect::SizeHistogram::Bucket& bucket : survey.sizes.buckets()) {
    table.add(std::to_string(bucket.from), {range_text(bucket), std::to_string(bucket.records),
                                            share_of(bucket.records, survey.sizes.records()), ""});
  }
  return section("Record sizes", "by powers of two; the label of a bar is its smallest size; " + sizes_note(survey),
                 "<div id=\"size-bars\" class=\"wide\">" + sizes_svg(survey.sizes) +
                     "</div>\n<details><summary>The same in numbers</summary>\n" + table.finish() + "</details>\n");
}

std::string payloads(const inspect::PayloadCounts& payloads) {
  HtmlTable table("payloads", {"records", "share", "payload"});
  for (const auto& [payload, count] : payloads.by_count()) {
    table.add(to_string(payload),
              {std::to_string(count), share_of(count, payloads.total()), std::string(describe(payload))});
  }
  return section("Payload", "guessed from the bytes of " + format::count_of(payloads.total(), "record"),
                 table.finish());
}

std::string codecs(const inspect::Inspection& inspection) {
  HtmlTable table("codecs", {"blocks", "share of bytes", "raw", "stored", "codec"});
  const auto add = [&](std::string_view key, std::string_view name, const inspect::Inspection::CodecShare& share) {
    table.add(key, {std::to_string(share.blocks), share_of(share.raw_bytes, inspection.raw_bytes),
                    format::human_bytes(share.raw_bytes), format::human_bytes(share.stored_bytes), std::string(name)});
  };
  add("none", "not compressed", inspection.plain);
  add("snappy", "Snappy", inspection.snappy);
  add("zstd", "zstd", inspection.zstd);
  return section("Codecs", "", table.finish());
}

std::string block_map(const inspect::Inspection& inspection) {
  const BlockMap map = map_blocks(inspection.shards, kMostCells);
  const std::string cell = map.blocks_per_cell == 1 ? "One block each"
                                                    : "Up to " + std::to_string(map.blocks_per_cell) +
                                                          " consecutive blocks each, to keep the map small";
  std::string colours;
  for (int i = 0; i <= 8; ++i) colours += (i == 0 ? "" : ",") + scale_colour(i / 8.0);
  return section(
      "Block map", cell + ", in the order of the shards",
      "<p class=\"note\"><span class=\"key plain\"></span>not compressed<span class=\"scale\" style=\"background:"
      "linear-gradient(90deg," +
          colours + ")\"></span>share saved by Snappy, from nothing to all</p>\n<div id=\"block-map\" " +
          "data-blocks-per-cell=\"" + std::to_string(map.blocks_per_cell) + "\">" +
          block_map_svg(map, inspection.shards) + "</div>\n");
}

std::string shards(const inspect::Inspection& inspection) {
  HtmlTable table("shards", {"shard", "records", "run", "blocks", "raw", "file", "name"});
  const std::size_t shown = std::min(kMostShards, inspection.shards.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ShardInfo& info = inspection.shards[i].info;
    table.add(std::to_string(i), {std::to_string(i), std::to_string(info.records), std::to_string(info.run_records),
                                  std::to_string(info.blocks), format::human_bytes(info.raw_bytes),
                                  format::human_bytes(info.file_bytes), info.name});
  }
  const std::string note = shown == inspection.shards.size() ? std::string()
                                                             : "the first " + std::to_string(shown) + " of " +
                                                                   std::to_string(inspection.shards.size());
  return section("Shards", note, table.finish());
}

/// The section of features. `all` is true if the statistics cover all records, false for a sample.
std::string features(const FeaturesReport& report, bool all) {
  if (!all && report.features.empty()) return {};
  std::string note = (all ? "" : "from a sample: ") + features_note(report) +
                     "; the share of a value is of all values; a tilde marks estimates";
  if (report.features.size() > kMostFeatureCards) {
    note += "; the first " + std::to_string(kMostFeatureCards) + " of " + std::to_string(report.features.size());
  }
  const std::string columns = all ? columns_option(report) : "";
  return section("Features", note, report.features.empty() ? std::string() : features_html(report, columns));
}

std::string cards(const PageRecords& records, std::uint64_t all) {
  const std::size_t shown = records.cards.records();
  std::string note = shown == all ? "all " + std::to_string(all)
                                  : std::to_string(shown) + " of " + std::to_string(all) + ", at equal distances";
  if (records.cards.images_left_out() > 0) {
    note += "; left out: " + format::count_of(records.cards.images_left_out(), "image");
  }
  std::string html = records.cards.html();
  if (!records.trouble.empty()) html += "<p class=\"note\" id=\"trouble\">" + html_text(records.trouble) + "</p>\n";
  return section("Records", note, "<div id=\"records\">\n" + html + "</div>\n");
}

/// A self-contained page without scripts, other files or network access. Its tables have ids, and
/// their rows have `data-key`.
std::string page_html(const inspect::Inspection& inspection, const PageRecords& records) {
  const std::string name = html_text(page_title(inspection));
  // The policy is a second line of defence, in case hostile text gets through the escaping.
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>" +
      name + "</title>\n<style>" + kPageStyle + "</style>\n</head>\n<body>\n" + head_html(inspection);
  if (const std::string programs = reading_html(inspection); !programs.empty()) {
    html += section("How to read it", "one click selects a program", programs);
  }
  html += inspection.features ? features(*inspection.features, true) : features(records.features.report(), false);
  if (const std::string counts = classes_html(inspection); !counts.empty()) {
    html += section("Classes", "records by the values of a feature; shares are of all records", counts);
  }
  html += cards(records, inspection.records);
  html += section("Structure", "", facts(inspection)) + sizes(inspection.survey) + payloads(inspection.survey.payloads);
  if (!inspection.foreign) html += codecs(inspection) + block_map(inspection) + shards(inspection);
  return html + "<footer class=\"note\">made by <code>dovetail inspect --html</code></footer>\n</body>\n</html>\n";
}

}  // namespace

Result<void> check_page_file(const std::string& file, const std::string& inspected) {
  return check_outputs({file}, {inspected});
}

Result<PageFile> write_page(const std::string& file, const inspect::Inspection& inspection, SourceFormat from,
                            std::function<bool()> cancelled) {
  if (inspection.unfinished) return *inspection.unfinished;
  DOVETAIL_ASSIGN(inspect::Input input, inspect::open_input(inspection.path, from, std::move(cancelled)));
  PageRecords records(kMostImageBytes);
  DOVETAIL_TRY(take_records(std::move(input), inspection.records, records));
  const std::string page = page_html(inspection, records);
  DOVETAIL_TRY(replace_text(file, page));
  return PageFile{.bytes = page.size(), .records = records.cards.records(), .images = records.cards.images()};
}

}  // namespace dovetail::tools
