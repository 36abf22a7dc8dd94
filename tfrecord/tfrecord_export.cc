// SPDX-License-Identifier: Apache-2.0
#include <dovetail/tfrecord_export.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "convert/input_files.h"
#include "convert/shard_jobs.h"
#include "convert/workers.h"
#include "format/guard_memory.h"
#include "format/staging_names.h"
#include "format/text/lower_case.h"
#include "format/text/number_text.h"
#include "format/tfrecord/tfrecord_name.h"
#include "format/try.h"
#include "format/words/convert_words.h"
#include "sources/bytes/names.h"
#include "sources/bytes/skip_count.h"
#include "tfrecord/export_input.h"
#include "tfrecord/tfrecord_output.h"
#include "writer/file_lock.h"
#include "writer/output_file.h"
#include "writer/writer_options.h"

namespace dovetail {

std::string_view to_string(TfrecordCompression compression) noexcept {
  return format::word_of(format::kTfrecordCompressionWords, compression);
}

TfrecordExportOptions export_options(const ConvertOptions& options) {
  TfrecordExportOptions taken{.sources = options.sources,
                              .from = options.from,
                              .source = options.source,
                              .files = options.shards,
                              .overwrite = options.writer.shard.overwrite,
                              .jobs = options.jobs};
  taken.source.max_record_bytes = options.writer.shard.max_record_bytes;
  return taken;
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 5;
constexpr std::uint32_t kMaxFiles = 99'999;

std::string_view suffix_of(TfrecordCompression compression) {
  switch (compression) {
    case TfrecordCompression::none:
      return "";
    case TfrecordCompression::gzip:
      return ".gz";
    case TfrecordCompression::zlib:
      return ".zlib";
    case TfrecordCompression::snappy:
      return ".snappy";
  }
  return "";
}

// Returns the compression that a name's suffix promises to readers: to users of TensorFlow and to
// this project's sources. Errors: TensorFlow reads no such file.
Result<std::optional<TfrecordCompression>> promised_by(const std::string& name) {
  if (format::lower_case(name).ends_with(".snappy")) return std::optional(TfrecordCompression::snappy);
  const Compression promised = detail::compression_promised_by(name);
  if (promised == Compression::none) return std::optional<TfrecordCompression>();
  if (promised == Compression::gzip) return std::optional(TfrecordCompression::gzip);
  if (promised == Compression::zlib) return std::optional(TfrecordCompression::zlib);
  return Error(Errc::invalid_option, "its name implies " + std::string(to_string(promised)) +
                                         ", which TensorFlow does not read; use .gz, .zlib or .snappy")
      .in_file(name);
}

struct Targets {
  std::string folder;
  std::vector<std::string> names;
  TfrecordCompression compression = TfrecordCompression::none;
  bool many = true;  ///< All files of a folder; otherwise one named file.
};

Result<Targets> name_files(const std::string& target, const TfrecordExportOptions& options, std::uint32_t files) {
  DOVETAIL_TRY(detail::check_range("files", files, 0, kMaxFiles));
  std::error_code failed;
  if (format::has_tfrecord_name(target) && !fs::is_directory(target, failed)) {
    if (files != 1) {
      return Error(Errc::invalid_option, "there are " + std::to_string(files) +
                                             " files to write, but the target names one; name a folder, or request 1")
          .in_file(target);
    }
    DOVETAIL_ASSIGN(const auto promised, promised_by(target));
    if (promised && options.compression && *promised != *options.compression) {
      return Error(Errc::invalid_option,
                   "its name implies " + std::string(to_string(*promised)) + ", but the requested compression is " +
                       std::string(to_string(*options.compression)) + "; rename it, or leave out the compression")
          .in_file(target);
    }
    const TfrecordCompression compression = options.compression.value_or(promised.value_or(TfrecordCompression::none));
    return Targets{fs::path(target).parent_path().native(), {fs::path(target).filename().native()}, compression, false};
  }
  Targets targets{target, {}, options.compression.value_or(TfrecordCompression::none)};
  const std::string end =
      "-of-" + format::padded(files, kDigits) + ".tfrecord" + std::string(suffix_of(targets.compression));
  for (std::uint32_t file = 0; file != files; ++file) {
    targets.names.push_back("data-" + format::padded(file, kDigits) + end);
  }
  return targets;
}

// Returns whether an export to a folder uses this name, for any number of files.
bool is_export_name(std::string_view name) {
  constexpr std::string_view kPattern = "data-00000-of-00000.tfrecord";
  const auto fits = [](char pattern, char c) { return pattern == '0' ? c >= '0' && c <= '9' : c == pattern; };
  if (name.size() < kPattern.size() || !std::equal(kPattern.begin(), kPattern.end(), name.begin(), fits)) return false;
  const std::string_view suffix = name.substr(kPattern.size());
  return suffix.empty() || suffix == ".gz" || suffix == ".zlib" || suffix == ".snappy";
}

// Files of an export to another number of files, or with another compression, would give the
// records twice. This export does not replace those files one by one, so it must not remove them
// unasked.
Result<void> check_no_other_export(const detail::OutputFolder& folder, const Targets& targets) {
  if (!targets.many) return {};
  DOVETAIL_ASSIGN(auto there, folder.names());
  const std::set<std::string_view> own(targets.names.begin(), targets.names.end());
  std::erase_if(there, [&](const std::string& name) { return !is_export_name(name) || own.contains(name); });
  if (there.empty()) return {};
  return Error(
             Errc::already_exists,
             "it belongs to an export with another number of files or another compression; remove that export, or name "
             "another folder")
      .in_file(folder.path_of(*std::min_element(there.begin(), there.end())));
}

Result<void> check_vacant(const detail::OutputFolder& folder, const Targets& targets) {
  for (const std::string& name : targets.names) {
    DOVETAIL_ASSIGN(auto there, folder.contains(name));
    if (there)
      return Error(Errc::already_exists, "use overwrite (--overwrite) to replace it").in_file(folder.path_of(name));
  }
  return {};
}

bool lies_in(const fs::path& path, const std::string& folder) {
  std::error_code unknown;
  fs::path at = fs::weakly_canonical(path, unknown);
  while (!fs::equivalent(at, folder, unknown)) {
    if (at == at.parent_path()) return false;
    at = at.parent_path();
  }
  return true;
}

// Replacing a source deletes it, although the export may have read only a part of it.
Result<void> check_replaces_no_source(const Targets& targets, const std::vector<std::string>& sources) {
  const fs::path folder = targets.folder.empty() ? "." : targets.folder;
  for (const std::string& name : targets.names) {
    std::error_code unknown;
    if (!fs::exists(folder / name, unknown)) continue;
    for (const std::string& source : sources) {
      const bool replaced =
          fs::is_directory(source, unknown) ? lies_in(folder, source) : fs::equivalent(source, folder / name, unknown);
      if (!replaced) continue;
      return Error(Errc::invalid_option, "it belongs to a source, which the export would replace; name another target")
          .in_file((folder / name).native());
    }
  }
  return {};
}

// Checks before a whole stream is read, not after. The input is not a dataset here, so the number
// of files is known.
Result<void> check_targets(const std::string& target, const TfrecordExportOptions& options) {
  DOVETAIL_ASSIGN(auto targets, name_files(target, options, std::max(options.files, 1u)));
  std::error_code failed;
  if (options.overwrite || (!targets.folder.empty() && !fs::exists(targets.folder, failed))) return {};
  DOVETAIL_ASSIGN(auto folder, detail::OutputFolder::open(targets.folder));
  return check_vacant(*folder, targets);
}

/// The files of an export. The destructor removes files that are not published.
class Export {
 public:
  Export(const TfrecordExportOptions& options, const detail::ExportInput& input,
         std::shared_ptr<detail::OutputFolder> folder, Targets targets)
      : options_(options),
        input_(input),
        folder_(std::move(folder)),
        targets_(std::move(targets)),
        files_(targets_.names.size()),
        meter_(options.progress, input.total(), static_cast<double>(input.total())) {}

  Result<TfrecordExportReport> run() {
    DOVETAIL_TRY(check_no_other_export(*folder_, targets_));
    const auto vacant = options_.overwrite ? Result<void>() : check_vacant(*folder_, targets_);
    if (!vacant) return vacant.error();
    const unsigned cores = options_.jobs != 0 ? options_.jobs : std::max(1u, std::thread::hardware_concurrency());
    detail::run_workers(static_cast<unsigned>(std::min<std::size_t>(cores, files_.size())), gate_, [this] { work(); });
    DOVETAIL_TRY(gate_.outcome());
    if (records_.load() == 0) {
      DOVETAIL_TRY(input_.allow_empty());
    }
    return publish();
  }

 private:
  void work() {
    for (std::uint32_t file = next_.fetch_add(1); file < files_.size(); file = next_.fetch_add(1)) {
      if (gate_.stops(file)) return;
      if (auto written = write(file); !written) return gate_.fail(file, written.error());
    }
  }

  Result<void> write(std::uint32_t file) {
    DOVETAIL_ASSIGN(auto output, detail::TfrecordOutput::create(folder_, targets_.names[file], targets_.compression));
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    const auto stopped = [this, file] { return gate_.stops(file); };
    const auto take = [&](ByteView record) {
      ++records;
      bytes += record.size();
      return output.append(record);
    };
    DOVETAIL_TRY(input_.read(file, meter_, stopped, take));
    if (stopped()) return {};
    DOVETAIL_ASSIGN(auto finished, output.finish());
    files_[file].emplace(std::move(finished));
    records_.fetch_add(records);
    raw_bytes_.fetch_add(bytes);
    return {};
  }

  Result<TfrecordExportReport> publish() {
    TfrecordExportReport report{records_.load(), raw_bytes_.load(), 0, {}};
    const detail::SkipTally skipped = input_.skipped();
    report.skipped = skipped.count();
    report.first_skipped = skipped.first();
    // Fill the report before any file has its name: running out of memory later would leave only
    // some files.
    for (const std::optional<detail::OutputFile>& file : files_) {
      report.stored_bytes += file->size();
      report.files.push_back(file->path());
    }
    if (auto named = give_names(); !named) {
      take_back();
      if (!replacing_ || published_ == files_.size()) return named.error();
      const Error& error = named.error();
      return Error(error.code(), (error.detail().empty() ? "" : error.detail() + "; ") +
                                     "older files were removed and not all are replaced; export again")
          .in_file(error.path());
    }
    remove_partial_files();
    return report;
  }

  Result<void> give_names() {
    DOVETAIL_TRY(make_room());
    for (std::optional<detail::OutputFile>& file : files_) {
      DOVETAIL_TRY(file->publish(options_.overwrite));
      ++published_;
    }
    return folder_->sync();
  }

  // A process killed between two renames leaves partial files, by which sources recognise an
  // incomplete export. Other readers do not, and would take old files between new ones for one
  // export. So remove the old files first.
  Result<void> make_room() {
    if (!options_.overwrite || files_.size() == 1) return {};
    for (const std::string& name : targets_.names) {
      DOVETAIL_ASSIGN(auto there, folder_->contains(name));
      if (!there) continue;
      DOVETAIL_TRY(folder_->remove(name));
      replacing_ = true;
    }
    return replacing_ ? folder_->sync() : Result<void>();
  }

  // Keep files that have replaced others: otherwise neither the old nor the new files would exist.
  // Keep the partial files, too, because they show that some files are missing.
  void take_back() noexcept {
    for (std::uint32_t file = 0; file != files_.size(); ++file) {
      if (replacing_) {
        files_[file]->leave();
      } else if (!options_.overwrite || files_.size() != 1 || file >= published_) {
        files_[file]->discard();
      }
    }
  }

  // Removes the partial files of a killed export to the same files, or to another number of files,
  // because the export is complete now. Ignores failures: readers of the folder report a remaining
  // file.
  void remove_partial_files() {
    std::set<std::string, std::less<>> begins;
    for (const std::string& name : targets_.names) begins.insert(detail::partial_name_begin(name));
    const auto there = folder_->names();
    if (!there) return;
    for (const std::string& name : *there) {
      const std::size_t mark = name.rfind(format::kPartialMark);
      if (mark == std::string::npos) continue;
      const std::string_view begin = std::string_view(name).substr(0, mark + format::kPartialMark.size());
      const bool of_other = targets_.many && is_export_name(std::string_view(name).substr(1, mark - 1));
      if ((begins.contains(begin) || of_other) && !detail::is_locked(*folder_, name)) (void)folder_->remove(name);
    }
  }

  const TfrecordExportOptions& options_;
  const detail::ExportInput& input_;
  std::shared_ptr<detail::OutputFolder> folder_;
  Targets targets_;
  std::vector<std::optional<detail::OutputFile>> files_;
  std::uint32_t published_ = 0;
  bool replacing_ = false;  // an old file of several may be removed already
  detail::FailureGate gate_;
  detail::ProgressMeter meter_;
  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint64_t> records_{0};
  std::atomic<std::uint64_t> raw_bytes_{0};
};

Result<TfrecordExportReport> export_files(const std::string& target, const TfrecordExportOptions& options,
                                          const std::vector<std::string>& paths) {
  DOVETAIL_ASSIGN(auto input, detail::open_export_input(options, paths));
  DOVETAIL_ASSIGN(auto targets, name_files(target, options, input->shares()));
  DOVETAIL_TRY(check_replaces_no_source(targets, paths));
  DOVETAIL_ASSIGN(auto folder, detail::OutputFolder::create(targets.folder));
  try {
    auto report = Export(options, *input, folder, std::move(targets)).run();
    if (!report) folder->remove_created();
    return report;
  } catch (...) {  // out of memory, or an exception of the caller's function
    folder->remove_created();
    throw;
  }
}

Result<TfrecordExportReport> export_all(const std::string& target, const TfrecordExportOptions& options) {
  if (target.empty()) return Error(Errc::invalid_option, "target = \"\": it must name a file or a folder");
  DOVETAIL_TRY(detail::check_range("files", options.files, 0, kMaxFiles));
  DOVETAIL_TRY(detail::check_range("jobs", options.jobs, 0, detail::kMaxThreads));
  if (std::any_of(options.sources.begin(), options.sources.end(), detail::is_stream)) {
    DOVETAIL_TRY(check_targets(target, options));
  }
  DOVETAIL_ASSIGN(const auto files,
                  detail::InputFiles::open(options.sources, options.from, target, [&](std::uint64_t copied) {
                    return options.progress && !options.progress({.input_bytes = copied});
                  }));
  auto report = export_files(target, options, files.paths());
  if (!report) return files.renamed(report.error());
  for (SkippedRecord& skipped : report->first_skipped) skipped.error = files.renamed(skipped.error);
  return report;
}

}  // namespace

Result<TfrecordExportReport> export_tfrecords(const std::string& target, const TfrecordExportOptions& options) {
  return detail::guard_memory(target, [&]() -> Result<TfrecordExportReport> {
    auto report = export_all(target, options);
    // The error of running out of memory for the output names no file.
    if (!report && report.error().kind() == ErrorKind::io && report.error().path().empty()) {
      return report.error().in_file(target);
    }
    return report;
  });
}

}  // namespace dovetail
