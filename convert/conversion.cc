// SPDX-License-Identifier: Apache-2.0
#include "convert/conversion.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <thread>
#include <utility>

#include "convert/carried.h"
#include "convert/infer_schema.h"
#include "convert/publish_parts.h"
#include "convert/workers.h"
#include "format/guard_memory.h"
#include "format/try.h"
#include "sources/bytes/hashes.h"
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
  std::array<char, 32> text;
  return {text.data(),
          std::to_chars(text.data(), text.data() + text.size(), share, std::chars_format::general, 17).ptr};
}

}  // namespace

Result<ConvertReport> Conversion::run() {
  DOVETAIL_TRY(check_options(target_, options_));
  part_ = options_.part.value_or(ConvertPart{});
  own_ = PartFiles(part_);
  DOVETAIL_ASSIGN(auto split, RecordSplit::make(options_.split, options_.split_seed));
  split_ = std::move(split);
  const auto stream = std::find_if(options_.sources.begin(), options_.sources.end(), is_stream);
  if (stream != options_.sources.end() && options_.part) {
    return Error(Errc::invalid_option,
                 "part: every part reads the sources, but a stream can be read only once; write it to a file first")
        .in_file(shown_name(*stream));
  }
  // Check streams first: a descriptor opened here could take the number of a closed standard input.
  DOVETAIL_TRY(check_streams(options_.sources, options_.from));
  DOVETAIL_TRY(open_staging());
  try {
    auto report = convert_files();
    return report ? std::move(report) : give_up(report.error());
  } catch (...) {  // out of memory, or an exception of the caller's function
    (void)give_up(Error::from_errno(ECANCELED));
    throw;
  }
}

Result<ConvertReport> Conversion::convert_files() {
  DOVETAIL_ASSIGN(auto files, InputFiles::open(options_.sources, options_.from, target_, [&](std::uint64_t copied) {
                    return options_.progress && !options_.progress({.input_bytes = copied});
                  }));
  files_.emplace(std::move(files));
  const auto convert = [&]() -> Result<ConvertReport> {
    DOVETAIL_TRY(plan());
    while (staging_->is_published()) {
      DOVETAIL_ASSIGN(auto finished, finish_earlier());
      DOVETAIL_TRY(staging_->tidy());
      if (finished) return std::move(*finished);
      staging_.reset();
      DOVETAIL_TRY(open_staging());
    }
    return convert_staged();
  };
  auto report = convert();
  if (!report) return files_->renamed(report.error());
  for (SkippedRecord& skipped : report->first_skipped) skipped.error = files_->renamed(skipped.error);
  return report;
}

Result<void> Conversion::plan() {
  SourceOptions source = options_.source;
  source.format = options_.from;
  source.max_record_bytes = options_.writer.shard.max_record_bytes;
  source.cancelled = ask_seldom(options_.progress);
  source.schema = options_.writer.shard.schema;
  DOVETAIL_ASSIGN(auto line, InputLine::open(files_->paths(), source));
  line_ = std::move(line);
  DOVETAIL_ASSIGN(auto input, files_->identify(options_.source));
  input_ = std::move(input);
  shard_ = carry_on(options_.writer.shard, *line_);
  DOVETAIL_ASSIGN(auto surveyed,
                  survey(*line_, options_.writer.shard.run_bytes, ask_seldom(options_.progress, line_->bytes())));
  survey_ = surveyed;
  if (options_.writer.shard.run_records != 0) survey_.run_records = options_.writer.shard.run_records;
  // JSON lines may change the kind of a member. Inferring a schema finds this.
  const bool json = source.records == RecordForm::example && line_->sources().front().format == SourceFormat::jsonl;
  if (options_.infer_schema || (json && !shard_.schema)) {
    ProgressMeter meter(options_.progress, line_->bytes(), 0);
    DOVETAIL_ASSIGN(auto inferred, infer_schema(*line_, jobs(), [&] { return meter.cancelled(); }));
    shard_.schema = std::move(inferred.schema);
    if (!inferred.note.empty()) notes_.push_back(std::move(inferred.note));
  }
  if (const auto differ = schema_difference(*line_); differ && !shard_.schema) {
    notes_.push_back("no schema: " + *differ + "; give --schema infer");
  }
  DOVETAIL_TRY(choose_shards());
  spec_ = describe();
  return {};
}

unsigned Conversion::jobs() const noexcept {
  return options_.jobs != 0 ? options_.jobs : std::max(1u, std::thread::hardware_concurrency());
}

Result<void> Conversion::choose_shards() {
  shards_ = options_.shards;
  const std::uint64_t shard_bytes = options_.writer.shard_bytes;
  if (shards_ != 0) return {};
  const std::uint64_t wanted = shard_bytes == 0 ? 1 : std::max<std::uint64_t>(survey_.raw_bytes / shard_bytes, 1);
  if (wanted > kMaxShards) {
    return Error(Errc::invalid_option, "shard_bytes = " + std::to_string(shard_bytes) + ": this makes more than " +
                                           std::to_string(kMaxShards) + " shards");
  }
  // Rounds up, so that shards are smaller rather than larger than requested.
  shards_ = static_cast<std::uint32_t>(wanted);
  if (shard_bytes != 0 && survey_.raw_bytes > wanted * shard_bytes && wanted != kMaxShards) ++shards_;
  return {};
}

