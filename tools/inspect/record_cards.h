// SPDX-License-Identifier: Apache-2.0
// Records on the inspection page: pictures, the features of Examples, text, or bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "format/example/example_wire.h"
#include "inspect/payload.h"
#include "tools/records/record_input.h"

namespace dovetail::tools {

/// Turns records into HTML cards. Cards with pictures are small and form a contact sheet. Records
/// are untrusted: all text is escaped and cut. Pictures are embedded unchanged, up to a size each,
/// a total of bytes and a total of pixels.
class RecordCards {
 public:
  /// A browser decodes a whole picture at 4 bytes per pixel, even to show it small.
  static constexpr std::uint64_t kMostPixelsOfOne = 50'000'000;
  static constexpr std::uint64_t kMostPixels = 2 * kMostPixelsOfOne;

  explicit RecordCards(std::size_t most_image_bytes) : image_bytes_left_(most_image_bytes) {}

  void add(const PlacedRecord& record);

  std::size_t records() const noexcept { return records_; }
  std::size_t images() const noexcept { return images_; }
  /// Pictures left out because of a limit.
  std::size_t images_left_out() const noexcept { return images_left_out_; }
  const std::string& html() const noexcept { return html_; }

 private:
  void add_image(ByteView image, inspect::Payload payload, const std::string& name);
  void add_features(const format::ExampleFeatures& features);
  void add_bytes_value(ByteView value);
  void add_text(std::string_view text);
  void add_dump(ByteView bytes);

  std::string html_;
  std::size_t image_bytes_left_;
  std::uint64_t pixels_left_ = kMostPixels;
  std::size_t records_ = 0;
  std::size_t images_ = 0;
  std::size_t images_left_out_ = 0;
};

}  // namespace dovetail::tools
