// SPDX-License-Identifier: Apache-2.0
#include <dovetail/tfrecord_index.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>

#include "format/block_bounds.h"
#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/guard_memory.h"
#include "format/layout.h"
#include "format/messages.h"
#include "format/shard_encoder.h"
#include "format/text/shell_quoted.h"
#include "format/tfrecord/tfrecord.h"
#include "format/tfrecord/tfrecord_block.h"
#include "format/tfrecord/tfrecord_index.h"
#include "format/try.h"
#include "sources/bytes/byte_stream.h"
#include "sources/bytes/source_file.h"
#include "sources/detect.h"
#include "tfrecord/dali_index.h"
#include "writer/writer_options.h"

namespace dovetail {

namespace {

// The length of a block of one record has 32 bits and includes the frame.
constexpr std::uint32_t kMaxRecordBytes = std::numeric_limits<std::uint32_t>::max() - format::kTfrecordFrameBytes;
constexpr std::size_t kEntriesPerRecord = 4096;

/// The facts about a record that the index needs.
struct Frame {
  std::uint32_t record_bytes = 0;
  std::array<std::byte, format::kTfrecordFooterBytes> footer = {};
};

/// Turns frames into blocks. Holds the first frames back until the run length is chosen.
class BlockList {
 public:
  explicit BlockList(const TfrecordIndexOptions& options)
      : options_(options),
        run_records_(options.run_records),
        bounds_(options.block_bytes, std::max<std::uint64_t>(options.run_records, 1)) {}

  void add(const Frame& frame) {
    info_.records += 1;
    info_.raw_bytes += frame.record_bytes;
    if (run_records_ != 0) return place(frame);
    held_.push_back(frame);
    first_.add(frame.record_bytes);
    if (format::can_choose_run(options_.run_bytes, first_)) choose_run();
  }

  /// Returns all facts except name, fingerprint, and those that follow from the size of the file.
  ShardInfo finish() {
    if (!held_.empty()) choose_run();
    close_block();
    info_.run_records = std::max<std::uint64_t>(run_records_, 1);
    info_.blocks = blocks_.size();
    return info_;
  }
  const std::vector<format::TfrecordBlock>& blocks() const noexcept { return blocks_; }

 private:
  void choose_run() {
    run_records_ = format::choose_run_records(options_.run_bytes, first_);
    bounds_ = format::BlockBounds(options_.block_bytes, run_records_);
    for (const Frame& frame : std::exchange(held_, {})) place(frame);
  }

  void place(const Frame& frame) {
    // A block of tiny records consists mostly of frames, which `bounds_` does not count.
    const std::uint64_t stored = std::uint64_t{frame.record_bytes} + format::kTfrecordFrameBytes;
    const bool full = open_.records > 0 && open_.stored_bytes + stored > 2 * std::uint64_t{options_.block_bytes};
    if (full || bounds_.ends_before(frame.record_bytes)) {
      close_block();
      bounds_.end_block();
    }
    info_.min_record_bytes = placed_ == 0 ? frame.record_bytes : std::min(info_.min_record_bytes, frame.record_bytes);
    info_.max_record_bytes = std::max(info_.max_record_bytes, frame.record_bytes);
    ++placed_;
    ++open_.records;
    open_.stored_bytes += frame.record_bytes + format::kTfrecordFrameBytes;
    footers_.add(frame.footer);
    if (bounds_.add(frame.record_bytes)) close_block();
  }

  void close_block() {
    if (open_.records == 0) return;
    open_.footers_crc = footers_.value();
    const std::uint32_t raw = open_.stored_bytes - open_.records * format::kTfrecordFrameBytes;
    info_.max_block_raw = std::max(info_.max_block_raw, raw);
    info_.max_block_stored = std::max(info_.max_block_stored, open_.stored_bytes);
    info_.max_block_records = std::max(info_.max_block_records, open_.records);
    blocks_.push_back(std::exchange(open_, {}));
    footers_ = {};
  }

