// SPDX-License-Identifier: Apache-2.0
// docs/format.md against the code: its tables, its limits, its messages and its worked example.
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "format/crc32c/crc32c.h"
#include "tests/format/golden_shards.h"

namespace dovetail::format {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string& specification() {
  static const std::string text = read_text(DOVETAIL_SOURCE_DIR "/docs/format.md");
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The text from the heading to the next one.
std::string section(const std::string& heading) {
  const std::string& text = specification();
  const std::size_t begin = text.find("\n" + heading + "\n");
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find("\n#", begin + heading.size());
  return text.substr(begin, end - begin);
}

/// The inside of the fenced block of that language.
std::string fenced(const std::string& language) {
  const std::string& text = specification();
  const std::string fence = "\n```" + language + "\n";
  const std::size_t begin = text.find(fence);
  if (begin == std::string::npos) return {};
  const std::size_t start = begin + fence.size();
  return text.substr(start, text.find("\n```", start) + 1 - start);
}

/// The rows of the section's table whose first cell is not a heading, each as its cells.
std::vector<std::vector<std::string>> rows_of(const std::string& heading) {
  std::vector<std::vector<std::string>> rows;
  int line_number = 0;
  for (const std::string& line : lines_of(section(heading))) {
    if (!line.starts_with("| ") && !line.starts_with("|---")) continue;
    if (++line_number <= 2) continue;
    std::vector<std::string> cells;
    std::istringstream stream(line.substr(1));
    for (std::string cell; std::getline(stream, cell, '|');) {
      const std::size_t first = cell.find_first_not_of(' ');
      cells.push_back(first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
    }
    rows.push_back(cells);
  }
  return rows;
}

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  EXPECT_TRUE(error == std::errc{} && end == text.data() + text.size()) << text;
  return value;
}

/// Bytes of a type: u8, u16, u32, u64 or u8[n].
std::uint64_t bytes_of(const std::string& type) {
  if (type.starts_with("u8[") && type.ends_with("]")) return number(type.substr(3, type.size() - 4));
  EXPECT_TRUE(type.starts_with("u")) << type;
  return number(type.substr(1)) / 8;
}

struct Structure {
  std::string heading;
  std::size_t bytes;
  std::map<std::string, std::size_t> offsets;
};

const Structure kStructures[] = {
    {"## File header",
     kFileHeaderBytes,
     {{"magic", file_header::kMagic},
      {"major", file_header::kMajor},
      {"minor", file_header::kMinor},
      {"shard_number", file_header::kShardNumber},
      {"dataset_id", file_header::kDatasetId},
      {"must_understand", file_header::kMustUnderstand},
      {"may_ignore", file_header::kMayIgnore},
      {"reserved", file_header::kReserved},
      {"crc", file_header::kCrc}}},
    {"## Block header",
     kBlockHeaderBytes,
     {{"sync", block_header::kSync},
      {"type", block_header::kType},
      {"codec", block_header::kCodec},
      {"reserved", block_header::kReserved},
      {"offset", block_header::kOffset},
      {"first_record", block_header::kFirstRecord},
      {"sequence", block_header::kSequence},
      {"records", block_header::kRecords},
      {"stored_bytes", block_header::kStoredBytes},
      {"raw_bytes", block_header::kRawBytes},
      {"table_bytes", block_header::kTableBytes},
      {"payload_crc", block_header::kPayloadCrc},
      {"file_id", block_header::kFileId},
      {"reserved2", block_header::kReserved2},
      {"crc", block_header::kCrc}}},
    {"### Index entry",
     kIndexEntryBytes,
     {{"offset", index_entry::kOffset},
      {"records", index_entry::kRecords},
      {"stored_bytes", index_entry::kStoredBytes},
      {"raw_bytes", index_entry::kRawBytes},
      {"table_bytes", index_entry::kTableBytes},
      {"payload_crc", index_entry::kPayloadCrc},
      {"codec", index_entry::kCodec},
      {"reserved", index_entry::kReserved}}},
    {"### TFRecord index entry",
     kTfrecordIndexEntryBytes,
     {{"records", tfrecord_index_entry::kRecords},
      {"stored_bytes", tfrecord_index_entry::kStoredBytes},
      {"footers_crc", tfrecord_index_entry::kFootersCrc}}},
    {"## Trailer",
     kTrailerBytes,
     {{"magic", trailer::kMagic},
      {"file_bytes", trailer::kFileBytes},
      {"footer_offset", trailer::kFooterOffset},
      {"records", trailer::kRecords},
      {"blocks", trailer::kBlocks},
      {"file_id", trailer::kFileId},
      {"reserved", trailer::kReserved},
      {"crc", trailer::kCrc}}},
};

void PrintTo(const Structure& structure, std::ostream* os) {
  *os << structure.heading;
}

class FormatDocTableTest : public ::testing::TestWithParam<Structure> {};

TEST_P(FormatDocTableTest, HasTheOffsetsOfTheCodeAndNoGap) {
  std::map<std::string, std::size_t> offsets;
  std::uint64_t end = 0;
  for (const auto& row : rows_of(GetParam().heading)) {
    ASSERT_GE(row.size(), 3u);
    EXPECT_EQ(number(row[0]), end) << row[2];
    end = number(row[0]) + bytes_of(row[1]);
    offsets[row[2]] = number(row[0]);
  }
  EXPECT_EQ(end, GetParam().bytes);
  EXPECT_EQ(offsets, GetParam().offsets);
}

INSTANTIATE_TEST_SUITE_P(All, FormatDocTableTest, ::testing::ValuesIn(kStructures));

TEST(FormatDocTest, HasTheLimitsOfTheCode) {
  const std::map<std::string, std::uint64_t> expected = {
      {"max_record_bytes", kMaxRecordBytes},
      {"max_shared_block_bytes", kMaxSharedBlockBytes},
      {"max_block_records", kMaxBlockRecords},
      {"max_compressed_raw_bytes", kMaxCompressedRawBytes},
      {"max_snappy_expansion", kMaxSnappyExpansion},
      {"snappy_slack_bytes", kSnappySlackBytes},
      {"max_zstd_expansion", kMaxZstdExpansion},
      {"max_metadata_bytes", kMaxMetadataBytes},
      {"max_shard_blocks", kMaxShardBlocks},
      {"max_index_bytes", kMaxIndexBytes},
      {"max_footer_bytes", kMaxFooterBytes},
      {"tail_bytes", kTailBytes},
      {"max_shard_records", kMaxShardRecords},
      {"max_run_records", kMaxRunRecords},
      {"max_file_bytes", kMaxFileBytes},
      {"max_manifest_entry_bytes", kMaxManifestEntryBytes},
      {"max_shard_name_bytes", kMaxShardNameBytes},
      {"min_block_target", kMinBlockTarget},
      {"max_block_target", kMaxBlockTarget},
      {"max_run_bytes", kMaxRunBytes},
  };
  std::map<std::string, std::uint64_t> found;
  for (const auto& row : rows_of("## Limits")) found[row.at(0)] = number(row.at(1));
  EXPECT_EQ(found, expected);
}

std::string hex(std::span<const std::uint8_t> bytes, const char* separator) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    if (!text.empty()) text += separator;
    text += {kDigits[byte >> 4], kDigits[byte & 0xF]};
  }
  return text;
}

