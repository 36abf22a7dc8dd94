// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>

#include <dovetail/record_reader.h>

#include "convert/parts.h"
#include "convert/shard_tally.h"
#include "format/layout.h"
#include "format/try.h"
#include "writer/dataset_files.h"
#include "writer/output_file.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

namespace {

// What a part has for a dataset: which of all shards. Its folder is open only while it is looked at, because there may be more
// parts than descriptors.
struct Stock {
  ConvertPart part;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// One dataset on its way to its place.
///
/// Once an old manifest may be gone or a shard may have its name, an error leaves the partial manifest, as a kill does: without
/// it the shards that are in their place would look like a whole dataset.
class Assembly {
 public:
  /// The dataset `output` of a split; the only one where that is empty.
  static Result<Assembly> begin(const std::string& target, const std::string& output, DatasetId id, bool overwrite) {
    DOVETAIL_ASSIGN(auto folder,
                    OutputFolder::create(output.empty() ? target : (std::filesystem::path(target) / output).native()));
    return Assembly(target, output, std::move(folder), id, overwrite);
  }
  Assembly(Assembly&&) = default;
  Assembly& operator=(Assembly&&) = default;
  ~Assembly() {
    if (begun_ && !published_) manifest_->leave();
  }

  void add(const ConvertPart& part, const std::vector<ShardInfo>& shards) {
    const auto begin = static_cast<std::uint32_t>(info_.shards.size());
    info_.shards.insert(info_.shards.end(), shards.begin(), shards.end());
    stocks_.push_back({part, begin, static_cast<std::uint32_t>(info_.shards.size())});
  }

  // Before anything is changed: is each shard there, and nothing in its way?
  Result<void> check() {
    for (const Stock& stock : stocks_) {
      DOVETAIL_ASSIGN(auto folder, open(stock));
      for (std::uint32_t shard = stock.begin; shard != stock.end; ++shard) {
        DOVETAIL_TRY(check_shard(*folder, shard));
      }
    }
    return overwrite_ ? Result<void>() : check_vacant_but_for_ours();
  }

  Result<void> write_manifest(Codec codec) {
    DOVETAIL_ASSIGN(auto manifest, detail::write_manifest(folder_, info_.id, codec, info_.shards));
    manifest_.emplace(std::move(manifest));
    info_.manifest = manifest_->path();
    return {};
  }

  Result<void> move_shards() {
    begun_ = true;
    // Durable before a shard has its name: no crash may leave an old manifest above new shards.
    DOVETAIL_TRY(folder_->remove(format::kManifestName));
    DOVETAIL_TRY(folder_->sync());
    for (const Stock& stock : stocks_) {
      DOVETAIL_ASSIGN(auto folder, open(stock));
      for (std::uint32_t shard = stock.begin; shard != stock.end; ++shard) {
        DOVETAIL_TRY(move(*folder, shard));
      }
    }
    DOVETAIL_TRY(remove_surplus(*folder_, info_.shards.size()));
    return folder_->sync();
  }

  Result<void> publish() {
    DOVETAIL_TRY(manifest_->publish(true));
    published_ = true;
    DOVETAIL_TRY(folder_->sync());
    return remove_partial_manifests();
  }

  DatasetInfo& info() noexcept { return info_; }

 private:
  Assembly(std::string target, std::string output, std::shared_ptr<OutputFolder> folder, DatasetId id, bool overwrite)
      : target_(std::move(target)), output_(std::move(output)), folder_(std::move(folder)), overwrite_(overwrite) {
    info_.id = id;
  }

  Result<std::shared_ptr<OutputFolder>> open(const Stock& stock) const {
    DOVETAIL_ASSIGN(auto work, WorkFolder::visit(target_, stock.part));
    return work.output(output_);
  }

  Result<void> check_shard(const OutputFolder& stock, std::uint32_t shard) {
    const std::string& name = info_.shards[shard].name;
    if (shard_number_of(name) != shard) {
      return Error(Errc::manifest_mismatch, "shard " + std::to_string(shard) + " is missing among the parts")
          .in_file(folder_->path());
    }
    DOVETAIL_ASSIGN(auto there, stock.contains(name));
    if (there) return {};
    DOVETAIL_ASSIGN(auto ours, is_ours(shard));
    if (ours) return {};
    return Error(Errc::unfinished, "the shard is missing: convert the part again").in_file(stock.path_of(name));
  }

  // Whether the shard of this number has come to its place already.
  Result<bool> is_ours(std::uint32_t shard) const {
    if (shard >= info_.shards.size()) return false;
    auto found = finished_shard(*folder_, shard, info_.id);
    if (!found) return found.error();
    return *found && **found == info_.shards[shard];
  }