  const TfrecordIndexOptions& options_;
  std::uint64_t run_records_;  // 0 while undecided
  format::BlockBounds bounds_;
  format::FirstRecords first_;
  std::vector<Frame> held_;
  ShardInfo info_;
  std::uint64_t placed_ = 0;
  format::TfrecordBlock open_;
  format::FootersCrc footers_;
  std::vector<format::TfrecordBlock> blocks_;
};

Result<void> check_options(const TfrecordIndexOptions& options) {
  using namespace format;
  DOVETAIL_TRY(detail::check_range("block_bytes", options.block_bytes, kMinBlockTarget, kMaxBlockTarget));
  DOVETAIL_TRY(detail::check_range("run_bytes", options.run_bytes, 1, kMaxRunBytes));
  return detail::check_range("run_records", options.run_records, 0, kMaxRunRecords);
}

Result<detail::SourceFile> open_plain(const std::string& path) {
  auto file = detail::SourceFile::open(path);
  if (!file) return file;
  if (file->size() == 0) return file;
  const auto kind = detail::detect_bytes(*file);  // by content: the name may promise otherwise
  const bool unlike = !kind && (kind.error().is(Errc::unknown_format) || kind.error().is(Errc::malformed_input));
  if (!kind && !unlike) return kind.error();
  if (!kind && detail::is_known_as_tfrecord(path)) {
    return Error(Errc::malformed_input, "it does not begin like a TFRecord: its first bytes are cut or damaged")
        .at(path, 0);
  }
  if (!kind || kind->format != SourceFormat::tfrecord) {
    return Error(Errc::unknown_format,
                 "this is not a TFRecord file, and only those can be indexed; pack it with `dovetail convert " +
                     format::shell_path(path) + " --to DIR`")
        .in_file(path);
  }
  if (kind->compression != Compression::none) {
    return Error(Errc::unknown_format, "it is compressed (" + std::string(to_string(kind->compression)) +
                                           "), so records cannot be read by offset; pack it with "
                                           "`dovetail convert " +
                                           format::shell_path(path) + " --to DIR`")
        .in_file(path);
  }
  return file;
}

Result<std::uint32_t> crc_of_ends(const detail::SourceFile& file) {
  std::array<std::byte, format::kTfrecordEndBytes> bytes;
  const auto end = std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), file.size()));
  std::uint32_t crc = 0;
  for (const std::uint64_t offset : {std::uint64_t{0}, file.size() - end.size()}) {
    DOVETAIL_ASSIGN(auto read, file.read_at(offset, end));
    crc = format::crc32c(end.first(read), crc);
  }
  return crc;
}

/// Reads the file once, from beginning to end.
class Indexing {
 public:
  Indexing(const std::string& path, const TfrecordIndexOptions& options)
      : path_(path), options_(options), blocks_(options) {}

  /// Writes the index, unless `kept` names an existing one to keep.
  Result<TfrecordIndexReport> run(std::optional<TfrecordIndexReport> kept) {
    DOVETAIL_ASSIGN(auto file, open_plain(path_));
    facts_.info.file_bytes = file.size();
    DOVETAIL_ASSIGN(auto ends, crc_of_ends(file));
    facts_.ends_crc = ends;
    DOVETAIL_TRY(open_dali_indexes());
    DOVETAIL_ASSIGN(auto stream, detail::make_byte_stream(std::move(file), Compression::none));
    DOVETAIL_TRY(scan(*stream));
    complete_facts();
    if (check_) {
      DOVETAIL_TRY(check_->expect_end());
    }
    TfrecordIndexReport report{path_ + format::kTfrecordIndexSuffix, facts_.info, false};
    if (kept) {
      report = std::move(*kept);
    } else if (auto written = write(report.index); !written) {
      return with_way_out(written.error());
    }
    if (output_) {
      DOVETAIL_TRY(output_->finish());
    }
    return report;
  }

