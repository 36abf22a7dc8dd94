// SPDX-License-Identifier: Apache-2.0
#include "convert/input_line.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <dovetail/convert.h>

#include "convert/carried.h"
#include "format/text/class_names.h"
#include "format/try.h"
#include "sources/csv_layout.h"

namespace dovetail::detail {

namespace {

// Combining different sources silently would show only in training. Labels of datasets are numbers,
// and cannot be renumbered.
Result<void> check_goes_with(const std::vector<LineSource>& earlier, const LineSource& source) {
  if (!earlier.empty() && earlier.front().format != source.format) {
    return Error(Errc::invalid_option, "this is " + std::string(to_string(source.format)) + ", but " +
                                           earlier.front().path + " is " +
                                           std::string(to_string(earlier.front().format)) +
                                           "; convert each by itself, then the datasets together if you need one")
        .in_file(source.path);
  }
  const std::string key(kClassesKey);
  const auto classes = source.metadata.find(key);
  if (classes == source.metadata.end()) return {};
  const auto other = std::find_if(earlier.begin(), earlier.end(),
                                  [&key](const LineSource& each) { return each.metadata.contains(key); });
  if (other == earlier.end()) return {};
  auto agree = format::check_classes_agree(classes->second, other->metadata.at(key), other->path);
  return agree ? agree : agree.error().in_file(source.path);
}

}  // namespace

Result<InputLine> InputLine::open(const std::vector<std::string>& paths, const SourceOptions& options) {
  if (paths.empty()) return Error(Errc::empty_input, "no source is given");
  InputLine line;
  line.options_ = options;
  CsvLayout columns;
  for (const std::string& path : paths) {
    DOVETAIL_ASSIGN(auto source, RecordSource::open(path, options));
    if (source.format() == SourceFormat::dovetail) {
      DOVETAIL_TRY(check_shards_agree(path, options));
    }
    LineSource known{{path, source.format(), source.left_out(), source.classes(), source.columns(), source.unmatched(),
                      source.notes()},
                     source.files(),
                     line.bytes_,
                     source.input_bytes(),
                     source.record_type(),
                     source.metadata(),
                     source.schema()};
    DOVETAIL_TRY(check_goes_with(line.sources_, known));
    line.sources_.push_back(std::move(known));
    const bool raw = options.records == RecordForm::raw;
    if (auto joined = join(columns, source.file(), source.columns(), raw); !joined) {
      return joined.error().in_file(source.file());
    }
    line.bytes_ += source.input_bytes();
    line.files_ += source.files();
  }
  line.number_classes_alike();
  for (LineSource& source : line.sources_) {
    if (source.columns.empty()) continue;
    source.columns = columns.columns;
    if (source.schema) source.schema = schema_of(source.columns);
  }
  return line;
}

void InputLine::number_classes_alike() {
  if (sources_.size() == 1 || !options_.labels || !options_.classes.empty()) return;
  std::vector<std::string>& all = options_.classes;
  for (LineSource& source : sources_) std::move(source.classes.begin(), source.classes.end(), std::back_inserter(all));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (LineSource& source : sources_) source.classes = all;
}

std::uint64_t InputLine::begin_of(std::uint64_t number, std::uint64_t shares) const noexcept {
  if (number == 0) return 0;
  if (number >= shares || bytes_ == 0) return kEnd;
  const unsigned __int128 scaled = static_cast<unsigned __int128>(bytes_) * number + (shares - 1);
  return static_cast<std::uint64_t>(scaled / shares);
}

std::uint64_t InputLine::share_of(std::uint64_t place, std::uint64_t shares) const noexcept {
  if (bytes_ == 0) return 0;
  const auto share = static_cast<std::uint64_t>(static_cast<unsigned __int128>(place) * shares / bytes_);
  return std::min(share, shares - 1);
}

Result<void> LineCursor::open_source() {
  const LineSource& known = line_->sources()[number_];
  SourceOptions options = line_->options();
  options.format = known.format;
  options.cancelled = cancelled_;
  for (const CsvColumn& column : known.columns) options.csv.types[column.name] = column.type;
  options.skipped = [this, before = known.before](const SkippedRecord& record) {
    const std::uint64_t place = before + record.consumed_bytes;
    if (place < scope_.begin || place >= scope_.end) return;
    skips_.add(line_->share_of(place, scope_.shares), place, record);
  };
  auto source = RecordSource::open(known.path, options);
  if (!source) return source.error();
  // If files appeared or disappeared, all later places would move.
  if (source->files() != known.files || source->input_bytes() != known.bytes) {
    return Error(Errc::file_changed, "the source has changed since the conversion began").in_file(known.path);
  }
  source_ = std::move(*source);
  return {};
}

void LineCursor::leave_source() noexcept {
  source_.reset();
  ++number_;
}

Result<void> LineCursor::seek(std::uint64_t place) {
  if (record_ && place_ >= place) return {};
  record_.reset();
  const std::vector<LineSource>& sources = line_->sources();
  while (number_ != sources.size() && sources[number_].before + sources[number_].bytes < place) leave_source();
  if (number_ == sources.size()) return {};
  if (!source_) {
    DOVETAIL_TRY(open_source());
  }
  const std::uint64_t before = sources[number_].before;
  if (place > before) {
    DOVETAIL_TRY(source_->skip_to(place - before));
  }
  return advance();
}

Result<void> LineCursor::advance() {
  const std::uint64_t last = place_;
  const bool continued = record_.has_value();
  const std::size_t last_source = number_;
  record_.reset();
  for (; number_ != line_->sources().size(); leave_source()) {
    if (!source_) {
      DOVETAIL_TRY(open_source());
    }
    DOVETAIL_ASSIGN(auto record, source_->next());
    if (!record) continue;
    record_ = record;
    place_ = line_->sources()[number_].before + source_->consumed_bytes();
    ordinal_ = continued && number_ == last_source && place_ == last ? ordinal_ + 1 : 0;
    return {};
  }
  return {};
}

}  // namespace dovetail::detail
