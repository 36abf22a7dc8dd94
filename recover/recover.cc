// SPDX-License-Identifier: Apache-2.0
#include <dovetail/recover.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <utility>

#include <boost/system/errc.hpp>

#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>

#include "format/guard_memory.h"
#include "format/layout.h"
#include "format/staging_names.h"
#include "format/try.h"
#include "recover/lost_regions.h"
#include "recover/recovery_listing.h"
#include "recover/shard_recovery.h"
#include "sources/bytes/names.h"
#include "writer/dataset_files.h"
#include "writer/output_file.h"
#include "writer/output_folder.h"
#include "writer/target.h"

namespace dovetail {

namespace {

namespace fs = std::filesystem;
using detail::ShardRecovery;

/// Reports progress to the caller, and obeys the caller's answer.
class Tally {
 public:
  explicit Tally(const RecoverOptions& options) : options_(options) {}

  detail::CheckedBytes checked() {
    return [this](std::uint64_t bytes) {
      bytes_ += bytes;
      return tell();
    };
  }

  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Returns a sink that appends to `writer`.
  template <class Writer>
  detail::BlockSink into(Writer& writer) {
    return [this, &writer](const format::BlockRecords& records) -> Result<void> {
      for (std::uint32_t i = 0; i < records.size(); ++i) {
        DOVETAIL_TRY(writer.append(records[i]));
      }
      records_ += records.size();
      return {};
    };
  }

 private:
  Result<void> tell() const {
    if (!options_.progress || options_.progress(records_, bytes_)) return {};
    return Error(boost::system::errc::make_error_code(boost::system::errc::operation_canceled));
  }

  const RecoverOptions& options_;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
};

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code missing;
  return fs::equivalent(a, b, missing) && !missing;
}

Error replaces_source(const std::string& target) {
  return Error(Errc::invalid_option, "recovery does not overwrite its input; name another target").in_file(target);
}

// Returns whether a file belongs to the dataset in `folder`, or to the datasets of a split there.
// Resolves links.
bool lies_in(const std::string& file, const std::string& folder) {
  const auto is_parent = [&](const fs::path& path) {
    const std::string parent = path.parent_path().native();
    const std::string above = path.parent_path().parent_path().native();
    return is_same_file(parent.empty() ? "." : parent, folder) ||
           (!parent.empty() && is_same_file(above.empty() ? "." : above, folder));
  };
  std::error_code missing;
  const fs::path real = fs::canonical(file, missing);
  return is_parent(file) || (!missing && is_parent(real));
}

// Checks early: the writer would find these errors only after searching the source, which may take
// hours.
Result<void> check_target(const std::string& target, bool overwrite) {
  DOVETAIL_TRY(detail::check_shard_target(target, overwrite));
  DOVETAIL_ASSIGN(auto folder, detail::OutputFolder::open(fs::path(target).parent_path().native()));
  if (::faccessat(folder->descriptor(), ".", W_OK | X_OK, AT_EACCESS) == 0) return {};
  return Error::from_errno(errno, "cannot create files here").in_file(folder->path());
}

LostRange unknown_schema(const std::string& file, const Error& error) {
  return {.file = file, .reason = "the schema in the metadata: " + error.to_string()};
}

Result<RecoverReport> recover_shard(const std::string& source, const std::string& target, WriterOptions writer_options,
                                    const RecoverOptions& options) {
  if (is_same_file(source, target)) return replaces_source(target);
  DOVETAIL_TRY(check_target(target, options.overwrite));
  Tally tally(options);
  auto shard = ShardRecovery::find(source, nullptr, std::nullopt, tally.checked());
  const bool named_shard = source.ends_with(format::kShardSuffix) || format::is_partial_name(source);
  if (!shard && shard.error().is(Errc::not_dovetail) && !named_shard) {
    return Error(Errc::foreign_file,
                 shard.error().detail() +
                     "; for another format, `dovetail convert --on-error skip` takes the intact records")
        .in_file(source);  // the shard is not damaged, but of another kind
  }
  if (!shard) return shard.error();
  // By the number in the file id or, if that is lost, by the type of the records.
  const std::string record_type = shard->metadata() ? shard->metadata()->record_type : std::string();
  if (const char* const why = detail::why_no_shard(shard->shard_number(), record_type)) {
    return Error(Errc::unknown_format, why).in_file(source);
  }
  RecoverReport report;
  report.expected_records = 0;
  writer_options.codec = shard->codec();
  writer_options.run_records = shard->run_records();
  writer_options.shard_number = shard->shard_number();
  writer_options.check_schema = false;  // what was written once comes back
  if (shard->metadata()) {
    if (auto kept = detail::keep_metadata(*shard->metadata(), writer_options); !kept) {
      detail::tell_region(unknown_schema(source, kept.error()), options.most_regions, report);
    }
  }
  DOVETAIL_ASSIGN(auto writer, RecordWriter::create(target, writer_options));
  DOVETAIL_TRY(shard->decode(tally.into(writer), tally.checked()));
  shard->tell(options.most_regions, report);
  report.checked_bytes = tally.bytes();
  report.dataset_id = *writer_options.dataset_id;
  report.shards.resize(1);
  // Finish last: nothing may fail after the file exists.
  DOVETAIL_ASSIGN(auto written, writer.finish());
  report.shards[0] = std::move(written);
  return report;
}

/// The facts that all shards of the new dataset share.
struct CommonFacts {
  std::optional<format::Metadata> metadata;
  std::optional<Codec> codec;
  std::uint64_t run_records = 0;

