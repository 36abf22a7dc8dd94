// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "format/text/count_of.h"
#include "format/try.h"
#include "sources/detect.h"
#include "sources/example_builder.h"
#include "sources/openers.h"
#include "sources/recordio_index.h"
#include "sources/recordio_layout.h"
#include "sources/stream_reader.h"

namespace dovetail::detail {

namespace {

/// Cuts a stream into payloads.
class RecordioScanner {
 public:
  RecordioScanner(StreamReader stream, std::uint32_t max_record_bytes)
      : stream_(std::move(stream)), max_record_bytes_(max_record_bytes) {}

  /// Returns the next payload. Does not read a payload that would reach beyond `limit`; `overrun`
  /// is then its claimed end.
  Result<std::optional<ByteView>> next(std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) {
    place_ = stream_.place();
    offset_ = stream_.position();
    limit_ = limit;
    overrun_.reset();
    auto part = next_part();
    if (!part || !*part) return part;
    if (header_.part == RecordioPart::whole) return part;
    if (header_.part != RecordioPart::first) return fault(Errc::malformed_input, "it begins in the middle of a record");
    joined_.assign((*part)->begin(), (*part)->end());
    while (header_.part != RecordioPart::last) {
      part = next_part();
      if (!part) return part;
      if (!*part) return fault(Errc::truncated, "its last part is missing");
      if (header_.part != RecordioPart::middle && header_.part != RecordioPart::last) {
        return fault(Errc::malformed_input, "another record begins before its last part");
      }
      std::array<std::byte, sizeof(kRecordioMagic)> magic;
      format::store_le(magic.data(), kRecordioMagic);
      joined_.insert(joined_.end(), magic.begin(), magic.end());
      joined_.insert(joined_.end(), (*part)->begin(), (*part)->end());
      if (joined_.size() > max_record_bytes_) return too_large(joined_.size());
    }
    return ByteView(joined_);
  }

  /// Goes to an offset at or behind `position()`.
  Result<void> go_to(std::uint64_t offset) {
    DOVETAIL_TRY(stream_.skip(offset - stream_.position()));
    place_ = stream_.place();
    if (stream_.position() == offset) return {};
    return fault(Errc::truncated, "it ends before byte " + std::to_string(offset));
  }

  const std::string& path() const noexcept { return stream_.path(); }
  std::uint64_t position() const noexcept { return stream_.position(); }
  RecordPlace place() const noexcept { return place_; }
  // Offset of the record in the stream.
  std::uint64_t offset() const noexcept { return offset_; }
  std::optional<std::uint64_t> overrun() const noexcept { return overrun_; }

 private:
  Result<std::optional<ByteView>> next_part() {
    const std::uint64_t at = stream_.position();
    if (limit_ - at < kRecordioHeaderBytes) return beyond_limit(at + kRecordioHeaderBytes);
    auto bytes = stream_.take(kRecordioHeaderBytes);
    if (!bytes) return bytes.error();
    if (bytes->empty()) return std::nullopt;
    if (bytes->size() < kRecordioHeaderBytes) return fault(Errc::truncated, "its header is cut");
    header_ = load_recordio_header(*bytes);
    if (header_.magic != kRecordioMagic) {
      return fault(Errc::malformed_input, "no magic at byte " + std::to_string(at));
    }
    if (header_.part > RecordioPart::last) return fault(Errc::malformed_input, "an unknown kind of part");
    if (header_.bytes > max_record_bytes_) return too_large(header_.bytes);
    const std::uint64_t wanted = std::uint64_t{header_.bytes} + header_.padding();
    if (limit_ - stream_.position() < wanted) return beyond_limit(stream_.position() + wanted);
    bytes = stream_.take(wanted);
    if (!bytes) return bytes.error();
    if (bytes->size() < wanted) {
      return fault(Errc::truncated, "there are " + std::to_string(bytes->size()) + " of " + std::to_string(wanted) +
                                        " bytes after its header");
    }
    return bytes->first(header_.bytes);
  }

