// SPDX-License-Identifier: Apache-2.0
#include "inspect/payload.h"

#include <algorithm>
#include <numeric>

#include "format/example/example_wire.h"
#include "format/text/json_check.h"
#include "format/text/utf8.h"

namespace dovetail::inspect {

namespace {

using namespace std::string_view_literals;

/// Control characters that occur in texts. The last one begins colour codes in logs.
constexpr std::string_view kControls = "\t\n\v\f\r\x1B";

struct PayloadWords {
  std::string_view name;
  std::string_view description;
  std::string_view image_type;
};

constexpr std::array<PayloadWords, kPayloads> kWords{{{"empty", "no bytes", ""},
                                                      {"example", "tf.train.Example", ""},
                                                      {"json", "JSON", ""},
                                                      {"text", "text", ""},
                                                      {"jpeg", "JPEG image", "image/jpeg"},
                                                      {"png", "PNG image", "image/png"},
                                                      {"gif", "GIF image", "image/gif"},
                                                      {"webp", "WebP image", "image/webp"},
                                                      {"numpy", "NumPy array", ""},
                                                      {"gzip", "gzip", ""},
                                                      {"raw", "other bytes", ""}}};

const PayloadWords& words(Payload payload) noexcept {
  return kWords[static_cast<std::size_t>(payload)];
}

/// The head of a file. A byte beyond the end reads as 0, so the checks below need no bounds.
class Head {
 public:
  explicit Head(ByteView bytes) : bytes_(as_chars(bytes)) {}

  std::size_t size() const noexcept { return bytes_.size(); }
  bool has(std::size_t offset, std::string_view text) const noexcept {
    return offset <= size() && bytes_.substr(offset).starts_with(text);
  }
  std::uint32_t byte(std::size_t offset) const noexcept {
    return offset < size() ? static_cast<unsigned char>(bytes_[offset]) : 0;
  }
  std::uint32_t big16(std::size_t offset) const noexcept { return byte(offset) << 8 | byte(offset + 1); }
  std::uint32_t big32(std::size_t offset) const noexcept { return big16(offset) << 16 | big16(offset + 2); }
  std::uint32_t little16(std::size_t offset) const noexcept { return byte(offset) | byte(offset + 1) << 8; }
  std::uint32_t little24(std::size_t offset) const noexcept { return little16(offset) | byte(offset + 2) << 16; }
  std::uint32_t little32(std::size_t offset) const noexcept { return little24(offset) | byte(offset + 3) << 24; }

