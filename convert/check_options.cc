// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

#include "convert/conversion.h"
#include "format/address.h"
#include "format/layout.h"
#include "format/try.h"
#include "writer/writer_options.h"

namespace dovetail::detail {

namespace {

constexpr std::uint64_t kLeastMemory = std::uint64_t{1} << 20;

Error out_of_range(const char* name, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  return Error(Errc::invalid_option, std::string(name) + " = " + std::to_string(value) + ": must be " +
                                         std::to_string(least) + " to " + std::to_string(most));
}

// Whether a file of this name, which may be a glob, is one that a dataset replaces or removes.
bool is_of_dataset(const std::string& name) {
  return name.ends_with(format::kShardSuffix) || name.find_first_of("*?[") != std::string::npos;
}

// Otherwise a second run would pack what the first has written, or a dataset take the place of its own source.
Result<void> check_outside(const std::string& folder, const std::string& source) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path target = fs::weakly_canonical(folder, failed);
  if (failed) return {};  // what keeps it from being found will keep it from being made, and said better there
  const fs::path origin = fs::weakly_canonical(source, failed);
  if (failed) return {};
  if (!fs::is_directory(origin, failed)) {
    if (origin.parent_path() != target || !is_of_dataset(origin.filename().native())) return {};
    return Error(Errc::invalid_option, "the output folder " + folder + " holds the source").in_file(source);
  }
  if (std::mismatch(origin.begin(), origin.end(), target.begin(), target.end()).first != origin.end()) return {};
  return Error(Errc::invalid_option, "the output folder " + folder + " lies in a source").in_file(source);
}

// Before input is read, which may take long.
Result<void> check_output_folder(const std::string& folder) {
  if (folder.empty()) return Error(Errc::invalid_option, "folder = \"\": must name a folder");
  if (format::is_address(folder)) {
    return Error(Errc::invalid_option,
                 "this is an address, and datasets are written to this machine: give a folder, and copy that")
        .in_file(folder);
  }
  std::error_code failed;
  if (std::filesystem::exists(folder, failed) && !std::filesystem::is_directory(folder, failed)) {
    return Error(Errc::invalid_option, "this is a file, and a dataset is a folder: give another path").in_file(folder);
  }
  return {};
}

// A list of classes that is not that of the records would be carried on as theirs.
Result<void> check_metadata(const std::map<std::string, std::string>& metadata) {
  constexpr std::string_view kReserved = "dovetail.";
  const auto first = metadata.lower_bound(std::string(kReserved));
  if (first == metadata.end() || !first->first.starts_with(kReserved)) return {};
  return Error(Errc::invalid_option, "metadata: the key " + first->first + ": keys that begin with " +
                                         std::string(kReserved) + " are Dovetail's own; choose another");
}

}  // namespace

Result<void> check_options(const std::string& folder, const ConvertOptions& options) {
  DOVETAIL_TRY(check_output_folder(folder));
  DOVETAIL_TRY(check_metadata(options.writer.shard.metadata));
  DOVETAIL_TRY(validate(options.writer));
  if (options.writer.shards != 0 || options.writer.expected_records != 0 || options.writer.encode_threads != 0) {
    return Error(Errc::invalid_option,
                 "writer.shards, writer.expected_records and writer.encode_threads are not for conversions; use shards "
                 "and jobs");
  }
  if (options.shards > kMaxShards) return out_of_range("shards", options.shards, 0, kMaxShards);
  if (options.jobs > kMaxEncodeThreads) return out_of_range("jobs", options.jobs, 0, kMaxEncodeThreads);
  if (options.memory_bytes < kLeastMemory) {
    return out_of_range("memory_bytes", options.memory_bytes, kLeastMemory, ~std::uint64_t{0});
  }
  if (options.part) {
    const ConvertPart& part = *options.part;
    if (part.parts == 0 || part.parts > kMaxParts) return out_of_range("part.parts", part.parts, 1, kMaxParts);
    if (part.number >= part.parts) return out_of_range("part.number", part.number, 0, part.parts - 1);
  }
  for (const std::string& source : options.sources) {
    DOVETAIL_TRY(check_outside(folder, source));
    for (const SplitShare& share : options.split) {
      const std::string output = (std::filesystem::path(folder) / share.name).native();
      DOVETAIL_TRY(check_outside(output, source));
    }
  }
  return {};
}

}  // namespace dovetail::detail