// Describes everything that the output depends on.
ConversionSpec Conversion::describe() const {
  const WriterOptions& shard = options_.writer.shard;
  ConversionSpec spec;
  spec.add("writer", make_metadata(std::string()).writer);
  spec.add("input_files", std::to_string(line_->files()));
  spec.add("input_bytes", std::to_string(line_->bytes()));
  spec.add("input_names_and_sizes", input_.content);
  spec.add("here.input_times", input_.times);
  for (std::size_t i = 0; i != line_->sources().size(); ++i) {
    const LineSource& source = line_->sources()[i];
    spec.add("here.source." + std::to_string(i), options_.sources[i]);
    spec.add("format." + std::to_string(i), std::string(to_string(source.format)));
  }
  const std::string level = shard.codec == Codec::zstd ? "-" + std::to_string(shard.codec_level) : "";
  spec.add("codec", std::string(to_string(shard.codec)) + level);
  spec.add("block_bytes", std::to_string(shard.block_bytes));
  spec.add("run_records", std::to_string(survey_.run_records));
  spec.add("shards", std::to_string(shards_));
  spec.add("source_options", describe_options(options_.source));
  // With `OnError::fail`, a record above the limit is an error that leaves nothing to continue. So
  // the limit need not match.
  if (options_.source.on_error == OnError::skip) {
    spec.add("max_record_bytes", std::to_string(shard.max_record_bytes));
  }
  spec.add("record_type", shard_.record_type);
  spec.add("metadata", hash_of(shard_.metadata));
  spec.add("schema", shard_.schema ? to_text(*shard_.schema) : std::string());
  spec.add("shuffle_seed", options_.shuffle_seed ? std::to_string(*options_.shuffle_seed) : std::string());
  for (std::size_t i = 0; i != options_.split.size(); ++i) {
    spec.add("split." + std::to_string(i), options_.split[i].name);
    spec.add("share." + std::to_string(i), exact(options_.split[i].share));
  }
  if (!options_.split.empty()) spec.add("split_seed", std::to_string(options_.split_seed));
  spec.add("parts", std::to_string(part_.parts));
  return spec;
}

// Shards from before and after a change of a file do not make a valid dataset.
Result<void> Conversion::check_input() const {
  DOVETAIL_ASSIGN(auto now, files_->identify(options_.source));
  if (now.content == input_.content && now.times == input_.times) return {};
  return Error(Errc::file_changed, "a source file changed while it was converted")
      .in_file(shown_name(options_.sources.front()));
}

// An earlier call of the same command may have been killed after it had published its datasets.
Result<std::optional<ConvertReport>> Conversion::finish_earlier() {
  if (!options_.resume || options_.part) return std::nullopt;
  DOVETAIL_ASSIGN(const auto earlier, own_.read_spec(*staging_->folder()));
  if (!earlier) return std::nullopt;
  const std::optional<DatasetId>& given = options_.writer.shard.dataset_id;
  ConversionSpec spec = spec_;
  spec.add("dataset_id", given ? given->to_hex() : (*earlier)["dataset_id"]);
  if (spec.difference_from(*earlier, {})) return std::nullopt;
  DOVETAIL_ASSIGN(auto report, published_report(staging_->target(), names_of_outputs(spec)));
  report.kept_shards = report.shards;
  add_input(report);
  return report;
}

Result<ConvertReport> Conversion::convert_staged() {
  DOVETAIL_TRY(lock_part());
  std::optional<ConversionSpec> earlier;
  if (options_.resume) {
    DOVETAIL_ASSIGN(earlier, own_.read_spec(*staging_->folder()));
  }
  const std::optional<DatasetId>& given = options_.writer.shard.dataset_id;
  dataset_id_ = given ? *given : options_.part ? spec_.derived_id() : DatasetId::random();
  if (earlier && !given) {
    auto id = DatasetId::from_hex((*earlier)["dataset_id"]);
    if (id) dataset_id_ = *id;
  }
  spec_.add("dataset_id", dataset_id_.to_hex());
  DOVETAIL_TRY(check_other_parts());
  DOVETAIL_TRY(begin(earlier));

  DOVETAIL_ASSIGN(auto whole, finished_part());
  if (!whole) {
    DOVETAIL_ASSIGN(whole, write_part());
  }
  keep_staged_ = whole_ = true;
  ConvertReport report = report_of(*whole);
  unlock_part();
  if (options_.part) return report;
  std::vector<WholePart> parts;
  parts.push_back(std::move(*whole));
  DOVETAIL_ASSIGN(auto published, publish_parts(*staging_, parts, options_.writer.shard.overwrite));
  DOVETAIL_TRY(staging_->tidy());
  report.datasets = std::move(published.datasets);
  return report;
}

