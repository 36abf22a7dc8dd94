// SPDX-License-Identifier: Apache-2.0
#include "tfrecord/export_input.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "convert/input_line.h"
#include "convert/survey.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

constexpr std::uint64_t kTickRecords = 1024;

class LineInput final : public ExportInput {
 public:
  LineInput(InputLine line, std::uint32_t files) : line_(std::move(line)), shares_(std::max(files, 1u)) {}

  std::uint32_t shares() const override { return shares_; }
  std::uint64_t total() const override { return line_.bytes(); }
  Result<void> read(std::uint32_t share, ProgressMeter& meter, const std::function<bool()>& stopped,
                    const Take& take) const override {
    const std::uint64_t begin = line_.begin_of(share, shares_);
    const std::uint64_t end = line_.begin_of(std::uint64_t{share} + 1, shares_);
    LineCursor cursor(line_, {shares_, begin, end});
    auto read =
        read_range(cursor, begin, end, meter, stopped, [&take](const LineCursor& at) { return take(at.record()); });
    if (read) skips_.add(cursor.take_skips(share));
    return read;
  }
  SkipTally skipped() const override { return skips_.all(); }
  Result<void> allow_empty() const override { return no_record(line_, skips_.all()); }

 private:
  InputLine line_;
  std::uint32_t shares_;
  mutable SkipCount skips_;
};

class DatasetInput final : public ExportInput {
 public:
  DatasetInput(Dataset dataset, std::uint32_t files, std::uint32_t max_record_bytes)
      : dataset_(std::move(dataset)), max_record_bytes_(max_record_bytes) {
    if (files == 0) {
      std::uint64_t end = 0;
      for (const ShardInfo& shard : dataset_.shards()) ends_.push_back(end += shard.records);
      if (ends_.empty()) ends_.push_back(0);  // one empty file
    } else {
      for (std::uint32_t file = 1; file <= files; ++file) {
        ends_.push_back(static_cast<std::uint64_t>(static_cast<unsigned __int128>(dataset_.records()) * file / files));
      }
    }
  }

  std::uint32_t shares() const override { return static_cast<std::uint32_t>(ends_.size()); }
  std::uint64_t total() const override { return dataset_.records(); }
  Result<void> read(std::uint32_t share, ProgressMeter& meter, const std::function<bool()>& stopped,
                    const Take& take) const override {
    const std::uint64_t end = ends_[share];
    std::optional<RecordReader> reader;
    std::uint32_t shard = 0;
    ProgressMeter::Done done;
    for (std::uint64_t id = share == 0 ? 0 : ends_[share - 1]; id != end; ++id) {
      if (!reader || reader->position() == reader->shard().info.records) {
        DOVETAIL_TRY(open_at(id, reader, shard));
      }
      auto record = reader->next();
      if (!record) return record.error();
      if (!*record) return Error(Errc::truncated, "the shard ends early").in_file(dataset_.shard_path(shard));
      if ((*record)->size() > max_record_bytes_) {
        return Error(Errc::record_too_large, "record " + std::to_string(reader->position() - 1) + " has " +
                                                 std::to_string((*record)->size()) + " bytes; the limit is " +
                                                 std::to_string(max_record_bytes_))
            .in_file(dataset_.shard_path(shard));
      }
      ++done.records;
      done.raw_bytes += (*record)->size();
      DOVETAIL_TRY(take(**record));
      if (done.records % kTickRecords != 0 && id + 1 != end) continue;
      if (stopped()) return {};
      done.input_bytes = done.records;
      done.work = static_cast<double>(done.records);
      DOVETAIL_TRY(meter.add(std::exchange(done, {})));
    }
    return {};
  }
  Result<void> allow_empty() const override { return {}; }

 private:
  Result<void> open_at(std::uint64_t id, std::optional<RecordReader>& reader, std::uint32_t& shard) const {
    const Dataset::Place place = dataset_.locate(id);
    shard = place.shard;
    DOVETAIL_ASSIGN(auto opened, RecordReader::open(dataset_, place.shard));
    reader = std::move(opened);
    return reader->seek(place.record);
  }

  Dataset dataset_;
  std::uint32_t max_record_bytes_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace

Result<std::unique_ptr<ExportInput>> open_export_input(const TfrecordExportOptions& options,
                                                       const std::vector<std::string>& paths) {
  if (paths.empty()) return Error(Errc::empty_input, "no source is given");
  const SourceOptions& source = options.source;
  const bool whole = source.first == 0 && !source.end && source.sample >= 1;
  // Options without effect on a dataset are for sources, which accept or refuse them.
  const bool plain = source.records == RecordForm::automatic && !source.labels && source.classes.empty() &&
                     source.on_error == OnError::fail && source.csv.delimiter == 0 && source.csv.header &&
                     source.csv.types.empty() && source.include.empty() && source.exclude.empty();
  if (paths.size() == 1 && options.from == SourceFormat::detect && whole && plain) {
    auto dataset = Dataset::open(paths.front());
    if (dataset) return std::make_unique<DatasetInput>(std::move(*dataset), options.files, source.max_record_bytes);
    const Error& error = dataset.error();
    const bool other = error.is(Errc::not_dovetail) || error.is(Errc::not_indexed) || error.is(Errc::empty_input) ||
                       error.is(Errc::unknown_format) || error.is(Errc::foreign_file);
    if (!other) return error;
  }
  SourceOptions source_options = options.source;
  source_options.format = options.from;
  source_options.cancelled = ask_seldom(options.progress);
  DOVETAIL_ASSIGN(auto line, InputLine::open(paths, source_options));
  return std::make_unique<LineInput>(std::move(line), options.files);
}

}  // namespace dovetail::detail