 private:
  Result<void> open_dali_indexes() {
    if (options_.check_dali_index) {
      DOVETAIL_ASSIGN(auto check, detail::DaliIndexCheck::open(*options_.check_dali_index));
      check_.emplace(std::move(check));
    }
    if (options_.write_dali_index) {
      DOVETAIL_ASSIGN(auto output, detail::DaliIndexOutput::create(*options_.write_dali_index));
      output_.emplace(std::move(output));
    }
    return {};
  }

  Result<void> scan(detail::ByteStream& stream) {
    format::TfrecordScanner scanner(kMaxRecordBytes);
    std::uint64_t read = 0;
    for (;;) {
      auto record = scanner.next();
      if (!record) return record.error().at(path_, scanner.record_offset());
      if (*record) {
        DOVETAIL_TRY(take(**record, scanner));
        continue;
      }
      DOVETAIL_ASSIGN(auto piece, stream.next());
      if (!piece) break;
      scanner.feed(piece->bytes);
      read = piece->input_end;
      if (options_.progress && !options_.progress(scanner.records(), read)) {
        return Error(boost::system::errc::make_error_code(boost::system::errc::operation_canceled)).in_file(path_);
      }
    }
    if (auto whole = scanner.finish(); !whole) return whole.error().at(path_, scanner.record_offset());
    if (read == facts_.info.file_bytes) return {};
    return Error(Errc::file_changed, "its size changed after it was opened").at(path_, read);
  }

  Result<void> take(ByteView record, const format::TfrecordScanner& scanner) {
    Frame frame{static_cast<std::uint32_t>(record.size()), {}};
    std::ranges::copy(scanner.footer(), frame.footer.begin());
    blocks_.add(frame);
    fingerprint_.add(record);
    const std::uint64_t bytes = record.size() + format::kTfrecordFrameBytes;
    if (check_) {
      DOVETAIL_TRY(check_->expect(scanner.record_offset(), bytes));
    }
    return output_ ? output_->add(scanner.record_offset(), bytes) : Result<void>();
  }

  void complete_facts() {
    const std::uint64_t file_bytes = facts_.info.file_bytes;
    facts_.info = blocks_.finish();
    facts_.info.name = path_.substr(path_.find_last_of('/') + 1);
    facts_.info.file_bytes = facts_.info.stored_bytes = file_bytes;
    facts_.info.fingerprint = fingerprint_.value();
    format::TfrecordIdentity identity;
    for (const format::TfrecordBlock& block : blocks_.blocks()) identity.add(block);
    facts_.info.file_id = identity.value(file_bytes);
  }

  static Error with_way_out(const Error& error) {
    if (error.kind() != ErrorKind::io) return error;
    const Error told(error.code(),
                     (error.detail().empty() ? "" : error.detail() + "; ") +
                         "the index must lie beside its file; link the file into a folder that can be written, and "
                         "index the link; `dovetail convert` needs no index");
    return error.offset() ? told.at(error.path(), *error.offset()) : told.in_file(error.path());
  }

  // An index is a shard. So it is checked like all data, and never exists half-written.
  Result<void> write(const std::string& index) const {
    WriterOptions options;
    options.codec = Codec::none;
    options.record_type = format::kTfrecordIndexRecordType;
    options.dataset_id = index_id();
    options.run_records = format::kMaxBlockRecords;
    options.shard_number = format::kTfrecordIndexShardNumber;
    options.overwrite = true;
    DOVETAIL_ASSIGN(auto writer, RecordWriter::create(index, options));
    const std::string facts = format::encode(facts_);
    DOVETAIL_TRY(writer.append(as_bytes(facts)));
    std::vector<std::byte> entries;
    for (const format::TfrecordBlock& block : blocks_.blocks()) {
      format::encode(block, entries);
      if (entries.size() < kEntriesPerRecord * format::kTfrecordIndexEntryBytes) continue;
      DOVETAIL_TRY(writer.append(entries));
      entries.clear();
    }
    if (!entries.empty()) {
      DOVETAIL_TRY(writer.append(entries));
    }
    auto finished = writer.finish();
    if (!finished) return finished.error();
    return {};
  }

