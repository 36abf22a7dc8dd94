// SPDX-License-Identifier: Apache-2.0
#include <dovetail/convert.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "convert/conversion.h"
#include "convert/parts.h"
#include "convert/put_away.h"
#include "convert/target_lock.h"
#include "convert/work_folder.h"
#include "format/guard_memory.h"
#include "format/try.h"
#include "writer/output_folder.h"

namespace dovetail {

namespace {

using detail::WholePart;
using detail::WorkFolder;

Error missing_part(const ConvertPart& part, const std::string& folder, const std::string& why) {
  return Error(Errc::unfinished, "part " + std::to_string(part.number) + " of " + std::to_string(part.parts) + " " +
                                     why + "; convert it with --part " + std::to_string(part.number) + "/" +
                                     std::to_string(part.parts))
      .in_file(folder);
}

// The parts that are there, by the names of their folders and in their order: at least one, and all of one count.
Result<std::vector<ConvertPart>> list_parts(const std::string& target, const detail::OutputFolder& folder,
                                            const std::vector<std::string>& names) {
  std::vector<ConvertPart> parts;
  for (const std::string& name : names) {
    const auto part = detail::part_of_work_folder(name);
    if (!part) continue;
    if (part->parts > detail::kMaxParts) {
      return Error(Errc::manifest_mismatch, "no conversion has more than " + std::to_string(detail::kMaxParts) +
                                                " parts; remove what does not belong here")
          .in_file(folder.path_of(name));
    }
    if (!parts.empty() && parts.front().parts != part->parts) {
      const auto [few, many] = std::minmax(parts.front().parts, part->parts);
      return Error(Errc::manifest_mismatch, "there are parts of " + std::to_string(few) + " and of " +
                                                std::to_string(many) + "; remove those that do not belong here")
          .in_file(target);
    }
    parts.push_back(*part);
  }
  if (parts.empty()) return Error(Errc::empty_input, "the folder holds no parts of a conversion").in_file(target);
  std::sort(parts.begin(), parts.end(), [](const ConvertPart& a, const ConvertPart& b) { return a.number < b.number; });
  return parts;
}

Result<void> check_alike(const WholePart& first, const WholePart& other, const WorkFolder& work) {
  auto differs = other.facts.difference_from(first.facts, detail::Facts::kLocal);
  if (!differs && other.dataset_id != first.dataset_id) differs = "the dataset id";
  if (!differs && other.shards.size() != first.shards.size()) differs = "the number of datasets";
  if (!differs) return {};
  return Error(Errc::manifest_mismatch, "the part was not converted like part 0: " + *differs)
      .in_file(work.folder()->path());
}

Result<std::uint32_t> number_of_shards(const WholePart& part, const std::string& path) {
  const std::string& text = part.facts["shards"];
  std::uint32_t shards = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), shards);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) return shards;
  return Error(Errc::bad_message, "not the manifest of a part: it names no number of shards").in_file(path);
}

Result<void> check_range(const WholePart& part, const WorkFolder& work) {
  const ConvertPart& number = work.part();
  DOVETAIL_ASSIGN(const auto all, number_of_shards(part, work.folder()->path()));
  const std::uint32_t wanted = detail::first_shard_of(number.number + 1, number.parts, all) -
                               detail::first_shard_of(number.number, number.parts, all);
  const bool right =
      !part.shards.empty() && std::all_of(part.shards.begin(), part.shards.end(),
                                          [wanted](const auto& infos) { return infos.size() == wanted; });
  if (right) return {};
  return Error(Errc::manifest_mismatch,
               "the part does not hold the " + std::to_string(wanted) + " shards that it should")
      .in_file(work.folder()->path());
}

/// What is there of a conversion in parts.
struct Gathered {
  std::vector<ConvertPart> parts;
  std::vector<WholePart> contents;  // of all parts, as long as none is lacking
  std::optional<Error> lacking;     // the first that is missing, or not finished
};