TEST(FormatDocTest, HasTheConstantsOfTheCode) {
  const auto says = [](const std::string& heading, const std::string& words) {
    return section(heading).find(words) != std::string::npos;
  };
  EXPECT_TRUE(says("## File header", "`" + hex(kFileMagic, " ") + "`"));
  EXPECT_TRUE(says("## Trailer", "`" + hex(kTrailerMagic, " ") + "`"));
  EXPECT_TRUE(says("## File header", "| 8 | u16 | major | " + std::to_string(kVersionMajor) + " |"));
  EXPECT_TRUE(says("## File header", "| 10 | u16 | minor | " + std::to_string(kVersionMinor) + " |"));
  EXPECT_TRUE(says("## Block header", "0x4B4C4244"));
  EXPECT_EQ(kBlockSync, 0x4B4C4244u);
  EXPECT_TRUE(says("## Block header", "1 metadata, 2 data, 3 index, 4 footer"));
  EXPECT_TRUE(says("## Manifest", std::string("`") + kManifestName + "`"));
  EXPECT_TRUE(says("## Manifest", std::string("`") + kManifestRecordType + "`"));
  EXPECT_TRUE(says("## Manifest", std::string("`") + kPartRecordType + "`"));
  EXPECT_TRUE(says("## Manifest", "0xFFFFFFFD"));
  EXPECT_EQ(kPartShardNumber, 0xFFFFFFFDu);
  EXPECT_TRUE(says("## Conventions", "0xE3069283"));
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xE3069283u);
}

TEST(FormatDocTest, HasTheMessagesOfTheCode) {
  const std::string proto = read_text(DOVETAIL_SOURCE_DIR "/format/dovetail.proto");
  EXPECT_EQ(fenced("proto"), proto.substr(proto.find("syntax")));
}

/// Reads `offset: bytes ; note` lines, where bytes are hex pairs or `00*count`.
std::string parse_dump(const std::string& dump) {
  std::string bytes;
  for (const std::string& line : lines_of(dump)) {
    const std::string content = line.substr(0, line.find(';'));
    const std::size_t colon = content.find(':');
    if (colon == std::string::npos) continue;
    EXPECT_EQ(std::stoul(content.substr(0, colon), nullptr, 16), bytes.size()) << line;
    std::istringstream tokens(content.substr(colon + 1));
    for (std::string token; tokens >> token;) {
      const std::size_t times = token.find('*');
      const std::size_t count = times == std::string::npos ? 1 : number(token.substr(times + 1));
      bytes.append(count, static_cast<char>(std::stoul(token.substr(0, 2), nullptr, 16)));
    }
  }
  return bytes;
}

TEST(FormatDocTest, WorkedExampleIsWhatTheEncoderWrites) {
  const test::Bytes expected = test::worked_example().bytes;
  const std::string documented = parse_dump(fenced("dump"));
  const std::string_view written = as_chars(expected);
  ASSERT_EQ(documented.size(), written.size());
  for (std::size_t i = 0; i < written.size(); ++i) ASSERT_EQ(documented[i], written[i]) << "offset " << i;
}

}  // namespace
}  // namespace dovetail::format