  Result<void> check_vacant_but_for_ours() const {
    DOVETAIL_ASSIGN(auto names, folder_->names());
    for (const std::string& name : names) {
      const auto number = shard_number_of(name);
      bool ours = !number && name != format::kManifestName;
      if (number) {
        DOVETAIL_ASSIGN(auto mine, is_ours(*number));
        ours = mine;
      } else if (name == format::kManifestName) {
        const auto described = describe_shard(folder_->path_of(name));
        ours = described && described->dataset_id == info_.id && described->info.records == info_.shards.size();
      }
      if (!ours)
        return Error(Errc::already_exists, "the folder holds a dataset; overwrite (--overwrite) replaces it")
            .in_file(folder_->path_of(name));
    }
    return check_none_hidden(*folder_, names);
  }

  Result<void> move(const OutputFolder& from, std::uint32_t shard) const {
    const std::string& name = info_.shards[shard].name;
    if (::renameat(from.descriptor(), name.c_str(), folder_->descriptor(), name.c_str()) == 0) return {};
    if (errno == ENOENT) {
      // `check` has found it in its place; or where there are no locks somebody has removed it since.
      DOVETAIL_ASSIGN(auto ours, is_ours(shard));
      if (ours) return {};
      return Error(Errc::unfinished, "the shard went away while it was to get its place: convert the part again")
          .in_file(from.path_of(name));
    }
    return Error::from_errno(errno, "cannot give the file its name").in_file(folder_->path_of(name));
  }

  // Of earlier attempts that were killed.
  Result<void> remove_partial_manifests() const {
    static const std::string kBegin = std::string(".") + format::kManifestName + ".partial-";
    DOVETAIL_ASSIGN(auto names, folder_->names());
    for (const std::string& name : names) {
      if (!name.starts_with(kBegin)) continue;
      DOVETAIL_TRY(folder_->remove(name));
    }
    return {};
  }

  std::string target_;
  std::string output_;
  std::shared_ptr<OutputFolder> folder_;
  bool overwrite_;
  DatasetInfo info_;
  std::vector<Stock> stocks_;
  std::optional<OutputFile> manifest_;
  bool begun_ = false;
  bool published_ = false;
};

// A dataset's folder below the target, and the work folders'.
std::vector<std::string> names_of_outputs(const Facts& facts, std::size_t outputs) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i != outputs; ++i) names.push_back(facts["split." + std::to_string(i)]);
  return names;
}

Result<std::vector<Assembly>> lay_out(const std::string& target, const std::vector<ConvertPart>& parts,
                                      const std::vector<WholePart>& contents, bool overwrite) {
  std::vector<Assembly> assemblies;
  const std::size_t outputs = contents.front().shards.size();
  for (const std::string& name : names_of_outputs(contents.front().facts, outputs)) {
    DOVETAIL_ASSIGN(auto assembly, Assembly::begin(target, name, contents.front().dataset_id, overwrite));
    for (std::size_t part = 0; part != parts.size(); ++part) {
      assembly.add(parts[part], contents[part].shards[assemblies.size()]);
    }
    assemblies.push_back(std::move(assembly));
  }
  return assemblies;
}

template <class Step>
Result<void> for_all(std::vector<Assembly>& assemblies, Step&& step) {
  for (Assembly& assembly : assemblies) {
    DOVETAIL_TRY(step(assembly));
  }
  return {};
}

}  // namespace

Result<ConvertReport> assemble(const std::string& target, const std::vector<ConvertPart>& parts,
                               const std::vector<WholePart>& contents, bool overwrite) {
  ConvertReport report;
  for (const WholePart& part : contents) {
    for (const std::vector<ShardInfo>& shards : part.shards) {
      for (const ShardInfo& info : shards) {
        report.records += info.records;
        report.raw_bytes += info.raw_bytes;
        report.stored_bytes += info.stored_bytes;
      }
    }
    report.shards += static_cast<std::uint32_t>(part.shards.front().size());
  }
  if (report.records == 0) return Error(Errc::empty_input, "no record in any part").in_file(target);
  const Codec codec = contents.front().facts["codec"] == "none" ? Codec::none : Codec::snappy;
  DOVETAIL_ASSIGN(auto assemblies, lay_out(target, parts, contents, overwrite));
  auto done = for_all(assemblies, [](Assembly& assembly) { return assembly.check(); });
  if (done) done = for_all(assemblies, [codec](Assembly& assembly) { return assembly.write_manifest(codec); });
  if (done) done = for_all(assemblies, [](Assembly& assembly) { return assembly.move_shards(); });
  if (done) done = for_all(assemblies, [](Assembly& assembly) { return assembly.publish(); });
  if (!done) return done.error();
  // All say so before the first is removed: by that `merge` tells a removal that was stopped from parts that are missing. Where
  // one cannot, the datasets are no less whole.
  for (const ConvertPart& part : parts) {
    if (const auto work = WorkFolder::visit(target, part)) (void)work->mark_merged();
  }
  for (Assembly& assembly : assemblies) report.datasets.push_back(std::move(assembly.info()));
  return report;
}

}  // namespace dovetail::detail