  bool complete() const noexcept { return metadata && codec.value_or(Codec::none) != Codec::none && run_records != 0; }
  void take(format::Metadata found) {
    // A shard with the record type of a manifest is none, and must not turn the others into
    // manifests.
    if (!metadata && detail::why_no_shard({}, found.record_type) == nullptr) metadata = std::move(found);
  }
  void take(Codec found) { codec = std::max(codec.value_or(found), found); }
  // Nobody chose the run length of a shard without records.
  void take(const ShardInfo& found) {
    if (run_records == 0 && found.records != 0) run_records = found.run_records;
  }
};

/// Recovers the shards of a dataset one after the other.
class DatasetRecovery {
 public:
  DatasetRecovery(detail::RecoveryListing listing, std::uint64_t most_regions, Tally& tally)
      : listing_(std::move(listing)), most_regions_(most_regions), tally_(tally) {
    for (LostRange& region : listing_.lost) lose(std::move(region));
    report_.passed_over = std::move(listing_.passed_over);
    report_.not_shards = std::move(listing_.not_shards);
    if (listing_.has_manifest) report_.expected_records = 0;
  }

  Result<RecoverReport> run(const std::string& target, DatasetWriterOptions options) {
    DOVETAIL_TRY(find_facts());
    options.shard.codec = facts_.codec.value_or(Codec::none);
    options.shard.run_records = facts_.run_records;
    options.shard.check_schema = false;  // what was written once comes back
    if (facts_.metadata) {
      if (auto kept = detail::keep_metadata(*facts_.metadata, options.shard); !kept) {
        lose(unknown_schema(listing_.shards.front().path, kept.error()));
      }
    }
    DOVETAIL_ASSIGN(auto writer, DatasetWriter::create(target, options));
    for (std::size_t i = 0; i < listing_.shards.size(); ++i) {
      if (i >= told_) {
        DOVETAIL_TRY(write_shard(i, writer));
      }
      DOVETAIL_TRY(writer.next_shard());
    }
    if (!anything_ && first_error_) return *first_error_;
    DOVETAIL_ASSIGN(auto written, writer.finish());
    report_.checked_bytes = tally_.bytes();
    report_.dataset_id = written.id;
    report_.shards = std::move(written.shards);
    return std::move(report_);
  }

