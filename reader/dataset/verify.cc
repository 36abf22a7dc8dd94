// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/system/errc.hpp>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "format/guard_memory.h"
#include "format/layout.h"
#include "format/try.h"
#include "reader/dataset/damage_list.h"
#include "reader/dataset/listing.h"
#include "reader/dataset/manifest.h"
#include "reader/dataset/parallel.h"
#include "reader/dataset/paths.h"
#include "reader/dataset/shard_file.h"
#include "reader/dataset/shard_numbers.h"
#include "reader/dataset/shard_verifier.h"
#include "reader/dataset/tfrecord_sidecar.h"

namespace dovetail {
namespace {

struct Target {
  std::string path;
  const ShardInfo* expected = nullptr;
};

/// The options of a verification.
struct Manner {
  unsigned threads = 0;
  const std::function<bool()>& cancelled;

  unsigned thread_count() const noexcept { return threads == 0 ? std::thread::hardware_concurrency() : threads; }
  Result<void> go_on() const {
    if (!cancelled || !cancelled()) return {};
    return Error(make_error_code(boost::system::errc::operation_canceled));
  }
};

// Errors that end the verification. Other errors affect their own file only.
bool ends_verifying(const Error& error) {
  return error.kind() == ErrorKind::cancelled || error.code() == boost::system::errc::not_enough_memory;
}

Result<void> verify_targets(const std::vector<Target>& targets, const Manner& manner, VerifyReport& whole) {
  std::vector<Result<detail::GoodBlocks>> parts(targets.size(), detail::GoodBlocks());
  detail::DamageList damaged;
  auto done = detail::for_each_index(targets.size(), manner.thread_count(), [&](std::size_t i) -> Result<void> {
    DOVETAIL_TRY(manner.go_on());
    parts[i] = detail::verify_shard(targets[i].path, targets[i].expected,
                                    [&](LostRange damage) { damaged.add(i, std::move(damage)); });
    if (!parts[i] && ends_verifying(parts[i].error())) return parts[i].error();
    return {};
  });
  if (!done) return done.error();
  for (const Result<detail::GoodBlocks>& part : parts) {
    if (!part) {
      whole.unreadable.push_back(part.error());
      continue;
    }
    whole.records += part->records;
    whole.blocks += part->blocks;
  }
  damaged.move_to(whole);
  return {};
}

Result<VerifyReport> verify_files(const std::string& folder, const std::vector<std::string>& names,
                                  const Manner& manner) {
  std::vector<Target> targets;
  targets.reserve(names.size());
  for (const std::string& name : names) targets.push_back({detail::join_path(folder, name), nullptr});
  VerifyReport report;
  DOVETAIL_TRY(verify_targets(targets, manner, report));
  return report;
}

/// The files of a folder or a pattern, sorted into shards, with unreadable files, and others.
struct SortedFiles {
  std::vector<std::string> shards;
  std::vector<ShardInfo> known;  // of shards whose ends are good, in the same order
  std::vector<Error> others;     // manifests and indexes, which hold no records of the dataset
};

Result<SortedFiles> sort_files(const std::string& folder, const std::vector<std::string>& names, const Manner& manner) {
  std::vector<Result<ShardInfo>> infos(names.size(), ShardInfo());
  auto done = detail::for_each_index(names.size(), manner.thread_count(), [&](std::size_t i) -> Result<void> {
    DOVETAIL_TRY(manner.go_on());
    infos[i] = detail::read_shard_info(detail::join_path(folder, names[i]));
    if (!infos[i] && ends_verifying(infos[i].error())) return infos[i].error();
    return {};
  });
  if (!done) return done.error();
  SortedFiles files;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!infos[i] && infos[i].error().is(Errc::unknown_format)) {
      files.others.push_back(infos[i].error());
      continue;
    }
    files.shards.push_back(names[i]);
    if (!infos[i]) continue;
    files.known.push_back(std::move(*infos[i]));
    files.known.back().name = names[i];
  }
  return files;
}

/// Whether gaps in the numbers of shards are damage. Gaps are allowed if a pattern chose the files.
enum class Gaps : bool { allowed, damage };

// Without a manifest each shard is checked by itself.
Result<VerifyReport> verify_without_manifest(const std::string& folder, const std::vector<std::string>& names,
                                             Gaps gaps, const Manner& manner) {
  DOVETAIL_ASSIGN(auto files, sort_files(folder, names, manner));
  auto report = verify_files(folder, files.shards, manner);
  if (!report) return report.error();
  std::move(files.others.begin(), files.others.end(), std::back_inserter(report->unreadable));
  if (gaps == Gaps::allowed) return report;
  for (const Error& wrong :
       detail::check_shard_numbers(folder, files.known, files.shards.size() - files.known.size())) {
    detail::tell_damage(detail::as_damage(wrong, folder, 0, 0), *report);
  }
  return report;
}

