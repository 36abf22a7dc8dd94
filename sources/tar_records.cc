// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/system/errc.hpp>

#include "format/text/number_text.h"
#include "format/try.h"
#include "sources/bytes/decoder.h"
#include "sources/bytes/hashes.h"
#include "sources/example_builder.h"
#include "sources/number_columns.h"
#include "sources/openers.h"
#include "sources/tar_reader.h"

namespace dovetail::detail {

namespace {

constexpr std::string_view kKeyFeature = "__key__";
constexpr std::size_t kMaxMembers = 1 << 16;  // of one key
constexpr std::size_t kRememberedKeys = 1 << 16;
constexpr std::size_t kLeastFeatureBytes = 10;  // of an Example, besides its name and value

/// A member of the current record, as a range of the common buffer.
struct Part {
  std::string extension;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// WebDataset decodes `x.json.gz` as `x.json`.
constexpr std::string_view kGzip = ".gz";

// Appends the decompressed bytes to `bytes`, which grows with the output and not with a claimed
// size. Checks for cancellation at every piece, because a small input may become gigabytes.
Result<void> gunzip(ByteView packed, std::vector<std::byte>& bytes, std::uint64_t limit,
                    const std::function<bool()>& cancelled) {
  if (packed.empty()) return {};  // no stream, so no value
  DOVETAIL_ASSIGN(auto decoder, make_decoder(Compression::gzip));
  const std::size_t step = std::clamp<std::size_t>(4 * packed.size(), 4096, kReadBytes);
  for (;;) {
    if (cancelled && cancelled()) {
      return Error(make_error_code(boost::system::errc::operation_canceled), "interrupted");
    }
    const std::size_t filled = bytes.size();
    bytes.resize(filled + step);
    std::span<std::byte> space = std::span(bytes).subspan(filled);
    auto run = decoder->run(packed, space);
    if (!run) return run;
    bytes.resize(bytes.size() - space.size());
    if (bytes.size() > limit) {
      return Error(Errc::record_too_large, "unpacked, the record is longer than " + std::to_string(limit) + " bytes");
    }
    if (space.empty()) continue;
    if (decoder->at_end()) return {};
    return Error(Errc::truncated, "the gzip stream ends early");
  }
}

std::string_view last_extension(std::string_view extension) {
  return extension.substr(extension.rfind('.') + 1);
}

// Whether WebDataset decodes a member as a text, or from one.
bool is_text(std::string_view extension) {
  constexpr std::array<std::string_view, 12> kTexts = {"txt", "text",  "transcript", "cls", "cls2", "class",
                                                       "id",  "count", "index",      "inx", "json", "jsn"};
  return std::find(kTexts.begin(), kTexts.end(), last_extension(extension)) != kTexts.end();
}

bool is_class_number(std::string_view extension) {
  const std::string_view last = last_extension(extension);
  return last == "cls" || last == "cls2" || last == "index" || last == "inx";
}

// Parses decimal digits. Accepts blanks around them, and zeros and a plus sign before them, like
// Python's int. Python also accepts underscores between digits, and digits of other scripts.
std::optional<std::int64_t> class_number(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return format::parse_number<std::int64_t>(text);
}

class TarRecords final : public FileRecords {
 public:
  TarRecords(std::string path, TarReader tar, const SourceOptions& options)
      : path_(std::move(path)),
        tar_(std::move(tar)),
        raw_(options.records == RecordForm::raw),
        max_record_bytes_(options.max_record_bytes),
        cancelled_(options.cancelled),
        columns_(options.schema),
        builder_(options.max_record_bytes) {}

  Result<std::optional<ByteView>> next() override {
    goes_on_ = false;
    if (std::exchange(rest_is_bad_, false)) {
      DOVETAIL_TRY(leave_group());
    }
    if (!ahead_) {
      DOVETAIL_TRY(read_name());
    }
    if (!ahead_) return std::nullopt;
    key_ = ahead_key_;
    place_ = ahead_->place;
    if (!raw_) repeats_key_ = is_known(key_);
    auto record = read_group();
    if (!record) return fail(record.error());
    return *record;
  }

  RecordPlace place() const override { return place_; }
  std::string_view key() const override { return key_; }
  bool repeats_key() const override { return repeats_key_; }
  bool goes_on() const override { return goes_on_; }
  std::uint64_t ignored() const override { return tar_.ignored() + nameless_; }

 private:
  // Whether an earlier record has the key. Remembers a limited number of them.
  bool is_known(std::string_view key) {
    const std::uint64_t hash = keyed_hash(as_bytes(key), 0);
    if (known_keys_.contains(hash)) return true;
    if (known_keys_.size() < kRememberedKeys) known_keys_.insert(hash);
    return false;
  }

  // Reads the header of the next member. Its bytes are read only after its record is known.
  Result<void> read_name() {
    for (;;) {
      auto member = tar_.next();
      if (!member) {
        broken_ = true;
        return member.error();
      }
      ahead_ = std::move(*member);
      if (!ahead_) {
        // The end of the archive also ends the last record.
        return {};
      }
      MemberName name = split_member_name(ahead_->name);
      if (name.key.empty()) {
        ++nameless_;
        continue;
      }
      ahead_key_ = name.key;
      ahead_extension_ = std::move(name.extension);
      return {};
    }
  }