  Error fault(Errc code, const std::string& reason) const {
    return Error(code, "RecordIO: " + reason).at(stream_.path(), place_.offset);
  }
  Error beyond_limit(std::uint64_t end) {
    overrun_ = end;
    return fault(Errc::malformed_input, "it ends at " + std::to_string(end));
  }
  Error too_large(std::uint64_t bytes) const {
    return fault(Errc::record_too_large, "the record has " + std::to_string(bytes) + " bytes; the limit is " +
                                             std::to_string(max_record_bytes_));
  }

  StreamReader stream_;
  std::uint32_t max_record_bytes_;
  RecordioHeader header_;
  RecordPlace place_;
  std::uint64_t offset_ = 0;
  std::uint64_t limit_ = 0;  // at or behind the position
  std::optional<std::uint64_t> overrun_;
  std::vector<std::byte> joined_;
};

/// The fields of MXNet's image header, and the image.
struct ImageRecord {
  std::vector<float> labels;
  std::uint64_t id = 0;
  ByteView image;
};

std::optional<ImageRecord> parse_image(ByteView payload) {
  if (payload.size() < kImageHeaderBytes) return std::nullopt;
  const auto flag = format::load_le<std::uint32_t>(payload.data());
  ImageRecord record;
  record.id = format::load_le<std::uint64_t>(payload.data() + 8);
  const std::uint64_t labels = std::uint64_t{flag} * sizeof(float);
  if (labels > payload.size() - kImageHeaderBytes) return std::nullopt;
  const std::byte* from = payload.data() + (flag == 0 ? 4 : kImageHeaderBytes);
  for (std::uint64_t i = 0; i < std::max<std::uint64_t>(flag, 1); ++i, from += sizeof(float)) {
    record.labels.push_back(std::bit_cast<float>(format::load_le<std::uint32_t>(from)));
  }
  record.image = payload.subspan(kImageHeaderBytes + static_cast<std::size_t>(labels));
  return record;
}

// The magics of JPEG, PNG, GIF, BMP, WebP, and of NumPy arrays, which MXNet also packs.
bool is_image(ByteView bytes) {
  const std::string_view text = as_chars(bytes);
  constexpr std::array<std::string_view, 6> kMagics = {"\xFF\xD8\xFF", "\x89PNG", "GIF8", "BM", "RIFF", "\x93NUMPY"};
  return std::any_of(kMagics.begin(), kMagics.end(),
                     [text](std::string_view magic) { return text.starts_with(magic); });
}

class RecordioRecords final : public FileRecords {
 public:
  RecordioRecords(RecordioScanner scanner, std::optional<RecordioIndex> index, std::uint64_t file_bytes, bool examples,
                  std::uint32_t max_record_bytes)
      : scanner_(std::move(scanner)),
        index_(std::move(index)),
        examples_(examples),
        builder_(max_record_bytes),
        file_bytes_(file_bytes) {}

  Result<std::optional<ByteView>> next() override {
    no_image_ = false;
    if (std::exchange(lost_, false)) {
      DOVETAIL_TRY(scanner_.go_to(index_->offset(number_)));
    }
    auto payload = next_payload();
    if (!payload || !*payload || !examples_) return payload;
    const auto record = parse_image(**payload);
    if (!record) {
      no_image_ = true;
      return Error(Errc::malformed_input,
                   "RecordIO: the record has no image header; use --records raw to take it unchanged")
          .at(scanner_.path(), place().offset);
    }
    builder_.begin();
    builder_.add_bytes("image", record->image);
    builder_.add_floats("label", record->labels);
    builder_.add_int("id", static_cast<std::int64_t>(record->id));
    auto example = builder_.finish();
    if (!example) return example.error().at(scanner_.path(), place().offset);
    return *example;
  }

  RecordPlace place() const override { return scanner_.place(); }
  std::string_view key() const override {
    return index_ && number_ != 0 ? index_->key(number_ - 1) : std::string_view();
  }
  bool goes_on() const override { return no_image_ || lost_; }
  bool jumps_over_damage() const override { return index_.has_value(); }

