// SPDX-License-Identifier: Apache-2.0
#include "convert/conversion.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <utility>

#include "convert/carried.h"
#include "convert/shuffle_jobs.h"
#include "convert/workers.h"
#include "format/layout.h"
#include "format/try.h"
#include "sources/bytes/keyed_hash.h"
#include "writer/dataset_files.h"
#include "writer/writer_options.h"

namespace dovetail::detail {

namespace {

std::string hash_of(const std::map<std::string, std::string>& metadata) {
  if (metadata.empty()) return {};
  std::string text;
  for (const auto& [key, value] : metadata) {
    text += std::to_string(key.size()) + ' ' + std::to_string(value.size()) + ' ' + key + value;
  }
  return hash128(as_bytes(text)).to_hex();
}

std::string exact(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", share);
  return text;
}

}  // namespace

Result<ConvertReport> Conversion::run() {
  DOVETAIL_TRY(check_options(target_, options_));
  part_ = options_.part.value_or(ConvertPart{});
  DOVETAIL_ASSIGN(auto split, RecordSplit::make(options_.split, options_.split_seed));
  split_ = std::move(split);
  DOVETAIL_ASSIGN(auto files, open_input());
  files_.emplace(std::move(files));
  auto report = convert_files();
  if (!report) return files_->renamed(report.error());
  for (SkippedRecord& skipped : report->first_skipped) skipped.error = files_->renamed(skipped.error);
  return report;
}

Result<InputFiles> Conversion::open_input() const {
  const auto stream = std::find_if(options_.sources.begin(), options_.sources.end(), is_stream);
  if (stream != options_.sources.end()) {
    if (options_.part) {
      return Error(Errc::invalid_option,
                   "part: every part reads the sources, and a stream can be read once; write it to a file first")
          .in_file(shown_name(*stream));
    }
    // Better before all of it was read than after, where no earlier conversion has to be looked at first.
    std::error_code failed;
    if (!std::filesystem::exists(std::filesystem::path(target_) / work_folder_name(part_), failed)) {
      DOVETAIL_TRY(check_targets());
    }
  }
  return InputFiles::open(options_.sources, options_.from, target_, [&](std::uint64_t copied) {
    return options_.progress && !options_.progress({.input_bytes = copied});
  });
}

Result<ConvertReport> Conversion::convert_files() {
  DOVETAIL_TRY(plan());
  DOVETAIL_ASSIGN(auto work, WorkFolder::create(target_, part_));
  try {
    auto report = run_in(work);
    if (!report) return give_up(work, report.error());
    return report;
  } catch (...) {  // memory that is short, or what the caller's own function throws
    (void)give_up(work, Error::from_errno(ECANCELED));
    throw;
  }
}

Result<void> Conversion::plan() {
  SourceOptions source = options_.source;
  source.format = options_.from;
  source.max_record_bytes = options_.writer.shard.max_record_bytes;
  source.cancelled = ask_seldom(options_.progress);
  DOVETAIL_ASSIGN(auto line, InputLine::open(files_->paths(), source));
  line_ = std::move(line);
  DOVETAIL_ASSIGN(auto input, files_->identify(options_.source));
  input_ = std::move(input);
  shard_ = carry_on(options_.writer.shard, *line_);
  DOVETAIL_ASSIGN(auto surveyed,
                  survey(*line_, options_.writer.shard.run_bytes, ask_seldom(options_.progress, line_->bytes())));
  survey_ = surveyed;
  if (options_.writer.shard.run_records != 0) survey_.run_records = options_.writer.shard.run_records;
  DOVETAIL_TRY(choose_shards());
  facts_ = describe();
  return {};
}

Result<void> Conversion::choose_shards() {
  shards_ = options_.shards;
  const std::uint64_t shard_bytes = options_.writer.shard_bytes;
  if (shards_ != 0) return {};
  const std::uint64_t wanted = shard_bytes == 0 ? 1 : std::max<std::uint64_t>(survey_.raw_bytes / shard_bytes, 1);
  if (wanted > kMaxShards) {
    return Error(Errc::invalid_option, "shard_bytes = " + std::to_string(shard_bytes) + ": makes more than " +
                                           std::to_string(kMaxShards) + " shards");
  }
  // Rounded up, so that shards are rather smaller than what was asked for.
  shards_ = static_cast<std::uint32_t>(wanted);
  if (shard_bytes != 0 && survey_.raw_bytes > wanted * shard_bytes && wanted != kMaxShards) ++shards_;
  return {};
}

// Whatever the bytes depend on.
Facts Conversion::describe() const {
  const WriterOptions& shard = options_.writer.shard;
  Facts facts;
  facts.add("writer", make_metadata(std::string()).writer);
  facts.add("input_files", std::to_string(line_->files()));
  facts.add("input_bytes", std::to_string(line_->bytes()));
  facts.add("input_names_and_sizes", input_.content);
  facts.add("here.input_times", input_.times);
  for (std::size_t i = 0; i != line_->sources().size(); ++i) {
    const LineSource& source = line_->sources()[i];
    facts.add("here.source." + std::to_string(i), options_.sources[i]);
    facts.add("format." + std::to_string(i), std::string(to_string(source.format)));
  }
  facts.add("codec", shard.codec == Codec::none ? "none" : "snappy");
  facts.add("block_bytes", std::to_string(shard.block_bytes));
  facts.add("run_records", std::to_string(survey_.run_records));
  facts.add("shards", std::to_string(shards_));
  facts.add("source_options", describe_options(options_.source));
  // Otherwise a record above it is an error, and leaves nothing to continue.
  if (options_.source.on_error == OnError::skip) {
    facts.add("max_record_bytes", std::to_string(shard.max_record_bytes));
  }
  facts.add("record_type", shard_.record_type);
  facts.add("metadata", hash_of(shard_.metadata));
  facts.add("schema", shard_.schema ? to_text(*shard_.schema) : std::string());
  facts.add("shuffle_seed", options_.shuffle_seed ? std::to_string(*options_.shuffle_seed) : std::string());
  for (std::size_t i = 0; i != options_.split.size(); ++i) {
    facts.add("split." + std::to_string(i), options_.split[i].name);
    facts.add("share." + std::to_string(i), exact(options_.split[i].share));
  }
  if (!options_.split.empty()) facts.add("split_seed", std::to_string(options_.split_seed));
  facts.add("parts", std::to_string(part_.parts));
  return facts;
}

// Shards that were made of a file before and after it was written again are no dataset of either.
Result<void> Conversion::check_input() const {
  DOVETAIL_ASSIGN(auto now, files_->identify(options_.source));
  if (now.content == input_.content && now.times == input_.times) return {};
  return Error(Errc::file_changed, "a file of the sources was written while it was converted")
      .in_file(shown_name(options_.sources.front()));
}

Result<void> Conversion::check_targets() const {
  if (options_.writer.shard.overwrite) return {};
  for (std::size_t i = 0; i != split_->outputs(); ++i) {
    const std::string path = (std::filesystem::path(target_) / split_->name(i)).native();
    std::error_code failed;
    if (!std::filesystem::exists(path, failed)) continue;
    DOVETAIL_ASSIGN(auto folder, OutputFolder::open(path));
    DOVETAIL_TRY(check_vacant(*folder));
  }
  return {};
}

Result<std::optional<Facts>> Conversion::earlier_facts(const WorkFolder& work) const {
  if (!options_.resume) return std::nullopt;
  return work.facts();
}

// An earlier call of the same command may have been stopped when its datasets were whole.
Result<std::optional<ConvertReport>> Conversion::finish_earlier(WorkFolder& work) {
  if (!options_.resume || options_.part) return std::nullopt;
  DOVETAIL_ASSIGN(const auto merged, work.merged());
  if (!merged) return std::nullopt;
  const std::optional<DatasetId>& given = options_.writer.shard.dataset_id;
  Facts facts = facts_;
  facts.add("dataset_id", given ? given->to_hex() : (*merged)["dataset_id"]);
  if (facts.difference_from(*merged, {})) return std::nullopt;
  auto finished = merged_earlier(target_, {part_});
  if (!finished || !*finished) return finished;
  work.remove();
  (**finished).kept_shards = (**finished).shards;
  add_input(**finished);
  return finished;
}

Result<ConvertReport> Conversion::run_in(WorkFolder& work) {
  keep_all_ = options_.resume;
  auto finished = finish_earlier(work);
  if (!finished) return finished.error();
  if (*finished) return std::move(**finished);
  DOVETAIL_ASSIGN(auto earlier, earlier_facts(work));
  keep_all_ = earlier.has_value();
  const std::optional<DatasetId>& given = options_.writer.shard.dataset_id;
  dataset_id_ = given ? *given : options_.part ? facts_.derived_id() : DatasetId::random();
  if (earlier && !given) {
    auto id = DatasetId::from_hex((*earlier)["dataset_id"]);
    if (id) dataset_id_ = *id;
  }
  facts_.add("dataset_id", dataset_id_.to_hex());
  if (earlier) {
    if (auto differs = facts_.difference_from(*earlier, {})) {
      return Error(Errc::state_mismatch, "another conversion is unfinished here: " + *differs +
                                             "; continue that one with its own input and options, or say --no-resume "
                                             "to drop what it has finished")
          .in_file(work.folder()->path());
    }
  }
  DOVETAIL_TRY(begin(work, !earlier));

  DOVETAIL_ASSIGN(auto whole, finished_part(work));
  if (!whole) {
    DOVETAIL_ASSIGN(auto written, write_part_of(work));
    whole = std::move(written);
  }
  keep_all_ = whole_ = true;
  ConvertReport report = report_of(*whole);
  if (options_.part) return report;
  std::vector<WholePart> contents;
  contents.push_back(std::move(*whole));
  DOVETAIL_ASSIGN(auto assembled, assemble(target_, {part_}, contents, options_.writer.shard.overwrite));
  work.remove();
  report.datasets = std::move(assembled.datasets);
  return report;
}

Result<void> Conversion::begin(const WorkFolder& work, bool fresh) {
  if (!fresh) return work.remove_partial_files();
  if (auto vacant = check_targets(); !vacant) {
    // It may hold shards that nobody has elsewhere; and what is left of a part that was merged says so to `merge`.
    const auto empty = work.is_empty();
    keep_all_ = !empty || !*empty;
    if (!keep_all_ || options_.resume || !vacant.error().is(Errc::already_exists)) return vacant;
    return advised(vacant.error(),
                   "say --overwrite to replace what is there; what an earlier conversion has finished is "
                   "kept, and its own command continues it without --no-resume");
  }
  if (auto cleared = work.clear(); !cleared) {
    keep_all_ = true;
    return cleared;
  }
  return work.keep_facts(facts_);
}

// A merging that was stopped has taken some of the shards, and somebody may have removed them where they came to.
Result<std::optional<WholePart>> Conversion::finished_part(const WorkFolder& work) const {
  auto whole = read_part(work);
  if (!whole || !*whole) return whole;
  DOVETAIL_ASSIGN(auto complete, has_shards(work, **whole));
  if (complete) return whole;
  DOVETAIL_TRY(work.folder()->remove(part_manifest_name(part_)));
  return std::nullopt;
}

// In the part's folder, or in their place already.
Result<bool> Conversion::has_shards(const WorkFolder& work, const WholePart& part) const {
  for (std::size_t i = 0; i != std::min(split_->outputs(), part.shards.size()); ++i) {
    DOVETAIL_ASSIGN(auto stock, work.output(split_->name(i)));
    std::shared_ptr<OutputFolder> place;
    for (const ShardInfo& info : part.shards[i]) {
      DOVETAIL_ASSIGN(auto there, stock->contains(info.name));
      if (there) continue;
      const std::string path = (std::filesystem::path(target_) / split_->name(i)).native();
      std::error_code failed;
      if (!place && !std::filesystem::exists(path, failed)) return false;
      if (!place) {
        DOVETAIL_ASSIGN(auto opened, OutputFolder::open(path));
        place = std::move(opened);
      }
      DOVETAIL_ASSIGN(auto found, finished_shard(*place, shard_number_of(info.name).value_or(0), part.dataset_id));
      if (!found || *found != info) return false;
    }
  }
  return true;
}

Result<WholePart> Conversion::write_part_of(const WorkFolder& work) {
  tally_.emplace(split_->outputs(), first_shard_of(part_.number, part_.parts, shards_),
                 first_shard_of(part_.number + 1, part_.parts, shards_));
  ShardWork shards;
  shards.line = &*line_;
  shards.split = &*split_;
  shards.shards = shards_;
  shards.shard = shard_;
  shards.shard.dataset_id = dataset_id_;
  shards.shard.run_records = survey_.run_records;
  shards.jobs = options_.jobs != 0 ? options_.jobs : std::max(1u, std::thread::hardware_concurrency());
  shards.memory_bytes = options_.memory_bytes;
  shards.progress = options_.progress;
  shards.tally = &*tally_;
  shards.skips = &skips_;
  for (std::size_t i = 0; i != split_->outputs(); ++i) {
    DOVETAIL_ASSIGN(auto folder, work.output(split_->name(i)));
    DOVETAIL_TRY(tally_->find(i, *folder, dataset_id_));
    shards.folders.push_back(std::move(folder));
  }
  kept_ = tally_->finished();
  keep_all_ = false;  // before, nobody knows what there is to keep
  auto written =
      options_.shuffle_seed ? write_shuffled_shards(shards, survey_, *options_.shuffle_seed) : write_shards(shards);
  if (!written) return written.error();
  DOVETAIL_TRY(check_input());
  for (const auto& folder : shards.folders) {
    DOVETAIL_TRY(folder->sync());
  }
  WholePart part{facts_, dataset_id_, {}};
  for (std::size_t i = 0; i != split_->outputs(); ++i) part.shards.push_back(tally_->infos(i));
  if (!options_.part) {
    const auto holds_records = [](const ShardInfo& info) { return info.records != 0; };
    const bool any = std::any_of(part.shards.begin(), part.shards.end(), [&](const auto& infos) {
      return std::any_of(infos.begin(), infos.end(), holds_records);
    });
    if (!any) return Error(Errc::empty_input, "no record in any source").in_file(shown_name(options_.sources.front()));
  }
  DOVETAIL_TRY(write_part(work, part, options_.writer.shard.codec));
  return part;
}

Error Conversion::give_up(WorkFolder& work, const Error& error) {
  // Other errors say themselves what to do.
  if (whole_ && error.kind() == ErrorKind::io) {
    return advised(error, "all shards are finished and kept; run the same command again to put them in their place");
  }
  if (keep_all_) return error;
  const std::uint32_t finished = tally_ ? tally_->finished() : 0;
  // Options that change speed only may be wrong in one call and right in the next.
  const bool wrong_use = error.kind() == ErrorKind::usage && !error.is(Errc::budget_too_small);
  const bool final = error.kind() == ErrorKind::damaged || (wrong_use && kept_ == 0);
  if (final || !options_.resume || finished == 0) {
    work.remove();
    return error;
  }
  if (auto removed = work.remove_partial_files(); !removed) return error;
  const std::string kept = std::to_string(finished) + " of " + std::to_string(tally_->end() - tally_->begin()) +
                           " shards are finished and kept; run the same command again to continue";
  return advised(error, kept);
}

Error Conversion::advised(const Error& error, const std::string& advice) const {
  const Error said(error.code(), error.detail().empty() ? advice : error.detail() + "; " + advice);
  if (error.path().empty()) return said.in_file(target_);
  return error.offset() ? said.at(error.path(), *error.offset()) : said.in_file(error.path());
}

void Conversion::add_input(ConvertReport& report) const {
  report.input_bytes = line_->bytes();
  report.files = line_->files();
  for (std::size_t i = 0; i != line_->sources().size(); ++i) {
    const LineSource& source = line_->sources()[i];
    report.formats.push_back(source.format);
    report.sources.push_back(
        {options_.sources[i], source.format, source.left_out, source.classes, source.columns, source.unmatched});
  }
}

ConvertReport Conversion::report_of(const WholePart& part) const {
  ConvertReport report;
  for (const std::vector<ShardInfo>& shards : part.shards) {
    for (const ShardInfo& info : shards) {
      report.records += info.records;
      report.raw_bytes += info.raw_bytes;
      report.stored_bytes += info.stored_bytes;
    }
  }
  report.shards = static_cast<std::uint32_t>(part.shards.front().size());
  report.kept_shards = tally_ ? kept_ : report.shards;
  report.skipped = skips_.all().count();
  report.first_skipped = skips_.all().first();
  add_input(report);
  return report;
}

}  // namespace dovetail::detail
