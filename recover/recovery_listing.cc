// SPDX-License-Identifier: Apache-2.0
#include "recover/recovery_listing.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <boost/system/errc.hpp>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "format/layout.h"
#include "format/staging_names.h"
#include "format/text/hex.h"
#include "format/try.h"
#include "recover/salvage_file.h"
#include "sources/bytes/names.h"
#include "writer/dataset_files.h"
#include "writer/file_lock.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

namespace {

/// A file whose name suggests a shard.
struct Candidate {
  std::string name;
  bool finished = true;
  std::optional<std::uint32_t> number;
  std::optional<std::uint64_t> file_id = {};
  std::uint64_t bytes = 0;
};

using Candidates = std::vector<Candidate>;

std::uint32_t dataset_half(std::uint64_t file_id) noexcept {
  return static_cast<std::uint32_t>(file_id >> 32);
}

std::string path_in(const std::string& folder, const Candidate& candidate) {
  return (std::filesystem::path(folder) / candidate.name).native();
}

// A killed writer leaves `.NAME.partial-PID-RANDOM`. macOS puts `._NAME` beside files on foreign
// disks; these are no shards.
std::optional<Candidate> candidate_of(const std::string& name) {
  if (name.starts_with("._")) return std::nullopt;
  const std::string_view shard = format::final_name(name);
  if (!shard.ends_with(format::kShardSuffix) || shard == format::kManifestName) return std::nullopt;
  return Candidate{.name = name, .finished = !format::is_partial_name(name), .number = shard_number_of(shard)};
}

// Returns whether a file is a shard. The number in the file counts; the number in the name only
// counts if the file has none.
Result<bool> look_into(const std::string& folder, const CheckedBytes& checked, Candidate& candidate) {
  auto file = SalvageFile::open(path_in(folder, candidate));
  if (!file && (ends_recovery(file.error()) || file.error().is(Errc::unfinished))) return file.error();
  if (!file) return true;  // reported when it is its turn
  candidate.bytes = file->size();
  DOVETAIL_ASSIGN(candidate.file_id, search_identity(*file, checked));
  if (candidate.file_id) candidate.number = static_cast<std::uint32_t>(*candidate.file_id);
  return why_no_shard(candidate.number, {}) == nullptr;
}

Result<Candidates> candidates_in(const std::string& folder, const CheckedBytes& checked, RecoveryListing& listing) {
  DOVETAIL_ASSIGN(auto opened, OutputFolder::open(folder));
  DOVETAIL_ASSIGN(auto names, opened->names());
  const auto above = OutputFolder::open((std::filesystem::path(folder.empty() ? "." : folder) / "..").native());
  const auto is_written = [](const OutputFolder& staged) {
    return is_locked(staged, format::kStagingLock, FileLock::Access::exclusive);
  };
  if (is_written(*opened) || (above && is_written(**above))) {  // a lock above the datasets of a split
    return Error(Errc::unfinished, "a writer is running here; wait until it has ended").in_file(folder);
  }
  std::sort(names.begin(), names.end());
  Candidates candidates;
  for (const std::string& name : names) {
    std::optional<Candidate> candidate = candidate_of(name);
    if (!candidate) continue;
    DOVETAIL_ASSIGN(auto wanted, look_into(folder, checked, *candidate));
    if (wanted)
      candidates.push_back(std::move(*candidate));
    else
      listing.not_shards.push_back(path_in(folder, *candidate));
  }
  return candidates;
}

/// What the files of a folder hold of one dataset.
struct Holding {
  std::set<std::uint32_t> numbers;
  std::uint64_t finished = 0;
  std::uint64_t bytes = 0;