 private:
  // Shards with a valid end are described quickly. If no shard has one, search the shards up to the
  // first with records, and keep that one for its turn. Shards before it have nothing to write.
  // Report them at once instead of searching them twice, because the search is the most expensive
  // step.
  Result<void> find_facts() {
    for (const detail::ListedShard& listed : listing_.shards) {
      if (facts_.complete()) return {};
      if (listed.entry) facts_.take(*listed.entry);
      if (listed.unreadable) continue;
      const auto shard = describe_shard(listed.path);
      // A file in the place of the shard may belong to another dataset.
      const auto file_id = listed.entry ? std::optional(listed.entry->file_id) : listed.file_id;
      if (!shard || shard->tfrecord || shard->info.file_id != file_id) continue;
      if (listed.entry && detail::holds_other_records(shard->info, *listed.entry)) continue;
      facts_.take(shard->info);
      facts_.take({shard->record_type, shard->writer, shard->metadata, shard->schema});
      for (const BlockInfo& block : shard->blocks) facts_.take(block.codec);
    }
    for (std::size_t i = 0; i < listing_.shards.size() && !(facts_.metadata && facts_.codec); ++i) {
      auto shard = find_shard(i);
      if (shard && shard->content()) facts_.take(*shard->content());
      if (shard && shard->metadata()) facts_.take(*shard->metadata());
      if (shard && shard->has_records()) {
        facts_.take(shard->codec());
        kept_.emplace(i, std::move(*shard));
        break;
      }
      DOVETAIL_TRY(take_shard(i, std::move(shard), {}));
      told_ = i + 1;
    }
    for (const std::string& path : facts_.metadata ? uncompared_ : std::vector<std::string>()) lose(differing(path));
    return {};
  }

  Result<ShardRecovery> find_shard(std::size_t i) {
    if (kept_ && kept_->first == i) {
      ShardRecovery shard = std::move(kept_->second);
      kept_.reset();
      return shard;
    }
    const detail::ListedShard& listed = listing_.shards[i];
    if (listed.unreadable) return *listed.unreadable;
    return ShardRecovery::find(listed.path, listed.entry ? &*listed.entry : nullptr, listed.file_id, tally_.checked());
  }

  Result<void> write_shard(std::size_t i, DatasetWriter& writer) {
    return take_shard(i, find_shard(i), tally_.into(writer));
  }

  Result<void> take_shard(std::size_t i, Result<ShardRecovery> shard, const detail::BlockSink& sink) {
    const detail::ListedShard& listed = listing_.shards[i];
    if (!shard && detail::ends_recovery(shard.error())) return shard.error();
    if (!shard) {
      lose_shard(listed, shard.error());
      return {};
    }
    anything_ = true;
    DOVETAIL_TRY(shard->decode(sink, tally_.checked()));
    shard->tell(most_regions_, report_);
    if (shard->metadata() && !facts_.metadata) uncompared_.push_back(listed.path);
    if (shard->metadata() && facts_.metadata && differs(*shard->metadata())) lose(differing(listed.path));
    return {};
  }

  static LostRange differing(const std::string& path) {
    return {.file = path, .reason = "the metadata differ from those of the shard whose metadata are kept"};
  }

  bool differs(const format::Metadata& metadata) const {
    return metadata.record_type != facts_.metadata->record_type || metadata.user != facts_.metadata->user ||
           metadata.schema != facts_.metadata->schema;
  }

  void lose(LostRange region) { detail::tell_region(std::move(region), most_regions_, report_); }

  // A shard may lie under another name than in the manifest, and another shard under its name.
  static Error with_advice(const detail::ListedShard& listed, const Error& why) {
    const bool missing = why.code() == boost::system::errc::no_such_file_or_directory;
    if (!listed.entry || !(missing || why.is(Errc::not_dovetail))) return why;
    return Error(why.code(), why.detail() +
                                 "; if the shard lies in this folder under another name, rename it, or "
                                 "move the manifest away: then recover finds the shards by their numbers")
        .in_file(why.path());
  }