 private:
  std::string_view bytes_;
};

/// Markers of frame headers, without the tables and extensions in their range.
bool is_jpeg_frame(std::uint32_t marker) noexcept {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

std::optional<ImageSize> jpeg_size(const Head& head) noexcept {
  if (!head.has(0, "\xFF\xD8\xFF"sv)) return {};
  for (std::size_t at = 2; at + 9 <= head.size() && head.byte(at) == 0xFF;) {
    const std::uint32_t marker = head.byte(at + 1);
    if (marker == 0xFF) {  // padding
      ++at;
      continue;
    }
    if (is_jpeg_frame(marker)) return ImageSize{head.big16(at + 7), head.big16(at + 5)};
    const std::uint32_t length = head.big16(at + 2);
    if (length < 2 || marker == 0xDA) return {};
    at += 2 + length;
  }
  return {};
}

std::optional<ImageSize> png_size(const Head& head) noexcept {
  if (!head.has(0, "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR"sv) || head.size() < 33) return {};
  return ImageSize{head.big32(16), head.big32(20)};
}

std::optional<ImageSize> gif_size(const Head& head) noexcept {
  if ((!head.has(0, "GIF87a") && !head.has(0, "GIF89a")) || head.size() < 14) return {};
  ImageSize size{head.little16(6), head.little16(8)};
  // Browsers enlarge the screen to the size of the first frame, which follows the palette and the
  // extension blocks.
  const unsigned flags = head.byte(10);
  std::size_t at = 13 + ((flags & 0x80) != 0 ? std::size_t{6} << (flags & 7) : 0);
  while (at + 2 < head.size() && head.byte(at) == 0x21) {
    for (at += 2; at < head.size() && head.byte(at) != 0;) at += 1 + std::size_t{head.byte(at)};
    ++at;
  }
  if (at + 9 < head.size() && head.byte(at) == 0x2C) {
    size.width = std::max<std::uint32_t>(size.width, std::uint32_t{head.little16(at + 1)} + head.little16(at + 5));
    size.height = std::max<std::uint32_t>(size.height, std::uint32_t{head.little16(at + 3)} + head.little16(at + 7));
  }
  return size;
}

std::optional<ImageSize> webp_size(const Head& head) noexcept {
  if (!head.has(0, "RIFF") || !head.has(8, "WEBP") || head.size() < 30) return {};
  if (std::uint64_t{head.little32(4)} + 8 > head.size()) return {};
  if (head.has(12, "VP8X")) return ImageSize{head.little24(24) + 1, head.little24(27) + 1};
  if (head.has(12, "VP8L")) {
    const std::uint32_t bits = head.little32(21);
    return ImageSize{(bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1};
  }
  if (head.has(12, "VP8 ")) return ImageSize{head.little16(26) & 0x3FFF, head.little16(28) & 0x3FFF};
  return {};
}

bool is_gzip(const Head& head) noexcept {
  constexpr std::size_t kLeastBytes = 18;
  return head.has(0, "\x1F\x8B\x08"sv) && (head.byte(3) & 0xE0) == 0 && head.size() >= kLeastBytes;
}

/// What serializers write for an Example without features.
constexpr std::string_view kNoFeatures = "\x0A\0"sv;

bool is_example(ByteView record) {
  format::ExampleFeatures features;
  return as_chars(record) == kNoFeatures || (features.parse(record) && !features.all().empty());
}

bool is_text(std::string_view bytes) noexcept {
  const auto is_allowed = [](char c) {
    return (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) || kControls.find(c) != std::string_view::npos;
  };
  return std::all_of(bytes.begin(), bytes.end(), is_allowed) && format::is_utf8(bytes);
}

bool is_json_container(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool begins = first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
  return begins && !format::check_json(text);
}

}  // namespace

std::string_view to_string(Payload payload) noexcept {
  return words(payload).name;
}

std::string_view describe(Payload payload) noexcept {
  return words(payload).description;
}

std::string_view image_type(Payload payload) noexcept {
  return words(payload).image_type;
}

std::optional<ImageSize> image_size(Payload payload, ByteView record) noexcept {
  const Head head(record);
  std::optional<ImageSize> size;
  if (payload == Payload::jpeg) size = jpeg_size(head);
  if (payload == Payload::png) size = png_size(head);
  if (payload == Payload::gif) size = gif_size(head);
  if (payload == Payload::webp) size = webp_size(head);
  if (size && (size->width == 0 || size->height == 0)) size.reset();
  return size;
}

std::string_view numpy_header(ByteView record) noexcept {
  const Head head(record);
  if (!head.has(0, "\x93NUMPY"sv) || head.byte(6) < 1 || head.byte(6) > 3) return {};
  const bool short_length = head.byte(6) == 1;
  const std::size_t start = short_length ? 10 : 12;
  const std::size_t length = short_length ? head.little16(8) : head.little32(8);
  if (length == 0 || start + length > head.size()) return {};
  if (!head.has(start, "{") || !head.has(start + length - 1, "\n")) return {};
  return as_chars(record).substr(start, length);
}

Payload guess_payload(ByteView record) {
  if (record.empty()) return Payload::empty;
  for (const Payload image : {Payload::jpeg, Payload::png, Payload::gif, Payload::webp}) {
    if (image_size(image, record)) return image;
  }
  if (!numpy_header(record).empty()) return Payload::numpy;
  if (is_gzip(Head(record))) return Payload::gzip;
  const std::string_view text = as_chars(record);
  if (is_text(text)) return is_json_container(text) ? Payload::json : Payload::text;
  return is_example(record) ? Payload::example : Payload::raw;
}

std::uint64_t PayloadCounts::total() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Payload PayloadCounts::guess() const noexcept {
  return static_cast<Payload>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

std::vector<std::pair<Payload, std::uint64_t>> PayloadCounts::by_count() const {
  std::vector<std::pair<Payload, std::uint64_t>> found;
  for (std::size_t i = 0; i < kPayloads; ++i) {
    if (counts[i] > 0) found.emplace_back(static_cast<Payload>(i), counts[i]);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return found;
}

}  // namespace dovetail::inspect
