// SPDX-License-Identifier: Apache-2.0
#include "inspect/payload.h"

#include <string>

#include <gtest/gtest.h>

namespace dovetail::inspect {
namespace {

using namespace std::string_literals;

Payload guess(const std::string& record) {
  return guess_payload(as_bytes(record));
}

std::string png(char width, char height) {
  return "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\0"s + width + "\0\0\0"s + height + "\x08\x02\0\0\0crc."s +
         "\0\0\0\0IEND"s;
}

/// Tables, padding, then the frame header with height and width.
std::string jpeg() {
  return "\xFF\xD8\xFF\xE0\0\x04xy\xFF\xFF\xC4\0\x03z\xFF\xC0\0\x11\x08\0\x20\0\x40\x03rest"s;
}

TEST(PayloadTest, ImagesAreToldWithTheirSizes) {
  const std::string gif = "GIF89a\x05\0\x07\0\0\0\0\x3B"s;
  // Two colours, an extension of two blocks, then a frame that is larger than the screen.
  const std::string large = "GIF89a\x05\0\x07\0\x80\0\0RGBRGB!\xF9\x01x\x02yz\0,\x01\0\0\0\x09\0\x04\0\0"s;
  const std::string lossless = "RIFF\x16\0\0\0WEBPVP8L\x0A\0\0\0\x2F\x09\x40\x02\0\0\0\0\0\0"s;
  const std::string extended = "RIFF\x16\0\0\0WEBPVP8X\x0A\0\0\0\0\0\0\0\x09\0\0\x13\0\0"s;
  struct Case {
    std::string bytes;
    Payload payload;
    std::uint32_t width;
    std::uint32_t height;
  };
  for (const Case& image : {Case{png(3, 4), Payload::png, 3, 4}, Case{jpeg(), Payload::jpeg, 64, 32},
                            Case{gif, Payload::gif, 5, 7}, Case{large, Payload::gif, 10, 7},
                            Case{lossless, Payload::webp, 10, 10}, Case{extended, Payload::webp, 10, 20}}) {
    SCOPED_TRACE(describe(image.payload));
    EXPECT_EQ(guess(image.bytes), image.payload);
    const auto size = image_size(image.payload, as_bytes(image.bytes));
    ASSERT_TRUE(size);
    EXPECT_EQ(size->width, image.width);
    EXPECT_EQ(size->height, image.height);
    EXPECT_NE(image_type(image.payload), "");
  }
}

TEST(PayloadTest, AMagicNumberAloneIsNoImage) {
  for (const std::string& bytes :
       {"\x89PNG\r\n\x1A\n"s, png(0, 4), "\xFF\xD8\xFF"s, "\xFF\xD8\xFF\xE0\xFF\xFF"s,
        "\xFF\xD8\xFF\xE0\0\0\0\0\0\0\0"s, "RIFF\x10\0\0\0WEBP"s,
        "RIFF\xFF\xFF\xFF\xFFWEBPVP8X\x0A\0\0\0\0\0\0\0\x09\0\0\x13\0\0"s, "\x93NUMPY"s, "\x1F\x8B\x08"s}) {
    EXPECT_EQ(guess(bytes), Payload::raw) << bytes;
  }
  EXPECT_EQ(guess("GIF89a"), Payload::text);
}

TEST(PayloadTest, EveryCutOfAnImageIsSafeToLookAt) {
  for (const std::string& whole : {png(3, 4), jpeg()}) {
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      const std::string cut(whole.data(), size);  // its own allocation, so that a sanitizer sees its end
      EXPECT_EQ(guess(cut) == Payload::empty, size == 0);
    }
  }
}

TEST(PayloadTest, FilesOfOtherKindsAreTold) {
  EXPECT_EQ(guess("\x93NUMPY\x01\0\x06\0{'a'}\nxxxx"s), Payload::numpy);
  EXPECT_EQ(guess("\x93NUMPY\x01\0\xFF\0{'a'}\n"s), Payload::raw);
  EXPECT_EQ(guess("\x1F\x8B\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0"s), Payload::gzip);
  EXPECT_EQ(guess(""), Payload::empty);
  EXPECT_EQ(guess("\xFF\xFE\xFD"s), Payload::raw);
}

TEST(PayloadTest, AnExampleIsReadToItsEnd) {
  // One feature "x" without a list.
  const std::string record = "\x0A\x07\x0A\x05\x0A\x01x\x12\0"s;
  EXPECT_EQ(guess(record), Payload::example);
  EXPECT_EQ(guess(record + '\xFF'), Payload::raw);
  for (std::size_t size = 1; size < record.size(); ++size) {
    EXPECT_NE(guess(record.substr(0, size)), Payload::example) << size;
  }
}

TEST(PayloadTest, AnExampleMayHaveNoFeatures) {
  EXPECT_EQ(guess("\x0A\0"s), Payload::example);    // as serializers write it
  EXPECT_EQ(guess("\x1A\x01x"s), Payload::raw);     // only a field that no Example has
  EXPECT_EQ(guess("\x0A\0\x0A\0"s), Payload::raw);  // twice: more likely numbers
}

TEST(PayloadTest, TextIsUtf8WithoutOtherControlCharacters) {
  EXPECT_EQ(guess("plain\n\ttext\r\n"), Payload::text);
  EXPECT_EQ(guess("na\xC3\xAFve"), Payload::text);
  EXPECT_EQ(guess("na\xC3"), Payload::raw);
  EXPECT_EQ(guess("nul\0inside"s), Payload::raw);
}

TEST(PayloadTest, JsonIsOneObjectOrArray) {
  EXPECT_EQ(guess(" {\"a\": [1, 2.5e300, null]}\n"), Payload::json);
  EXPECT_EQ(guess("[]"), Payload::json);
  EXPECT_EQ(guess("[1e999999]"), Payload::json);
  for (const char* text : {"1", "true", "\"x\"", "{", "{} {}", "[1,]", "{\"a\":}", "[NaN]", "[] trailing", " "}) {
    EXPECT_EQ(guess(text), Payload::text) << text;
  }
}

TEST(PayloadTest, DeepJsonIsTextAndNoStackOverflow) {
  EXPECT_EQ(guess(std::string(256, '[') + std::string(256, ']')), Payload::json);
  EXPECT_EQ(guess(std::string(257, '[') + std::string(257, ']')), Payload::text);
  EXPECT_EQ(guess(std::string(1'000'000, '[')), Payload::text);
}

TEST(PayloadTest, TheMostFrequentPayloadIsTheGuess) {
  PayloadCounts counts;
  counts.add(Payload::text);
  counts.add(Payload::raw);
  counts.add(Payload::raw);
  EXPECT_EQ(counts.guess(), Payload::raw);
  EXPECT_EQ(counts.total(), 3u);
  counts.add(Payload::text);
  EXPECT_EQ(counts.guess(), Payload::text);
}

}  // namespace
}  // namespace dovetail::inspect