// Verifies the shards of a dataset whose manifest is damaged. `report` has the damage of the
// manifest.
Result<VerifyReport> verify_below(const std::string& folder, const Manner& manner, VerifyReport report) {
  auto below = detail::list_shards_below(folder);
  if (!below && ends_verifying(below.error())) return below.error();
  if (!below) {
    report.unreadable.push_back(below.error());
    return report;
  }
  DOVETAIL_ASSIGN(auto shards, verify_without_manifest(folder, below->shards, Gaps::damage, manner));
  report += std::move(shards);
  return report;
}

Result<VerifyReport> verify_manifest(const std::string& folder, const std::string& name, const Manner& manner) {
  const std::string path = detail::join_path(folder, name);
  VerifyReport report;
  auto manifest =
      detail::verify_shard(path, nullptr, [&](LostRange damage) { detail::tell_damage(std::move(damage), report); });
  if (!manifest) return manifest.error();

  auto dataset = Dataset::open(path);
  if (!dataset) {
    if (dataset.error().kind() == ErrorKind::damaged) {
      if (report.ok()) detail::tell_damage(detail::as_damage(dataset.error(), path, 0, 0), report);
      return verify_below(folder, manner, std::move(report));
    }
    if (report.ok() || ends_verifying(dataset.error())) return dataset.error();
    report.unreadable.push_back(dataset.error());
    return report;
  }

  std::vector<Target> targets;
  targets.reserve(dataset->shards().size());
  for (std::uint32_t shard = 0; shard < dataset->shards().size(); ++shard) {
    auto shard_path = detail::checked_shard_path(*dataset, shard);
    if (!shard_path) {
      if (ends_verifying(shard_path.error())) return shard_path.error();
      report.unreadable.push_back(shard_path.error().in_file(dataset->shard_path(shard)));
      continue;
    }
    targets.push_back({std::move(*shard_path), &dataset->shards()[shard]});
  }
  DOVETAIL_TRY(verify_targets(targets, manner, report));
  return report;
}

/// Whether one file is a manifest. Errors: `foreign_file`, and that of an index by itself. A
/// damaged file is not an error here.
Result<bool> is_manifest_file(const std::string& path) {
  const auto shard = detail::ShardFile::open(path);
  if (!shard) {
    const Error error = detail::of_named_file(shard.error(), path);
    return error.is(Errc::foreign_file) ? Result<bool>(error) : false;
  }
  if (shard->header().shard_number == format::kTfrecordIndexShardNumber) return detail::is_index_only(path);
  const auto metadata = shard->read_metadata();
  return metadata && detail::is_manifest(*metadata);
}

}  // namespace

VerifyReport& VerifyReport::operator+=(VerifyReport other) {
  const std::uint64_t unlisted = other.damaged_places - other.damaged.size();
  records += other.records;
  blocks += other.blocks;
  for (LostRange& damage : other.damaged) detail::tell_damage(std::move(damage), *this);
  damaged_places += unlisted;
  std::move(other.unreadable.begin(), other.unreadable.end(), std::back_inserter(unreadable));
  return *this;
}

Result<VerifyReport> verify(const std::string& path, unsigned threads, const std::function<bool()>& cancelled) {
  const Manner manner{threads, cancelled};
  return detail::guard_memory(path, [&]() -> Result<VerifyReport> {
    DOVETAIL_ASSIGN(auto listing, detail::list_dataset(path));
    const bool one_file = listing.kind == detail::Listing::Kind::file;
    DOVETAIL_ASSIGN(const bool manifest_file, one_file ? is_manifest_file(path) : false);
    if (listing.kind == detail::Listing::Kind::manifest || manifest_file) {
      return verify_manifest(listing.folder, listing.names.front(), manner);
    }
    if (!one_file) {
      const Gaps gaps = listing.kind == detail::Listing::Kind::files ? Gaps::damage : Gaps::allowed;
      return verify_without_manifest(listing.folder, listing.names, gaps, manner);
    }
    auto report = verify_files(listing.folder, listing.names, manner);
    if (report && !report->unreadable.empty()) return report->unreadable.front();
    return report;
  });
}

}  // namespace dovetail