Result<WholePart> Conversion::write_part() {
  tally_.emplace(split_->outputs(), first_shard_of(part_.number, part_.parts, shards_),
                 first_shard_of(part_.number + 1, part_.parts, shards_));
  ShardWork shards;
  shards.line = &*line_;
  shards.split = &*split_;
  shards.shards = shards_;
  shards.shard = shard_;
  shards.shard.dataset_id = dataset_id_;
  shards.shard.run_records = survey_.run_records;
  shards.jobs = jobs();
  shards.memory_bytes = options_.memory_bytes;
  shards.progress = options_.progress;
  shards.tally = &*tally_;
  shards.skips = &skips_;
  shards.notes = &record_notes_;
  for (std::size_t i = 0; i != split_->outputs(); ++i) {
    DOVETAIL_ASSIGN(auto folder, staging_->output(split_->name(i)));
    DOVETAIL_TRY(tally_->find(i, *folder, dataset_id_));
    shards.folders.push_back(std::move(folder));
  }
  kept_ = tally_->finished();
  keep_staged_ = false;  // before this point, the shards to keep are unknown
  auto written =
      options_.shuffle_seed ? write_shuffled_shards(shards, survey_, *options_.shuffle_seed) : write_shards(shards);
  if (!written) return written.error();
  DOVETAIL_TRY(check_input());
  for (const auto& folder : shards.folders) {
    DOVETAIL_TRY(folder->sync());
  }
  WholePart part{spec_, dataset_id_, {}};
  for (std::size_t i = 0; i != split_->outputs(); ++i) part.shards.push_back(tally_->infos(i));
  if (!options_.part) {
    const auto holds_records = [](const ShardInfo& info) { return info.records != 0; };
    const bool any = std::any_of(part.shards.begin(), part.shards.end(), [&](const auto& infos) {
      return std::any_of(infos.begin(), infos.end(), holds_records);
    });
    if (!any) return Error(Errc::empty_input, "no record in any source").in_file(shown_name(options_.sources.front()));
  }
  DOVETAIL_TRY(own_.write(*staging_->folder(), part, options_.writer.shard.codec));
  return part;
}

Error Conversion::give_up(const Error& error) {
  // Other errors state the remedy themselves.
  if (whole_ && error.kind() == ErrorKind::io) {
    return advised(error, "all shards are finished and kept; run the same command again to publish them");
  }
  if (!staging_) return error;
  if (keep_staged_) {
    unlock_part();
    staging_->remove_if_empty();
    return error;
  }
  const std::uint32_t finished = tally_ ? tally_->finished() : 0;
  // Options that only change the speed may be wrong in one call and right in the next.
  const bool wrong_use = error.kind() == ErrorKind::usage && !error.is(Errc::budget_too_small);
  const bool final = error.kind() == ErrorKind::damaged || (wrong_use && kept_ == 0);
  if (final || !options_.resume || finished == 0) {
    remove_part();
    return error;
  }
  const auto removed = remove_earlier(true);
  unlock_part();
  if (!removed) return error;
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
  report.schema = shard_.schema;
  report.notes = notes_;
  for (const LineSource& source : line_->sources()) {
    report.notes.insert(report.notes.end(), source.notes.begin(), source.notes.end());
  }
  for (std::string& note : record_notes_.texts(kept_ != 0)) report.notes.push_back(std::move(note));
  if (!shard_.schema && line_->sources().front().format == SourceFormat::tar &&
      line_->sources().front().record_type == "example") {
    report.notes.emplace_back(
        "the dataset has no schema, so readers must name their columns; --schema infer finds one");
  }
  for (std::string& note : report.notes) note = files_->renamed(note);
  for (std::size_t i = 0; i != line_->sources().size(); ++i) {
    const LineSource& source = line_->sources()[i];
    report.formats.push_back(source.format);
    report.sources.push_back(source);
    report.sources.back().path = options_.sources[i];
    for (CsvColumn& column : report.sources.back().columns) column.reason = files_->renamed(column.reason);
  }
}

ConvertReport Conversion::report_of(const WholePart& part) const {
  ConvertReport report;
  for (const std::vector<ShardInfo>& shards : part.shards) add_shards(shards, report);
  report.shards = static_cast<std::uint32_t>(part.shards.front().size());
  report.kept_shards = tally_ ? kept_ : report.shards;
  report.skipped = skips_.all().count();
  report.first_skipped = skips_.all().first();
  add_input(report);
  return report;
}

}  // namespace dovetail::detail

namespace dovetail {

Result<ConvertReport> convert(const std::string& folder, const ConvertOptions& options) {
  return detail::guard_memory(folder, [&]() -> Result<ConvertReport> {
    auto report = detail::Conversion(folder, options).run();
    if (report) {
      const WriterOptions& shard = options.writer.shard;
      auto notes = detail::conversion_notes(*report, options.shuffle_seed.has_value(),
                                            shard.run_records == 0 ? shard.run_bytes : 0);
      std::move(notes.begin(), notes.end(), std::back_inserter(report->notes));
      return report;
    }
    // The error of running out of memory for the output names no file.
    if (report.error().kind() == ErrorKind::io && report.error().path().empty()) {
      return report.error().in_file(folder);
    }
    return report;
  });
}

}  // namespace dovetail