  // Makes the index reproducible: equal files and options give equal bytes.
  DatasetId index_id() const {
    DatasetId id;
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(id.bytes));
    format::store_le(bytes.data(), facts_.info.file_id);
    format::store_le(bytes.data() + sizeof(std::uint64_t), facts_.info.fingerprint);
    return id;
  }

  const std::string& path_;
  const TfrecordIndexOptions& options_;
  BlockList blocks_;
  format::TfrecordFacts facts_;
  format::RecordFingerprint fingerprint_;
  std::optional<detail::DaliIndexCheck> check_;
  std::optional<detail::DaliIndexOutput> output_;
};

/// An index describes one file. The caller must select the files of a folder.
Result<void> check_file(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_directory(path, unknown)) return {};
  const std::string files = format::shell_path((std::filesystem::path(path) / "").native()) + "*.tfrecord";
  return Error(Errc::unknown_format, "this is a folder; name its TFRecord files, as with " + files).in_file(path);
}

// Also refuses a link to one of the two. Writing would replace only the link, but nobody wants that
// either.
Result<void> check_targets(const std::string& path, const TfrecordIndexOptions& options) {
  if (!options.write_dali_index) return {};
  for (const std::string& taken : {path, path + format::kTfrecordIndexSuffix}) {
    std::error_code missing;
    const bool same =
        *options.write_dali_index == taken || std::filesystem::equivalent(*options.write_dali_index, taken, missing);
    if (!same) continue;
    return Error(Errc::invalid_option, "the index for DALI would replace this file; give another name for the index")
        .in_file(taken);
  }
  return {};
}

/// Returns whether a file was written after another. Then its middle may have changed, which only
/// reading would reveal.
bool is_newer(const std::string& path, const std::string& than) {
  struct stat file {};
  struct stat other {};
  if (::stat(path.c_str(), &file) != 0 || ::stat(than.c_str(), &other) != 0) return true;
  return std::tie(file.st_mtim.tv_sec, file.st_mtim.tv_nsec) > std::tie(other.st_mtim.tv_sec, other.st_mtim.tv_nsec);
}

/// Returns the report of an existing index if the index fits the file and is not older.
Result<std::optional<TfrecordIndexReport>> find_index(const std::string& path) {
  auto shard = describe_shard(path);
  if (shard && shard->tfrecord) {
    if (is_newer(path, path + format::kTfrecordIndexSuffix)) return std::optional<TfrecordIndexReport>();
    return TfrecordIndexReport{path + format::kTfrecordIndexSuffix, std::move(shard->info), true};
  }
  if (shard) return Error(Errc::unknown_format, "this is a Dovetail shard, so it is already packed").in_file(path);
  return std::optional<TfrecordIndexReport>();
}

}  // namespace

Result<TfrecordIndexReport> index_tfrecord(const std::string& path, const TfrecordIndexOptions& options,
                                           bool overwrite) {
  DOVETAIL_TRY(check_options(options));
  DOVETAIL_TRY(check_file(path));
  DOVETAIL_TRY(check_targets(path, options));
  return detail::guard_memory(path, [&]() -> Result<TfrecordIndexReport> {
    std::optional<TfrecordIndexReport> kept;
    if (!overwrite) {
      DOVETAIL_ASSIGN(auto found, find_index(path));
      kept = std::move(found);
      if (kept && !options.check_dali_index && !options.write_dali_index) return std::move(*kept);
    }
    return Indexing(path, options).run(std::move(kept));
  });
}

}  // namespace dovetail