  Result<void> skip_to(std::uint64_t consumed) override {
    if (!index_) return {};
    const std::size_t entry = index_->first_from(consumed);
    if (entry == index_->size() || entry <= number_) return {};
    number_ = entry;
    lost_ = false;
    return scanner_.go_to(index_->offset(entry));
  }

 private:
  // With an index, a record is valid if it reaches exactly from its own entry to the next one. Its
  // neighbours do not matter. So every reader finds the record, or none does.
  Result<std::optional<ByteView>> next_payload() {
    const bool listed = index_ && number_ < index_->size();
    if (listed && index_->offset(number_) != scanner_.position()) return lost(mismatch(scanner_.position()));
    // Do not read a record that claims more than that: headers that each claim the rest of the file
    // would take quadratic time.
    const bool more = listed && number_ + 1 < index_->size();
    auto payload = more ? scanner_.next(index_->offset(number_ + 1)) : scanner_.next();
    if (!index_ || (payload && !*payload)) return payload;
    if (payload && !listed) return mismatch(scanner_.offset());
    if (!listed) return payload;
    ++number_;
    if (!payload) return lost(scanner_.overrun() ? mismatch(*scanner_.overrun()) : payload.error());
    if (number_ < index_->size() && index_->offset(number_) != scanner_.position()) {
      return lost(mismatch(scanner_.position()));
    }
    return payload;
  }

  Error lost(const Error& error) {
    lost_ = number_ < index_->size();
    return error;
  }

  Error mismatch(std::uint64_t offset) const {
    std::string reason = number_ < index_->size()
                             ? "its next record begins at " + std::to_string(index_->offset(number_))
                             : "it has only " + format::count_of(index_->size(), "record");
    reason += offset < file_bytes_ ? ", but the file has one at " + std::to_string(offset) : ", but the file has ended";
    return Error(Errc::sidecar_mismatch, reason + "; is it older than " + scanner_.path() + "?")
        .in_file(index_->path());
  }

  RecordioScanner scanner_;
  std::optional<RecordioIndex> index_;
  bool examples_;
  ExampleBuilder builder_;
  std::uint64_t file_bytes_;
  std::size_t number_ = 0;  // number of the next record in the index
  bool no_image_ = false;
  bool lost_ = false;  // the next record is at its index entry, not where the last record seemed to end
};

// Ignores errors of the first record: reading it as a record reports them.
Result<bool> begins_with_image(const SourceListing& listing, std::uint32_t max_record_bytes) {
  DOVETAIL_ASSIGN(auto file, SourceFile::open(listing.path_of(0)));
  const auto kind = detect_file(file, SourceFormat::recordio);
  if (!kind) return false;
  DOVETAIL_ASSIGN(auto stream, StreamReader::open(std::move(file), kind->compression));
  RecordioScanner scanner(std::move(stream), max_record_bytes);
  auto payload = scanner.next();
  if (!payload || !*payload) return false;
  const auto record = parse_image(**payload);
  return record && is_image(record->image);
}

}  // namespace

Result<FileOpener> make_recordio_opener(const SourceListing& listing, const SourceOptions& options) {
  bool examples = options.records == RecordForm::example;
  if (options.records == RecordForm::automatic) {
    DOVETAIL_ASSIGN(examples, begins_with_image(listing, options.max_record_bytes));
  }
  const auto open = [examples, max = options.max_record_bytes](
                        std::size_t /*file*/, SourceFile bytes,
                        Compression compression) -> Result<std::unique_ptr<FileRecords>> {
    const std::uint64_t file_bytes = bytes.size();
    // The index is useless if reading cannot start at an offset.
    std::optional<RecordioIndex> index;
    if (compression == Compression::none) {
      DOVETAIL_ASSIGN(index, RecordioIndex::load(bytes.path(), file_bytes));
    }
    DOVETAIL_ASSIGN(auto stream, StreamReader::open(std::move(bytes), compression));
    return std::make_unique<RecordioRecords>(RecordioScanner(std::move(stream), max), std::move(index), file_bytes,
                                             examples, max);
  };
  return FileOpener{.open = open, .makes_examples = examples};
}

}  // namespace dovetail::detail
