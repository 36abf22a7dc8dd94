// SPDX-License-Identifier: Apache-2.0
#include "tools/command/build_options.h"

#include "format/crc32c/crc32c_backends.h"
#include "tools/command/render.h"

namespace dovetail::tools {

namespace {

std::string or_none(std::string_view text) {
  return text.empty() ? "none" : std::string(text);
}

std::string compiler() {
#if defined(__clang__)
  return "clang " + std::to_string(__clang_major__) + '.' + std::to_string(__clang_minor__) + '.' +
         std::to_string(__clang_patchlevel__);
#else
  return "gcc " __VERSION__;
#endif
}

std::string crc() {
  const format::Crc32cChoice& choice = format::crc32c_choice();
  std::string small = choice.small.name;
  if (small == choice.large.name) return small;
  return std::string(choice.large.name) + ", " + small + " below " + std::to_string(format::kCrc32cLargeBytes) +
         " bytes";
}

}  // namespace

std::string version() {
  return DOVETAIL_VERSION;
}

std::string version_text() {
  Listing listing;
  listing.add("compiler", compiler());
  listing.add("build type", or_none(DOVETAIL_BUILD_TYPE));
  listing.add("sanitizers", or_none(DOVETAIL_BUILD_SANITIZERS));
  listing.add("CUDA", or_none(DOVETAIL_BUILD_CUDA));
  listing.add("io_uring", or_none(DOVETAIL_BUILD_URING));
  listing.add("Snappy decoder", DOVETAIL_BUILD_SNAPPY_DECODER);
  listing.add("CRC32C here", crc());
  std::string text = listing.to_text();
  text.pop_back();  // CLI11 adds the last line break
  return "dovetail " + version() + '\n' + text;
}

}  // namespace dovetail::tools