  void lose_shard(const detail::ListedShard& listed, const Error& cause) {
    const Error why = with_advice(listed, cause);
    if (!first_error_) first_error_ = why;
    std::error_code missing;
    // The bytes of another version are there and intact.
    const bool none = listed.unreadable || cause.is(Errc::manifest_mismatch);
    const std::uintmax_t bytes = none ? 0 : fs::file_size(listed.path, missing);
    const std::uint64_t records = listed.entry ? listed.entry->records : 0;
    lose({.file = listed.path,
          .bytes = missing ? 0 : bytes,
          .end_record = records,
          .reason = why.code().message() + (why.detail().empty() ? "" : ": " + why.detail())});
    if (report_.expected_records) *report_.expected_records += records;
  }

  detail::RecoveryListing listing_;
  std::uint64_t most_regions_;
  Tally& tally_;
  RecoverReport report_;
  CommonFacts facts_;
  std::optional<std::pair<std::size_t, ShardRecovery>> kept_;  // found before its turn
  std::size_t told_ = 0;                                       // number of shards done before writing began
  std::vector<std::string> uncompared_;                        // shards decoded before `facts_` had metadata
  bool anything_ = false;
  std::optional<Error> first_error_;
};

Result<RecoverReport> recover_dataset(const std::string& folder, const std::string& manifest, const std::string& target,
                                      const WriterOptions& writer_options, const RecoverOptions& options) {
  DOVETAIL_ASSIGN(const auto resolved, detail::resolve_target(target));
  const std::string staged = resolved + std::string(format::kStagingSuffix);
  const std::string replaced = resolved + std::string(format::kReplacedSuffix);
  for (const std::string& written : {target, staged, replaced}) {
    if (is_same_file(folder.empty() ? "." : folder, written)) return replaces_source(target);
  }
  Tally tally(options);
  DOVETAIL_ASSIGN(auto listing, detail::list_for_recovery(folder, manifest, options.allow_outside, tally.checked()));
  const auto in_target = [&](const std::string& file) {
    return lies_in(file, target) || lies_in(file, staged) || lies_in(file, replaced);
  };
  const bool shards = std::any_of(listing.shards.begin(), listing.shards.end(), [&](const detail::ListedShard& shard) {
    return !shard.unreadable && in_target(shard.path);
  });
  const bool others = std::any_of(listing.passed_over.begin(), listing.passed_over.end(), in_target) ||
                      std::any_of(listing.not_shards.begin(), listing.not_shards.end(), in_target) ||
                      std::any_of(listing.foreign.begin(), listing.foreign.end(), in_target);
  if (shards || others || in_target(manifest)) return replaces_source(target);
  DOVETAIL_TRY(detail::check_target(resolved, options.overwrite));
  return DatasetRecovery(std::move(listing), options.most_regions, tally)
      .run(target, {.shard = writer_options, .shard_bytes = 0});
}

// Returns whether a file is a manifest, by its name or its shard number.
Result<bool> is_manifest(const std::string& path) {
  if (fs::path(path).filename() == format::kManifestName) return true;
  DOVETAIL_ASSIGN(auto file, detail::SalvageFile::open(path));
  auto id = detail::identify_shard(file);
  if (!id) return id.error();
  return *id && static_cast<std::uint32_t>(**id) == format::kManifestShardNumber;
}

Result<RecoverReport> recover_any(const std::string& source, const std::string& target, const RecoverOptions& options) {
  WriterOptions writer_options;
  writer_options.overwrite = options.overwrite;
  writer_options.dataset_id = options.dataset_id ? options.dataset_id : DatasetId::random();
  std::error_code missing;
  if (fs::is_directory(source, missing)) {
    const std::string manifest = (fs::path(source) / format::kManifestName).native();
    return recover_dataset(source, manifest, target, writer_options, options);
  }
  DOVETAIL_ASSIGN(auto manifest, is_manifest(source));
  if (!manifest) return recover_shard(source, target, std::move(writer_options), options);
  return recover_dataset(fs::path(source).parent_path().native(), source, target, writer_options, options);
}

}  // namespace

Result<RecoverReport> recover(const std::string& source, const std::string& target, const RecoverOptions& options) {
  return detail::guard_memory(source, [&] { return recover_any(source, target, options); });
}

}  // namespace dovetail