  auto rank() const noexcept { return std::tuple(numbers.size(), finished, bytes); }
};

std::optional<std::uint32_t> fullest_dataset(const Candidates& candidates) {
  std::map<std::uint32_t, Holding> holdings;
  for (const Candidate& candidate : candidates) {
    if (!candidate.file_id) continue;
    Holding& holding = holdings[dataset_half(*candidate.file_id)];
    holding.numbers.insert(*candidate.number);
    holding.finished += candidate.finished ? 1 : 0;
    holding.bytes += candidate.bytes;
  }
  const auto fullest = std::max_element(holdings.begin(), holdings.end(),
                                        [](const auto& a, const auto& b) { return a.second.rank() < b.second.rank(); });
  return fullest == holdings.end() ? std::nullopt : std::optional(fullest->first);
}

void lose_other_datasets(const std::string& folder, Candidates& candidates, RecoveryListing& listing) {
  const std::optional<std::uint32_t> taken = fullest_dataset(candidates);
  std::erase_if(candidates, [&](const Candidate& candidate) {
    if (!candidate.file_id || dataset_half(*candidate.file_id) == taken) return false;
    const std::string path = path_in(folder, candidate);
    listing.lost.push_back({.file = path,
                            .bytes = candidate.bytes,
                            .reason = "a shard of another dataset (id half " +
                                      format::hex64(*candidate.file_id).substr(0, 8) +
                                      "); its number of records is unknown"});
    listing.foreign.push_back(path);
    return true;
  });
}

// Files without a file id hold no shard. The number in such a file's name must not displace a file
// with that number inside.
void drop_claimed_numbers(const std::string& folder, Candidates& candidates, RecoveryListing& listing) {
  std::set<std::uint32_t> numbers;
  for (const Candidate& candidate : candidates) {
    if (candidate.file_id) numbers.insert(*candidate.number);
  }
  std::erase_if(candidates, [&](Candidate& candidate) {
    if (candidate.file_id || !candidate.number || !numbers.contains(*candidate.number)) return false;
    candidate.number.reset();
    if (!candidate.finished) listing.passed_over.push_back(path_in(folder, candidate));
    return !candidate.finished;
  });
}

// Order: by shard number, finished files before unfinished, longer before shorter. Files without a
// number come last.
void sort_candidates(Candidates& candidates) {
  const auto key = [](const Candidate& c) {
    return std::tuple(!c.number, c.number.value_or(0), !c.finished, ~c.bytes, std::string_view(c.name));
  };
  std::sort(candidates.begin(), candidates.end(),
            [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
}

// Chooses among sorted files of one number: the finished file with a valid end, or else the first.
// Passes over the others.
const Candidate& choose(const std::string& folder, std::span<const Candidate> same, RecoveryListing& listing) {
  const auto is_good = [&](const Candidate& each) { return each.finished && describe_shard(path_in(folder, each)); };
  auto best = same.size() > 1 ? std::find_if(same.begin(), same.end(), is_good) : same.begin();
  if (best == same.end()) best = same.begin();
  for (const Candidate& each : same) {
    if (&each != &*best) listing.passed_over.push_back(path_in(folder, each));
  }
  return *best;
}

Result<void> list_folder(const std::string& folder, const CheckedBytes& checked, RecoveryListing& listing) {
  DOVETAIL_ASSIGN(auto candidates, candidates_in(folder, checked, listing));
  lose_other_datasets(folder, candidates, listing);
  drop_claimed_numbers(folder, candidates, listing);
  sort_candidates(candidates);
  std::uint64_t next = 0;
  const std::span<const Candidate> all(candidates);
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    const std::optional<std::uint32_t> number = all[begin].number;
    for (end = begin + 1; number && end < all.size() && all[end].number == number;) ++end;
    const Candidate& best = choose(folder, all.subspan(begin, end - begin), listing);
    if (number && *number > next) {
      const bool one = *number - next == 1;
      const std::string missing =
          one ? "shard " + std::to_string(next) + " is"
              : "shards " + std::to_string(next) + " to " + std::to_string(*number - 1) + " are";
      listing.lost.push_back({.file = folder, .reason = missing + " missing; the number of records lost is unknown"});
    }
    if (number) next = std::uint64_t{*number} + 1;
    listing.shards.push_back({.path = path_in(folder, best), .file_id = best.file_id});
  }
  if (listing.shards.empty()) {
    return Error(Errc::empty_input, "the folder has neither a manifest nor a file *.dvt").in_file(folder);
  }
  return {};
}

Result<void> take_manifest(const Dataset& dataset, RecoveryListing& listing) {
  listing.has_manifest = true;
  for (std::uint32_t i = 0; i < dataset.shards().size(); ++i) {
    auto path = checked_shard_path(dataset, i);
    if (!path && ends_recovery(path.error())) return path.error();
    ListedShard shard{.path = path ? *path : dataset.shard_path(i), .entry = dataset.shards()[i]};
    if (!path) shard.unreadable = path.error();
    listing.shards.push_back(std::move(shard));
  }
  return {};
}

}  // namespace

const char* why_no_shard(std::optional<std::uint32_t> shard_number, std::string_view record_type) noexcept {
  struct Kind {
    std::uint32_t shard_number;
    std::string_view record_type;
    const char* advice;
  };
  constexpr std::array kKinds = {
      Kind{format::kTfrecordIndexShardNumber, format::kTfrecordIndexRecordType,
           "this is the index of a TFRecord file; `dovetail index` recreates it"},
      Kind{format::kPartShardNumber, format::kPartRecordType,
           "this is the manifest of a part of a conversion; recover its folder"},
      Kind{format::kManifestShardNumber, format::kManifestRecordType, "this is a manifest; recover its folder"},
  };
  const auto* const kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& each) {
    return shard_number == each.shard_number || record_type == each.record_type;
  });
  return kind == kKinds.end() ? nullptr : kind->advice;
}

bool ends_recovery(const Error& error) {
  const bool missing = error.code() == boost::system::errc::no_such_file_or_directory;
  const bool lost = missing || is_of_the_medium(error);
  return error.kind() == ErrorKind::cancelled || (error.kind() == ErrorKind::io && !lost) ||
         error.is(Errc::file_changed) || error.is(Errc::unsupported_version) || error.is(Errc::outside_dataset);
}

Result<RecoveryListing> list_for_recovery(const std::string& folder, const std::string& manifest, bool allow_outside,
                                          const CheckedBytes& checked) {
  RecoveryListing listing;
  std::error_code ignored;
  // Opening a folder of this name as a dataset would open a different dataset.
  auto dataset = std::filesystem::is_directory(manifest, ignored)
                     ? Result<Dataset>(Error(Errc::unknown_format, "this is a folder").in_file(manifest))
                     : Dataset::open(manifest, {.allow_outside = allow_outside});
  if (dataset && dataset->has_manifest()) {
    DOVETAIL_TRY(take_manifest(*dataset, listing));
    return listing;
  }
  // The manifest is lost, even if another file has its name.
  const bool there = std::filesystem::exists(manifest, ignored);
  if (there && !dataset && ends_recovery(dataset.error())) return dataset.error();
  const std::string why = there && !dataset ? dataset.error().to_string() : "there is none";
  const bool file = std::filesystem::is_regular_file(manifest, ignored);
  const std::uintmax_t bytes = file ? std::filesystem::file_size(manifest, ignored) : 0;
  listing.lost.push_back({.file = manifest,
                          .bytes = ignored ? 0 : bytes,
                          .reason = "the manifest: " + why + "; the shards are those in the folder"});
  DOVETAIL_TRY(list_folder(folder.empty() ? "." : folder, checked, listing));
  return listing;
}

}  // namespace dovetail::detail
