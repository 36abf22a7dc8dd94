// SPDX-License-Identifier: Apache-2.0
// The content of the staging folder that a conversion finds, keeps and removes.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "convert/conversion.h"
#include "format/layout.h"
#include "format/staging_names.h"
#include "format/text/shell_quoted.h"
#include "format/try.h"
#include "writer/dataset_files.h"
#include "writer/target.h"

namespace dovetail::detail {

Result<void> Conversion::open_staging() {
  const auto access = options_.part ? FileLock::Access::shared : FileLock::Access::exclusive;
  std::vector<std::string> datasets;
  for (const SplitShare& share : options_.split) datasets.push_back(share.name);
  for (;;) {
    DOVETAIL_ASSIGN(auto staging, Staging::open(target_, access, Overwrite(options_.writer.shard.overwrite, datasets)));
    staging_.emplace(std::move(staging));
    if (!options_.part || !staging_->is_published()) return {};
    DOVETAIL_TRY(staging_->tidy());  // the other parts wait for this
    staging_.reset();
  }
}

Result<void> Conversion::lock_part() {
  const OutputFolder& folder = *staging_->folder();
  DOVETAIL_ASSIGN(const auto names, dataset_names(folder));
  if (options_.resume || options_.part) {  // otherwise all of it is dropped
    DOVETAIL_TRY(check_counts(folder, names.marks, part_));
  }
  if (!options_.part) return {};
  DOVETAIL_ASSIGN(auto lock, FileLock::take(folder, own_.lock(), FileLock::Access::exclusive));
  part_lock_.emplace(std::move(lock));
  return {};
}

void Conversion::unlock_part() {
  if (!part_lock_) return;
  (void)staging_->folder()->remove(own_.lock());
  part_lock_.reset();
}

// All parts staged together must belong to one conversion.
Result<void> Conversion::check_other_parts() const {
  const OutputFolder& folder = *staging_->folder();
  DOVETAIL_ASSIGN(const auto names, dataset_names(folder));
  for (const std::string& name : names.marks) {
    const auto other = PartFiles::part_of(name);
    if (!other || other->number == part_.number || name != PartFiles(*other).conversion()) continue;
    DOVETAIL_ASSIGN(const auto spec, PartFiles(*other).read_spec(folder));
    const auto differs = spec ? spec_.difference_from(*spec, ConversionSpec::kLocal) : std::nullopt;
    if (!differs) break;
    return Error(Errc::state_mismatch, "a part here was converted with other input or options: " + *differs +
                                           "; convert all parts from the same input with the same options, or remove "
                                           "this folder")
        .in_file(folder.path());
  }
  return {};
}

Result<void> Conversion::begin(const std::optional<ConversionSpec>& earlier) {
  if (!earlier) {
    DOVETAIL_TRY(check_nobody_elses());
    DOVETAIL_TRY(remove_earlier(false));
    keep_staged_ = false;
    return own_.write_spec(staging_->folder(), spec_);
  }
  if (auto differs = spec_.difference_from(*earlier, {})) {
    return Error(Errc::state_mismatch, "another conversion is unfinished here: " + *differs +
                                           "; continue it with its own input and options, or give --no-resume "
                                           "to drop its finished shards")
        .in_file(staging_->folder()->path());
  }
  return remove_earlier(true);
}

// The shards of a killed `DatasetWriter` exist nowhere else, so the conversion must not remove
// them.
Result<void> Conversion::check_nobody_elses() const {
  if (!options_.resume) return {};
  DOVETAIL_ASSIGN(auto names, dataset_names(*staging_->folder()));
  std::erase(names.marks, own_.lock());
  // Partial files of this part's own marks, which were never finished.
  const auto is_own = [this](const std::string& name) { return own_.has(name); };
  if (!names.marks.empty() || std::all_of(names.files.begin(), names.files.end(), is_own)) return {};
  return Error(Errc::already_exists, "a writer, not a conversion, was stopped here; `dovetail recover " +
                                         format::shell_path(staging_->folder()->path()) +
                                         " DST` saves its records, --no-resume drops them")
      .in_file(staging_->folder()->path());
}

// Removes the shards of this part, by the range of the earlier conversion, and partial files.
Result<void> Conversion::remove_earlier(bool only_partial) const {
  const OutputFolder& staged = *staging_->folder();
  if (!options_.part && !only_partial) return staging_->clear();
  const auto earlier = own_.read_spec(staged);
  const std::uint32_t shards = earlier && *earlier ? shards_of(**earlier).value_or(shards_) : shards_;
  const std::uint32_t begin = first_shard_of(part_.number, part_.parts, shards);
  const std::uint32_t end = first_shard_of(part_.number + 1, part_.parts, shards);
  const auto is_own = [&](const std::string& name) {
    if (name == format::kManifestName) return true;  // left by a merge that was stopped
    const bool partial = format::is_partial_name(name);
    if (only_partial && !partial) return false;
    if (own_.has(name)) return name != own_.lock();
    const auto shard = shard_number_of(format::final_name(name));
    return shard ? *shard >= begin && *shard < end : !options_.part && partial;
  };
  DOVETAIL_ASSIGN(const auto names, dataset_names(staged));
  std::vector<std::string> folders = names.folders;
  folders.emplace_back();  // last, because the spec lies there
  if (!only_partial) {
    DOVETAIL_TRY(staged.remove(own_.manifest()));
  }
  for (const std::string& name : folders) {
    DOVETAIL_ASSIGN(const auto folder, staging_->output(name));
    DOVETAIL_ASSIGN(const auto files, folder->names());
    for (const std::string& file : files) {
      if (!is_own(file)) continue;
      DOVETAIL_TRY(folder->remove(file));
    }
  }
  return {};
}

// Some shards may have been removed or damaged since the part was finished.
Result<std::optional<WholePart>> Conversion::finished_part() const {
  auto whole = own_.read(*staging_->folder());
  if (!whole || !*whole) return whole;
  for (std::size_t i = 0; i != std::min(split_->outputs(), (**whole).shards.size()); ++i) {
    DOVETAIL_ASSIGN(const auto folder, staging_->output(split_->name(i)));
    for (const ShardInfo& info : (**whole).shards[i]) {
      const std::uint32_t number = shard_number_of(info.name).value_or(0);
      DOVETAIL_ASSIGN(const auto found, finished_shard(*folder, number, (**whole).dataset_id));
      if (found && *found == info) continue;
      DOVETAIL_TRY(staging_->folder()->remove(own_.manifest()));
      return std::nullopt;
    }
  }
  return whole;
}

void Conversion::remove_part() {
  if (!options_.part) return staging_->remove();
  const auto removed = remove_earlier(false);
  unlock_part();
  if (removed) staging_->remove_if_empty();
}

}  // namespace dovetail::detail
