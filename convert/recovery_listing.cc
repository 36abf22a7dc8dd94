// SPDX-License-Identifier: Apache-2.0
#include "convert/recovery_listing.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <tuple>
#include <utility>

#include <dovetail/dataset.h>

#include "convert/shard_scan.h"
#include "convert/source_file.h"
#include "format/layout.h"
#include "writer/dataset_files.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

namespace {

constexpr std::string_view kPartialMark = ".partial-";

/// A file that may be a shard, by its name.
struct Candidate {
  std::string name;
  bool finished = true;
  std::optional<std::uint32_t> number;
  std::uint64_t bytes = 0;
};

// What a writer that was killed leaves is `.NAME.partial-PID-RANDOM`.
std::optional<Candidate> candidate_of(const std::string& name) {
  std::string_view final_name = name;
  const std::size_t mark = name.rfind(kPartialMark);
  const bool partial = name.starts_with('.') && mark != std::string::npos;
  if (partial) final_name = final_name.substr(1, mark - 1);
  if (!final_name.ends_with(format::kShardSuffix) || final_name == format::kManifestName) return std::nullopt;
  return Candidate{name, !partial, shard_number_of(final_name), 0};
}

// The number in the file counts, that in its name only where the file has none.
bool look_into(const std::string& folder, Candidate& candidate) {
  auto file = SourceFile::open((std::filesystem::path(folder) / candidate.name).native());
  if (!file) return true;  // told when it is its turn
  candidate.bytes = file->size();
  auto id = identify_shard(*file);
  if (!id) return true;
  if (*id) candidate.number = static_cast<std::uint32_t>(**id);
  return candidate.number != format::kManifestShardNumber && candidate.number != format::kTfrecordIndexShardNumber;
}

Result<std::vector<Candidate>> candidates_in(const std::string& folder) {
  auto opened = OutputFolder::open(folder);
  if (!opened) return opened.error();
  auto names = (*opened)->names();
  if (!names) return names.error();
  std::vector<Candidate> candidates;
  for (const std::string& name : *names) {
    std::optional<Candidate> candidate = candidate_of(name);
    if (!candidate) continue;
    if (look_into(folder, *candidate)) candidates.push_back(std::move(*candidate));
  }
  // Files without a number come last; of one number a finished one first, then the longest.
  const auto key = [](const Candidate& c) {
    return std::tuple(!c.number, c.number.value_or(0), !c.finished, c.finished ? 0 : ~c.bytes,
                      std::string_view(c.name));
  };
  std::sort(candidates.begin(), candidates.end(),
            [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
  return candidates;
}

Result<void> list_folder(const std::string& folder, RecoveryListing& listing) {
  auto candidates = candidates_in(folder);
  if (!candidates) return candidates.error();
  std::uint64_t next = 0;
  for (const Candidate& candidate : *candidates) {
    const std::string path = (std::filesystem::path(folder) / candidate.name).native();
    if (candidate.number && !candidate.finished && std::uint64_t{*candidate.number} < next) {
      listing.passed_over.push_back(path);
      continue;
    }
    if (candidate.number && *candidate.number > next) {
      const bool one = *candidate.number - next == 1;
      const std::string missing =
          one ? "shard " + std::to_string(next) + " is"
              : "shards " + std::to_string(next) + " to " + std::to_string(*candidate.number - 1) + " are";
      listing.lost.push_back(
          {.file = folder, .reason = missing + " missing; how many records were in it is not known"});
    }
    if (candidate.number) next = std::uint64_t{*candidate.number} + 1;
    listing.shards.push_back({path, std::nullopt, std::nullopt});
  }
  if (listing.shards.empty()) {
    return Error(Errc::empty_input, "neither a manifest nor a file *.dvt is here").in_file(folder);
  }
  return {};
}

void take_manifest(const Dataset& dataset, RecoveryListing& listing) {
  listing.has_manifest = true;
  for (std::uint32_t i = 0; i < dataset.shards().size(); ++i) {
    auto path = checked_shard_path(dataset, i);
    ListedShard shard{path ? *path : dataset.shard_path(i), dataset.shards()[i], std::nullopt};
    if (!path) shard.unreadable = path.error();
    listing.shards.push_back(std::move(shard));
  }
}

}  // namespace

Result<RecoveryListing> list_for_recovery(const std::string& folder, const std::string& manifest, bool allow_outside) {
  RecoveryListing listing;
  auto dataset = Dataset::open(manifest, {.allow_outside = allow_outside});
  if (dataset && dataset->has_manifest()) {
    take_manifest(*dataset, listing);
    return listing;
  }
  std::error_code ignored;
  const bool there = std::filesystem::exists(manifest, ignored);
  if (there && !dataset && dataset.error().kind() != ErrorKind::damaged) return dataset.error();
  const std::string why = there && !dataset ? dataset.error().to_string() : "there is none";
  const std::uintmax_t bytes = there ? std::filesystem::file_size(manifest, ignored) : 0;
  listing.lost.push_back({.file = manifest,
                          .bytes = ignored ? 0 : bytes,
                          .reason = "the manifest: " + why + "; the shards are those in the folder"});
  if (auto listed = list_folder(folder.empty() ? "." : folder, listing); !listed) return listed.error();
  return listing;
}

}  // namespace dovetail::detail
