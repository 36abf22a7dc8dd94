// SPDX-License-Identifier: Apache-2.0
#include <dovetail/convert.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace dovetail {

namespace {

std::string_view record_type_of(SourceFormat format) {
  if (format == SourceFormat::tfrecord) return "tfrecord";
  return format == SourceFormat::folder ? "file" : "line";
}

// Otherwise a second run would pack what the first has written.
Result<void> check_outside(const std::string& folder, const std::string& source) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path target = fs::weakly_canonical(folder, failed);
  if (failed) return {};  // what keeps it from being found will keep it from being made, and said better there
  const fs::path origin = fs::weakly_canonical(source, failed);
  if (failed || !fs::is_directory(origin, failed)) return {};
  if (std::mismatch(origin.begin(), origin.end(), target.begin(), target.end()).first != origin.end()) return {};
  return Error(Errc::invalid_option, "the output folder " + folder + " lies in a source").in_file(source);
}

/// Carries records from sources to a writer, and says which shard they belong to.
class Conversion {
 public:
  explicit Conversion(const ConvertOptions& options) : options_(options) {}

  Result<ConvertReport> run(const std::string& folder) {
    if (auto opened = open_sources(folder); !opened) return opened.error();
    auto writer = DatasetWriter::create(folder, writer_options());
    if (!writer) return writer.error();
    for (RecordSource& source : sources_) {
      if (auto done = carry(source, *writer); !done) return done.error();
      before_ += source.input_bytes();
    }
    if (writer->records() == 0) {
      return Error(Errc::empty_input, "no record in any source").in_file(options_.sources.front());
    }
    if (auto ended = end_shards(*writer, options_.shards); !ended) return ended.error();
    report_.records = writer->records();
    report_.raw_bytes = writer->raw_bytes();
    auto dataset = writer->finish();
    if (!dataset) return dataset.error();
    report_.dataset = std::move(*dataset);
    return std::move(report_);
  }

 private:
  Result<void> open_sources(const std::string& folder) {
    if (options_.sources.empty()) return Error(Errc::empty_input, "no source is given");
    if (options_.shards != 0 && options_.writer.shards != 0) {
      return Error(Errc::invalid_option, "shards and writer.shards exclude each other");
    }
    if (options_.shards > kMaxShards) {
      return Error(Errc::invalid_option,
                   "shards = " + std::to_string(options_.shards) + ": must be 0 to " + std::to_string(kMaxShards));
    }
    const SourceOptions source_options{options_.from, options_.writer.shard.max_record_bytes};
    for (const std::string& path : options_.sources) {
      if (auto outside = check_outside(folder, path); !outside) return outside;
      auto source = RecordSource::open(path, source_options);
      if (!source) return source.error();
      total_ += source->input_bytes();
      report_.files += source->files();
      report_.formats.push_back(source->format());
      sources_.push_back(std::move(*source));
    }
    report_.input_bytes = total_;
    return {};
  }

  DatasetWriterOptions writer_options() const {
    DatasetWriterOptions options = options_.writer;
    if (options_.shards != 0) options.shard_bytes = 0;
    const SourceFormat first = report_.formats.front();
    const bool alike = std::all_of(report_.formats.begin(), report_.formats.end(),
                                   [first](SourceFormat format) { return format == first; });
    if (options.shard.record_type.empty() && alike) options.shard.record_type = record_type_of(first);
    return options;
  }

  Result<void> carry(RecordSource& source, DatasetWriter& writer) {
    for (;;) {
      auto record = source.next();
      if (!record) return record.error();
      if (!*record) return {};
      const std::uint64_t consumed = before_ + source.consumed_bytes();
      if (auto ended = end_shards(writer, shard_at(consumed)); !ended) return ended;
      if (auto appended = writer.append(**record); !appended) {
        return appended.error().at(source.file(), source.offset());
      }
      if (options_.progress && !options_.progress({writer.records(), writer.raw_bytes(), consumed, total_})) {
        return Error(boost::system::errc::make_error_code(boost::system::errc::operation_canceled));
      }
    }
  }

  // The shard of a record that has so many bytes of input before it.
  std::uint32_t shard_at(std::uint64_t consumed) const {
    if (options_.shards == 0 || total_ == 0) return 0;
    const auto shard = static_cast<unsigned __int128>(consumed) * options_.shards / total_;
    return static_cast<std::uint32_t>(std::min<unsigned __int128>(shard, options_.shards - 1));
  }

  Result<void> end_shards(DatasetWriter& writer, std::uint32_t wanted) {
    for (; ended_ < wanted; ++ended_) {
      if (auto ended = writer.next_shard(); !ended) return ended;
    }
    return {};
  }

  const ConvertOptions& options_;
  std::vector<RecordSource> sources_;
  std::uint64_t total_ = 0;   // input bytes of all sources
  std::uint64_t before_ = 0;  // of those that are done
  std::uint32_t ended_ = 0;   // shards
  ConvertReport report_;
};

}  // namespace

Result<ConvertReport> convert(const std::string& folder, const ConvertOptions& options) {
  try {
    return Conversion(options).run(folder);
  } catch (const std::bad_alloc&) {
    return Error::from_errno(ENOMEM);
  }
}

}  // namespace dovetail
