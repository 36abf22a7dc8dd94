// SPDX-License-Identifier: Apache-2.0
#include "packed.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <dovetail/convert.h>
#include <dovetail/dataset.h>

namespace digits {

namespace {

std::string make_scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "digits-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  return name;
}

}  // namespace

Packed::Packed(const std::string& path, std::uint32_t shards) : path_(path) {
  if (dovetail::Dataset::open(path)) return;
  scratch_ = make_scratch();
  path_ = scratch_ + "/dataset";
  dovetail::ConvertOptions options;
  options.sources = {path};
  options.shards = shards;
  const dovetail::ConvertReport report = dovetail::convert(path_, options).value();
  std::printf("packed %s: %llu records in %zu shards\n", path.c_str(), static_cast<unsigned long long>(report.records),
              report.datasets.front().shards.size());
}

Packed::~Packed() {
  std::error_code ignored;
  if (!scratch_.empty()) std::filesystem::remove_all(scratch_, ignored);
}

}  // namespace digits
