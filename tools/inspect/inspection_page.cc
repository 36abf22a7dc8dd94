// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/inspection_page.h"

#include <algorithm>
#include <utility>

#include "format/text/count_of.h"
#include "format/try.h"
#include "inspect/open_input.h"
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

std::string section(std::string_view title, std::string_view note, std::string_view content) {
  std::string html = "<section>\n<h2>" + std::string(title) + "</h2>\n";
  if (!note.empty()) html += "<p class=\"note\">" + xml_text(note) + "</p>\n";
  return html + std::string(content) + "</section>\n";
}

std::string facts(const inspect::Inspection& inspection) {
  Listing listing;
  listing.add("path", inspection.path);
  add_facts(inspection, listing);
  return section("Structure", "", html_listing("facts", listing));
}

std::string sizes(const inspect::RecordSurvey& survey) {
  HtmlCounts counts(survey.sizes.records(), std::max<std::uint64_t>(survey.sizes.most(), 1));
  for (const inspect::SizeHistogram::Bucket& bucket : survey.sizes.buckets()) {
    counts.add(range_text(bucket) + " B", bucket.records);
  }
  return section("Record sizes", sizes_note(survey), "<div id=\"sizes\">" + counts.finish() + "</div>\n");
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
  const std::size_t all = inspection.shards.size();
  const std::string note =
      all <= kMostShards ? "" : "the first " + std::to_string(kMostShards) + " of " + std::to_string(all);
  return section("Shards", note, html_table("shards", shards_table(inspection, kMostShards)));
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
  if (!records.trouble.empty()) html += "<p class=\"note\" id=\"trouble\">" + xml_text(records.trouble) + "</p>\n";
  return section("Records", note, "<div id=\"records\">\n" + html + "</div>\n");
}

/// A self-contained page without scripts, other files or network access. Its tables have ids, and
/// their rows have `data-key`.
std::string page_html(const inspect::Inspection& inspection, const PageRecords& records) {
  const std::string name = xml_text(page_title(inspection));
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
  html += facts(inspection) + sizes(inspection.survey);
  if (!inspection.foreign) html += block_map(inspection) + shards(inspection);
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