// Gives the part with its lock; nothing where it went away meanwhile.
Result<std::optional<WorkFolder>> look_at(const std::string& target, const ConvertPart& part, Gathered& gathered) {
  auto work = WorkFolder::open(target, part);
  if (!work && work.error().code() == boost::system::errc::no_such_file_or_directory) {
    if (!gathered.lacking) gathered.lacking = missing_part(part, target, "is missing");
    return std::nullopt;
  }
  if (!work) return work.error();
  gathered.parts.push_back(part);
  DOVETAIL_ASSIGN(auto whole, detail::read_part(*work));
  if (!whole && !gathered.lacking) {
    gathered.lacking = missing_part(part, work->folder()->path(), "is not finished");
  }
  if (gathered.lacking) return std::optional(std::move(*work));
  DOVETAIL_TRY(check_range(*whole, *work));
  if (!gathered.contents.empty()) {
    DOVETAIL_TRY(check_alike(gathered.contents.front(), *whole, *work));
    (*whole).facts = {};  // those of the first, a line for each source: of a hundred thousand parts they are too many
  }
  gathered.contents.push_back(std::move(*whole));
  return std::optional(std::move(*work));
}

// Of the parts one after the other, each while its lock is held; gives the first of them, which keeps its lock: unlike that of the
// target it keeps other mergings away on NFS, too.
Result<std::optional<WorkFolder>> gather(const std::string& target, const std::vector<ConvertPart>& parts,
                                         Gathered& gathered) {
  const std::uint32_t count = parts.front().parts;
  std::optional<WorkFolder> first;
  std::uint32_t next = 0;
  for (const ConvertPart& part : parts) {
    if (part.number != next && !gathered.lacking) gathered.lacking = missing_part({next, count}, target, "is missing");
    next = part.number + 1;
    DOVETAIL_ASSIGN(auto work, look_at(target, part, gathered));
    if (!first && work) first.emplace(std::move(*work));
  }
  if (next != count && !gathered.lacking) gathered.lacking = missing_part({next, count}, target, "is missing");
  return first;
}

Result<ConvertReport> merge_parts(const std::string& target, bool overwrite) {
  std::error_code unknown;
  if (std::filesystem::is_regular_file(target, unknown)) {
    return Error(Errc::invalid_option, "this is a file: give the folder that the parts were converted to")
        .in_file(target);
  }
  // For all of it: parts that nobody works on stay so.
  DOVETAIL_ASSIGN(const auto lock, detail::TargetLock::take(target));
  DOVETAIL_ASSIGN(const auto names, lock.folder().names());
  detail::sweep_away(lock.folder(), names);
  DOVETAIL_ASSIGN(const auto parts, list_parts(target, lock.folder(), names));
  Gathered gathered;
  DOVETAIL_ASSIGN(auto first, gather(target, parts, gathered));
  std::optional<ConvertReport> report;
  if (!gathered.lacking) {
    DOVETAIL_ASSIGN(auto assembled, detail::assemble(target, gathered.parts, gathered.contents, overwrite));
    report = std::move(assembled);
  } else if (first) {
    DOVETAIL_ASSIGN(auto earlier, detail::merged_earlier(target, gathered.parts));
    report = std::move(earlier);
  }
  if (!report) return *gathered.lacking;
  detail::remove_parts(target, gathered.parts, *first);
  return std::move(*report);
}

}  // namespace

Result<ConvertReport> convert(const std::string& folder, const ConvertOptions& options) {
  return detail::guard_memory(folder, [&]() -> Result<ConvertReport> {
    auto report = detail::Conversion(folder, options).run();
    // Memory that was short for the output.
    if (!report && report.error().kind() == ErrorKind::io && report.error().path().empty()) {
      return report.error().in_file(folder);
    }
    return report;
  });
}

Result<ConvertReport> merge(const std::string& folder, bool overwrite) {
  return detail::guard_memory(folder, [&] { return merge_parts(folder, overwrite); });
}

}  // namespace dovetail
