// SPDX-License-Identifier: Apache-2.0
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "convert/conversion.h"
#include "format/staging_names.h"
#include "format/text/wildcard.h"
#include "format/try.h"
#include "writer/writer_options.h"

namespace dovetail::detail {

namespace {

constexpr std::uint64_t kLeastMemory = std::uint64_t{1} << 20;

namespace fs = std::filesystem;

bool lies_in(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// Without this check, a second run would pack the output of the first, or a dataset would replace
// its own source. Publishing replaces everything in the target and in its staging folder.
Result<void> check_outside(const std::string& folder, const std::string& source) {
  std::error_code failed;
  const fs::path target = fs::weakly_canonical(folder, failed);
  if (failed) return {};  // creating the folder reports a better error
  const fs::path origin = fs::weakly_canonical(source, failed);
  if (failed || fs::is_regular_file(target, failed)) return {};
  for (const fs::path& replaced : {target, fs::path(target.native() + std::string(format::kStagingSuffix))}) {
    if (lies_in(origin, replaced)) {
      return Error(Errc::invalid_option, "the source lies in " + replaced.native() +
                                             ", which the output folder replaces; move it, or give another folder")
          .in_file(source);
    }
  }
  if (!fs::is_directory(origin, failed) || !lies_in(target, origin)) return {};
  return Error(Errc::invalid_option, "the output folder " + folder + " lies in a source").in_file(source);
}

// A pattern may also match files in the target.
Result<void> check_sources_outside(const std::string& folder, const std::string& source) {
  std::error_code unknown;
  if (!format::has_wildcard(source) || fs::exists(source, unknown)) return check_outside(folder, source);
  struct Matches {
    glob_t found{};
    ~Matches() { ::globfree(&found); }
  } matches;
  if (::glob(source.c_str(), GLOB_NOSORT, nullptr, &matches.found) != 0) {
    return {};  // opening the source reports the reason
  }
  std::string last;
  for (std::size_t i = 0; i != matches.found.gl_pathc; ++i) {
    const char* const match = matches.found.gl_pathv[i];
    const std::string folder_of_match = fs::path(match).parent_path().native();
    if (folder_of_match == std::exchange(last, folder_of_match)) continue;
    DOVETAIL_TRY(check_outside(folder, match));
  }
  return {};
}

// The user must not set class names that differ from those of the records.
Result<void> check_metadata(const std::map<std::string, std::string>& metadata) {
  constexpr std::string_view kReserved = "dovetail.";
  const auto first = metadata.lower_bound(std::string(kReserved));
  if (first == metadata.end() || !first->first.starts_with(kReserved)) return {};
  return Error(Errc::invalid_option, "metadata: the key " + first->first + ": keys that begin with " +
                                         std::string(kReserved) + " are Dovetail's own; choose another");
}

}  // namespace

Result<void> check_options(const std::string& folder, const ConvertOptions& options) {
  DOVETAIL_TRY(check_metadata(options.writer.shard.metadata));
  DOVETAIL_TRY(validate(options.writer));
  if (options.writer.shards != 0 || options.writer.expected_records != 0 || options.writer.encode_threads != 0) {
    return Error(
        Errc::invalid_option,
        "writer.shards, writer.expected_records and writer.encode_threads do not apply to conversions; use shards "
        "and jobs");
  }
  DOVETAIL_TRY(check_range("shards", options.shards, 0, kMaxShards));
  DOVETAIL_TRY(check_range("jobs", options.jobs, 0, kMaxThreads));
  DOVETAIL_TRY(check_range("memory_bytes", options.memory_bytes, kLeastMemory, ~std::uint64_t{0}));
  if (options.infer_schema && options.writer.shard.schema) {
    return Error(Errc::invalid_option, "infer_schema: a schema is given too; leave one of them out");
  }
  if (options.part) {
    const ConvertPart& part = *options.part;
    DOVETAIL_TRY(check_range("part.parts", part.parts, 1, kMaxParts));
    DOVETAIL_TRY(check_range("part.number", part.number, 0, part.parts - 1));
  }
  for (const std::string& source : options.sources) {
    DOVETAIL_TRY(check_sources_outside(folder, source));
  }
  return {};
}

}  // namespace dovetail::detail