  Result<ByteView> read_group() {
    parts_.clear();
    extensions_.clear();
    bytes_.clear();
    name_bytes_ = 0;
    do {
      DOVETAIL_TRY(take_member());
      DOVETAIL_TRY(read_name());
    } while (ahead_ && ahead_key_ == key_);
    if (raw_) return ByteView(bytes_);
    builder_.begin();
    builder_.add_bytes(kKeyFeature, as_bytes(key_));
    for (const Part& part : parts_) {
      const ByteView bytes = ByteView(bytes_).subspan(part.begin, part.end - part.begin);
      const auto number = is_class_number(part.extension) ? class_number(as_chars(bytes)) : std::nullopt;
      if (number) {
        builder_.add_int(part.extension, *number);
      } else {
        if (is_text(part.extension)) {
          DOVETAIL_TRY(columns_.check_text(part.extension, bytes, "a text"));
        }
        builder_.add_bytes(part.extension, bytes);
      }
    }
    return builder_.finish();
  }

  Result<void> take_member() {
    const bool packed = !raw_ && ahead_extension_.size() > kGzip.size() && ahead_extension_.ends_with(kGzip);
    if (packed) ahead_extension_.resize(ahead_extension_.size() - kGzip.size());
    if (raw_ && !parts_.empty()) {
      return Error(Errc::malformed_input,
                   "the key has several members, which only an Example can hold; use --records example")
          .at(path_, ahead_->place.offset);
    }
    const auto stored = [this](bool gzipped) {
      return '"' + ahead_extension_ + std::string(gzipped ? kGzip : std::string_view()) + '"';
    };
    const auto [first, added] = extensions_.emplace(ahead_extension_, packed);
    if (!added) {
      const bool same = first->second == packed;
      return Error(Errc::malformed_input, "two members of the key are " + stored(first->second) +
                                              (same ? "" : " and " + stored(packed) + ", which become one feature"))
          .at(path_, ahead_->place.offset);
    }
    if (!raw_ && ahead_extension_ == kKeyFeature) {
      return Error(Errc::malformed_input, "the member " + stored(packed) + " has the name of the feature for the key")
          .at(path_, ahead_->place.offset);
    }
    if (parts_.size() == kMaxMembers) {
      return Error(Errc::malformed_input, "the key has more than " + std::to_string(kMaxMembers) + " members")
          .at(path_, ahead_->place.offset);
    }
    const std::size_t begin = bytes_.size();
    if (!raw_) name_bytes_ += ahead_extension_.size() + kLeastFeatureBytes;
    if (name_bytes_ > max_record_bytes_) {
      return Error(Errc::record_too_large, "the names of its members are longer than the limit of a record, " +
                                               std::to_string(max_record_bytes_) + " bytes")
          .at(path_, ahead_->place.offset);
    }
    packed_.clear();
    if (auto read = tar_.read(packed ? packed_ : bytes_, max_record_bytes_); !read) {
      broken_ = !read.error().is(Errc::record_too_large);
      return read.error();
    }
    if (packed) {
      if (auto unpacked = gunzip(packed_, bytes_, max_record_bytes_, cancelled_); !unpacked) {
        const Error& error = unpacked.error();
        return Error(error.code(), "member \"" + ahead_extension_ + std::string(kGzip) + "\": " + error.detail())
            .at(path_, ahead_->place.offset);
      }
    }
    parts_.push_back({ahead_extension_, begin, bytes_.size()});
    return {};
  }

  // After damage in one record, skip the rest of its members, unless the next record has already
  // been found.
  Error fail(const Error& error) {
    goes_on_ = !broken_;
    rest_is_bad_ = goes_on_ && ahead_ && ahead_key_ == key_;
    const Error told(error.code(), "key \"" + key_ + "\": " + error.detail());
    return error.offset() ? told.at(path_, *error.offset()) : told.at(path_, place_.offset);
  }

  Result<void> leave_group() {
    while (ahead_ && ahead_key_ == key_) {
      DOVETAIL_TRY(read_name());
    }
    return {};
  }

  std::string path_;
  TarReader tar_;
  bool raw_;
  std::uint32_t max_record_bytes_;
  std::function<bool()> cancelled_;
  NumberColumns columns_;
  ExampleBuilder builder_;
  std::optional<TarMember> ahead_;  // first member of the next record, or a further member of this one
  std::string ahead_key_;
  std::string ahead_extension_;
  std::string key_;
  std::unordered_set<std::uint64_t> known_keys_;  // by their hashes
  bool repeats_key_ = false;
  RecordPlace place_;
  std::vector<Part> parts_;
  std::unordered_map<std::string, bool> extensions_;  // by extension: whether the member was compressed
  std::vector<std::byte> bytes_;
  std::vector<std::byte> packed_;  // a member before decompression
  std::size_t name_bytes_ = 0;
  std::uint64_t nameless_ = 0;
  bool broken_ = false;       // the archive itself is damaged
  bool goes_on_ = false;      // the last failure concerned one record
  bool rest_is_bad_ = false;  // further members of that record may follow
};

}  // namespace

FileOpener make_tar_opener(const SourceOptions& options) {
  const auto open = [&options](std::size_t /*file*/, SourceFile bytes,
                               Compression compression) -> Result<std::unique_ptr<FileRecords>> {
    std::string path = bytes.path();
    DOVETAIL_ASSIGN(auto stream, make_byte_stream(std::move(bytes), compression));
    DOVETAIL_ASSIGN(auto tar, TarReader::open(path, std::move(stream)));
    return std::make_unique<TarRecords>(std::move(path), std::move(tar), options);
  };
  return {.open = open, .makes_examples = options.records != RecordForm::raw};
}

}  // namespace dovetail::detail
