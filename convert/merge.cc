// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/convert.h>

#include "convert/conversion.h"
#include "convert/part_files.h"
#include "convert/publish_parts.h"
#include "format/guard_memory.h"
#include "format/try.h"
#include "writer/staging.h"
#include "writer/target.h"

namespace dovetail {

namespace {

using detail::OutputFolder;
using detail::PartFiles;
using detail::WholePart;

Error missing_part(const ConvertPart& part, const std::string& folder, const std::string& why) {
  const std::string number = std::to_string(part.number);
  const std::string parts = std::to_string(part.parts);
  return Error(Errc::unfinished,
               "part " + number + " of " + parts + " " + why + "; convert it with --part " + number + "/" + parts)
      .in_file(folder);
}

// Returns the number of parts, by the names of their files: at least one.
Result<std::uint32_t> number_of_parts(const OutputFolder& folder, const std::vector<std::string>& marks) {
  std::optional<std::uint32_t> parts;
  for (const std::string& name : marks) {
    const auto part = PartFiles::part_of(name);
    if (!part) continue;
    if (part->parts > detail::kMaxParts) {
      return Error(Errc::manifest_mismatch, "a conversion has at most " + std::to_string(detail::kMaxParts) +
                                                " parts; remove the files that do not belong here")
          .in_file(folder.path_of(name));
    }
    if (parts && *parts != part->parts) {
      const auto [few, many] = std::minmax(*parts, part->parts);
      return Error(Errc::manifest_mismatch, "there are parts of " + std::to_string(few) + " and of " +
                                                std::to_string(many) + "; remove those that do not belong here")
          .in_file(folder.path());
    }
    parts = part->parts;
  }
  if (!parts) return Error(Errc::empty_input, "the folder has no parts of a conversion").in_file(folder.path());
  return *parts;
}

Result<void> check_alike(const WholePart& first, const WholePart& other, const std::string& path) {
  auto differs = other.spec.difference_from(first.spec, detail::ConversionSpec::kLocal);
  if (!differs && other.dataset_id != first.dataset_id) differs = "the dataset id";
  if (!differs && other.shards.size() != first.shards.size()) differs = "the number of datasets";
  if (!differs) return {};
  return Error(Errc::manifest_mismatch, "the part was not converted like part 0: " + *differs).in_file(path);
}

Result<void> check_range(const WholePart& part, const ConvertPart& number, const std::string& path) {
  const auto all = detail::shards_of(part.spec);
  if (!all)
    return Error(Errc::bad_message, "not the manifest of a part: the number of shards is missing").in_file(path);
  const std::uint32_t wanted = detail::first_shard_of(number.number + 1, number.parts, *all) -
                               detail::first_shard_of(number.number, number.parts, *all);
  const auto is_right = [wanted](const auto& infos) { return infos.size() == wanted; };
  if (!part.shards.empty() && std::all_of(part.shards.begin(), part.shards.end(), is_right)) return {};
  return Error(Errc::manifest_mismatch,
               "the part does not hold the " + std::to_string(wanted) + " shards that it should")
      .in_file(path);
}

Result<std::vector<WholePart>> read_parts(const OutputFolder& folder, std::uint32_t count) {
  std::vector<WholePart> parts;
  for (ConvertPart number{0, count}; number.number != count; ++number.number) {
    const PartFiles files(number);
    const std::string path = folder.path_of(files.manifest());
    DOVETAIL_ASSIGN(auto part, files.read(folder));
    if (!part) {
      DOVETAIL_ASSIGN(const bool begun, folder.contains(files.conversion()));
      return missing_part(number, folder.path(), begun ? "is not finished" : "is missing");
    }
    DOVETAIL_TRY(check_range(*part, number, path));
    if (!parts.empty()) {
      DOVETAIL_TRY(check_alike(parts.front(), *part, path));
      part->spec = {};  // a spec has a line per source, too much memory for many parts
    }
    parts.push_back(std::move(*part));
  }
  return parts;
}

Result<ConvertReport> merge_parts(const std::string& target, bool overwrite) {
  DOVETAIL_ASSIGN(auto staging, detail::Staging::find(target));
  if (!staging) {
    return Error(Errc::empty_input,
                 "no part of a conversion is here; give the folder that all were converted to; if it "
                 "was merged earlier, nothing is left to do")
        .in_file(target);
  }
  const OutputFolder& folder = *staging->folder();
  DOVETAIL_ASSIGN(const auto names, detail::dataset_names(folder));
  if (staging->is_published()) {
    std::vector<std::string> outputs = names.folders;
    if (outputs.empty()) outputs.emplace_back();
    DOVETAIL_ASSIGN(auto report, detail::published_report(staging->target(), outputs));
    DOVETAIL_TRY(staging->tidy());
    return report;
  }
  DOVETAIL_ASSIGN(const std::uint32_t count, number_of_parts(folder, names.marks));
  DOVETAIL_ASSIGN(const auto parts, read_parts(folder, count));
  DOVETAIL_ASSIGN(auto report, detail::publish_parts(*staging, parts, overwrite));
  DOVETAIL_TRY(staging->tidy());
  return report;
}

}  // namespace

Result<ConvertReport> merge(const std::string& folder, bool overwrite) {
  return detail::guard_memory(folder, [&]() -> Result<ConvertReport> {
    DOVETAIL_ASSIGN(ConvertReport report, merge_parts(folder, overwrite));
    report.notes = detail::conversion_notes(report, /*shuffled=*/false, /*run_bytes=*/0);
    return report;
  });
}

}  // namespace dovetail
