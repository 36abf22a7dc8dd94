// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/html.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "format/text/utf8.h"
#include "tools/command/svg.h"
#include "tools/inspect/block_map.h"
#include "tools/inspect/class_counts.h"
#include "tools/inspect/feature_section.h"
#include "tools/inspect/record_cards.h"
#include "tools/records/record_json.h"

namespace dovetail::tools {
namespace {

using namespace std::string_literals;

std::string card(const std::string& record, std::size_t most_image_bytes = 0) {
  RecordCards cards(most_image_bytes);
  cards.add({.id = 3, .shard = 1, .record = 2, .bytes = as_bytes(record)});
  return cards.html();
}

std::vector<ShardDescription> shards_of(std::vector<std::uint32_t> blocks) {
  std::vector<ShardDescription> shards(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    shards[i].info.name = "shard " + std::to_string(i);
    for (std::uint32_t k = 0; k < blocks[i]; ++k) {
      shards[i].blocks.push_back(
          {.records = 2, .stored_bytes = 50, .raw_bytes = 100, .codec = k % 2 == 0 ? Codec::snappy : Codec::none});
    }
  }
  return shards;
}

TEST(HtmlTest, MarkupIsEscapedEverywhere) {
  EXPECT_EQ(xml_text("<a b=\"c\" d='e'>&amp;"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;");
  Table table({"<b>"});
  table.add({"\"><b>", "<i>"});
  Listing listing;
  listing.add("<b>", "<i>");
  HtmlCounts counts(1, 1);
  counts.add("<b>", 1);
  for (const std::string& html : {html_table("t", table), html_listing("f", listing), counts.finish()}) {
    EXPECT_EQ(html.find("<b>"), std::string::npos);
    EXPECT_EQ(html.find("<i>"), std::string::npos);
  }
}

TEST(HtmlTest, ControlCharactersAreShownAndLineBreaksStay) {
  EXPECT_EQ(xml_text("\0\x1B\x7F\n\t"s), "\\x00\\x1b\\x7f\n\t");
  EXPECT_EQ(xml_text("\xFF"), "\\xff");
}

TEST(RecordCardsTest, LongRecordsAreCutAndSaySo) {
  const std::string text = card(std::string(1'000'000, 'x'));
  EXPECT_LT(text.size(), 10'000u);
  EXPECT_NE(text.find("and 998000 bytes more"), std::string::npos);
  const std::string bytes = card(std::string(1'000'000, '\xFF'));
  EXPECT_LT(bytes.size(), 10'000u);
  EXPECT_NE(bytes.find("and 999744 bytes more"), std::string::npos);
}

TEST(RecordCardsTest, ArraysSayTheirTypeAndShape) {
  EXPECT_NE(card("\x93NUMPY\x01\0\x12\0{'shape': (3,)}  \nabc"s).find("NumPy array, {&#39;shape&#39;: (3,)};"),
            std::string::npos);
}

TEST(RecordCardsTest, PicturesGoInOnlyAsFarAsTheLimitAllows) {
  const std::string png = "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0crc."s;
  EXPECT_NE(card(png, png.size()).find("<img "), std::string::npos);
  EXPECT_EQ(card(png, png.size() - 1).find("<img "), std::string::npos);
  RecordCards cards(png.size());
  for (std::uint64_t id = 0; id < 3; ++id) cards.add({.id = id, .shard = 0, .record = id, .bytes = as_bytes(png)});
  EXPECT_EQ(cards.records(), 3u);
  EXPECT_EQ(cards.images(), 1u);
  EXPECT_EQ(cards.images_left_out(), 2u);
}

TEST(RecordCardsTest, PicturesShareALimitOfPixels) {
  const auto png_of = [](const std::string& width, const std::string& height) {
    return "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR"s + width + height + "\x08\x02\0\0\0crc."s;
  };
  const std::string five_thousand = "\0\0\x13\x88"s;
  const std::string half = png_of(five_thousand, "\0\0\x27\x10"s);  // of the limit
  RecordCards cards(1000);
  for (std::uint64_t id = 0; id < 3; ++id) cards.add({.id = id, .shard = 0, .record = id, .bytes = as_bytes(half)});
  EXPECT_EQ(cards.images(), 2u);
  EXPECT_EQ(cards.images_left_out(), 1u);
  EXPECT_NE(cards.html().find("5000 \xC3\x97 10000, 33 B: left out, to keep the page small"), std::string::npos);

  EXPECT_NE(card(half, 1000).find("<img "), std::string::npos);
  EXPECT_EQ(card(png_of(five_thousand, "\0\0\x27\x11"s), 1000).find("<img "), std::string::npos);
  EXPECT_EQ(card(png_of("\xFF\xFF\xFF\xFF", "\xFF\xFF\xFF\xFF"), 1000).find("<img "), std::string::npos);
}

TEST(FeatureSectionTest, LongNamesAreCutAndMarkupIsEscaped) {
  const std::string name(200, 'n');
  FeatureCollector collector;
  collector.add(0, as_bytes("{\"" + name + "a\": 1, \"" + name + "b\": 1, \"<b>\": \"<i>\"}"));
  collector.add(1, as_bytes("{\"<b>\": \"<i>\"}"s));
  const std::string html = features_html(collector.report(), "");
  const std::string card = "data-key=\"" + std::string(160, 'n') + "...\"";
  EXPECT_NE(html.find(card), std::string::npos) << html;
  EXPECT_NE(html.find(card), html.rfind(card)) << "two cards";
  EXPECT_NE(html.find("&lt;b&gt;"), std::string::npos);
  EXPECT_NE(html.find("<code>&quot;&lt;i&gt;&quot;</code> 100 %"), std::string::npos) << html;
}

std::string features_of(const std::vector<std::string>& records) {
  FeatureCollector collector;
  for (std::uint64_t id = 0; id < records.size(); ++id) collector.add(id, as_bytes(records[id]));
  return features_html(collector.report(), "");
}

TEST(FeatureSectionTest, RecordsWithAnEmptyListDoNotCountAsThoseThatHaveAValue) {
  FeatureStats stats;
  stats.kind = ValueKind::ints;
  stats.records = 4;
  stats.empty_lists = 1;
  stats.least_values = stats.most_values = 1;
  stats.values = 3;
  FeaturesReport report;
  report.records = 4;
  report.features = {stats};
  EXPECT_NE(features_html(report, "").find("in 75.0 % of the records, 1 value"), std::string::npos);
}

TEST(FeatureSectionTest, OnlyWhatVariesHasAHistogram) {
  const std::string varied = features_of({R"({"n": 1, "t": "a"})", R"({"n": 2, "t": "bb"})", R"({"n": 2, "t": "c"})"});
  EXPECT_NE(varied.find("<span>1</span><span>mean 1.66667</span><span>2</span>"), std::string::npos) << varied;
  EXPECT_NE(varied.find("<span>1 B</span><span>mean length 1.33333 B</span><span>2 B</span>"), std::string::npos);
  EXPECT_NE(varied.find("1 to 2 bytes: 2 values"), std::string::npos) << varied;
  const std::string constant = features_of({R"({"n": 7, "t": "abc"})", R"({"n": 7, "t": "abd"})"});
  EXPECT_EQ(constant.find("<svg"), std::string::npos) << constant;
  EXPECT_NE(constant.find("<span>7</span><span>mean 7</span>"), std::string::npos) << constant;
  EXPECT_NE(constant.find("<span>3 B</span><span>mean length 3 B</span>"), std::string::npos) << constant;
}

TEST(ClassCountsTest, BarsHaveOneScaleAndSharesAreOfAllRecords) {
  FeatureCollector collector;
  for (std::uint64_t id = 0; id < 100; ++id) {
    const std::string name = id % 20 == 0 ? "" : "c" + std::to_string(id % 20);
    collector.add(id, as_bytes("{\"c\": \"" + name + "\"}"));
  }
  for (std::uint64_t id = 100; id < 120; ++id) collector.add(id, as_bytes("{\"x\": 1}"s));
  inspect::Inspection inspection;
  inspection.features = collector.report();
  const std::string html = classes_html(inspection);
  const auto has = [&](const std::string& name, const std::string& cells, const std::string& width) {
    return html.find(">" + name + "</th>" + cells + "<td class=\"length\"><div style=\"width:" + width + "%\">") !=
           html.npos;
  };
  EXPECT_TRUE(has("&quot;&quot;", "<td>5</td><td>4.2 %</td>", "10.0")) << html;
  EXPECT_TRUE(has("others", "<td>50</td><td>41.7 %</td>", "100.0")) << html;
  EXPECT_TRUE(has("no value", "<td>20</td><td>16.7 %</td>", "40.0")) << html;
}

TEST(RecordCardsTest, PicturesHaveSmallCardsWithACaption) {
  const std::string png = "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0crc."s;
  EXPECT_NE(card(png, png.size()).find("class=\"record picture\""), std::string::npos);
  EXPECT_EQ(card("text").find("picture"), std::string::npos);
  // {x: [png], y: [7]}
  const std::string image = "\x0A\x2C\x0A\x01x\x12\x27\x0A\x25\x0A\x23"s + png.substr(0, 33) + "\0\0"s;
  const std::string label = "\x0A\x0A\x0A\x01y\x12\x05\x1A\x03\x0A\x01\x07"s;
  const std::string record = "\x0A"s + static_cast<char>(image.size() + label.size()) + image + label;
  const std::string html = card(record, 1000);
  EXPECT_NE(html.find("class=\"record picture\""), std::string::npos) << html;
  EXPECT_NE(html.find("<p class=\"caption\">y 7</p>"), std::string::npos) << html;
  EXPECT_NE(html.find("<details>"), std::string::npos) << html;
}

TEST(RecordCardsTest, WhateverIsInARecordTheCardIsWhole) {
  // Starts of every kind, then bytes of chance: what the sanitizers and the count of elements see
  // is the test.
  const std::string example = "\x0A\x0F\x0A\x0D\x0A\x01x\x12\x08\x0A\x06\x0A\x04\xFF\xD8\xFF\xE0"s;
  const std::vector<std::string> starts = {"",
                                           "\xFF\xD8\xFF\xC0",
                                           "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR"s,
                                           "GIF89a",
                                           "RIFF\x16\0\0\0WEBPVP8X"s,
                                           "\x93NUMPY\x01\0"s,
                                           "{\"a\":",
                                           "\x1F\x8B\x08",
                                           example,
                                           "<script>"};
  std::mt19937 chance(330);  // the same on every machine
  for (int round = 0; round < 20'000; ++round) {
    std::string record = starts[chance() % starts.size()];
    const std::size_t more = chance() % 64;
    for (std::size_t i = 0; i < more; ++i) record += static_cast<char>(chance() % 256);
    if (!record.empty() && round % 2 == 0) record[chance() % record.size()] = static_cast<char>(chance() % 256);
    const std::string html = card(std::string(record), 1'000);
    EXPECT_TRUE(format::is_utf8(html)) << round;
    EXPECT_EQ(html.find("<script"), std::string::npos) << round;
    EXPECT_TRUE(html.starts_with("<article") && html.ends_with("</article>\n")) << round;
    EXPECT_FALSE(content_json(as_bytes(record)).empty()) << round;
    EXPECT_EQ(content_json(as_bytes(record)).find('\n'), std::string::npos) << round;
  }
}

TEST(BlockMapTest, EveryBlockIsInOneCell) {
  const auto shards = shards_of({5, 0, 1, 7});
  for (const std::size_t most : {1u, 2u, 5u, 13u, 100u}) {
    const BlockMap map = map_blocks(shards, most);
    EXPECT_LE(map.cells.size(), most);
    std::uint64_t blocks = 0;
    for (const BlockCell& cell : map.cells) {
      EXPECT_EQ(cell.first_block, blocks);
      EXPECT_EQ(cell.records, 2 * cell.blocks);
      EXPECT_EQ(cell.raw_bytes, 100 * cell.blocks);
      EXPECT_EQ(cell.stored_bytes, 50 * cell.blocks);
      EXPECT_LE(cell.blocks, map.blocks_per_cell);
      blocks += cell.blocks;
    }
    EXPECT_EQ(blocks, 13u) << most;
  }
}

TEST(BlockMapTest, WithoutBlocksThereIsNoCell) {
  EXPECT_TRUE(map_blocks({}, 10).cells.empty());
  const auto shards = shards_of({0, 0});
  EXPECT_TRUE(map_blocks(shards, 10).cells.empty());
  EXPECT_EQ(block_map_svg(map_blocks(shards, 10), shards).find("<rect"), std::string::npos);
}

TEST(BlockMapTest, CellsNameTheShardInWhichTheyBegin) {
  const auto shards = shards_of({5, 1, 7});
  const BlockMap map = map_blocks(shards, 13);
  ASSERT_EQ(map.cells.size(), 13u);
  EXPECT_EQ(map.cells[4].first_shard, 0u);
  EXPECT_EQ(map.cells[5].first_shard, 1u);
  EXPECT_EQ(map.cells[6].first_shard, 2u);
  const std::string svg = block_map_svg(map, shards);
  EXPECT_NE(svg.find("block 6 from shard 2, shard 2: 2 records, 100 bytes raw, 50 stored, compressed"),
            std::string::npos);
  EXPECT_NE(svg.find("not compressed"), std::string::npos);
}

}  // namespace
}  // namespace dovetail::tools
