// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/endian.h"
#include "format/example/half.h"
#include "format/text/count_of.h"
#include "format/try.h"
#include "sources/bytes/promised_stream.h"
#include "sources/example_builder.h"
#include "sources/mds_array.h"
#include "sources/mds_index.h"
#include "sources/number_columns.h"
#include "sources/openers.h"
#include "sources/stream_reader.h"

namespace dovetail::detail {

namespace {

// The layout of a shard: u32 samples, u32 offsets[samples + 1], a description in JSON, and the
// samples from offsets[0] on.
constexpr std::size_t kNumberBytes = 4;
constexpr std::uint64_t kOffsetPiece = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxDescriptionBytes = std::uint64_t{1} << 20;

// Offsets stay in memory. They increase, so even those of the shortest samples compress less than
// this.
constexpr std::uint64_t kMaxOffsetBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kMaxOffsetExpansion = 64;

/// The samples of a shard. A sample is an array of the sizes of its variable-size columns, and then
/// the values.
class MdsRecords final : public FileRecords {
 public:
  static Result<std::unique_ptr<FileRecords>> open(SourceFile file, const MdsShard& shard,
                                                   const SourceOptions& options) {
    if (file.size() != shard.stored().bytes) {
      return Error(Errc::sidecar_mismatch, "the shard has " + std::to_string(file.size()) + " bytes, but " +
                                               std::to_string(shard.stored().bytes) + " in index.json")
          .in_file(file.path());
    }
    std::string path = file.path();
    DOVETAIL_ASSIGN(auto stream, make_byte_stream(std::move(file), compression_of(shard).value_or(Compression::none)));
    if (shard.packed) {
      StreamPromise promise{shard.raw.bytes, shard.raw.hashes};
      stream = std::make_unique<PromisedStream>(path, std::move(stream), std::move(promise));
    }
    StreamReader reader(std::move(path), std::move(stream));
    auto records = std::unique_ptr<MdsRecords>(new MdsRecords(std::move(reader), shard, options));
    DOVETAIL_TRY(records->read_head());
    return std::unique_ptr<FileRecords>(std::move(records));
  }

  Result<std::optional<ByteView>> next() override {
    bad_sample_ = false;
    place_ = stream_.place();
    if (number_ == shard_.samples) return end();
    const std::uint64_t bytes = offsets_[number_ + 1] - offsets_[number_];
    if (bytes > options_.max_record_bytes) {
      DOVETAIL_TRY(stream_.skip(bytes));
      return bad(Errc::record_too_large, "it has " + std::to_string(bytes) + " bytes; the limit is " +
                                             std::to_string(options_.max_record_bytes));
    }
    DOVETAIL_ASSIGN(auto sample, stream_.take(bytes));
    if (sample.size() < bytes) return Error(Errc::truncated, "the shard ends early").at(stream_.path(), place_.offset);
    if (auto cut = cut_values(sample); !cut) return bad(cut.error().code(), cut.error().detail());
    ++number_;
    if (options_.records == RecordForm::raw) return values_.front();
    builder_.begin();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Result<void> added = add(i, values_[i]);
      if (!added) return bad_last(added.error());
    }
    auto example = builder_.finish();
    if (example) return *example;
    return bad_last(example.error());
  }

  RecordPlace place() const override { return place_; }
  bool goes_on() const override { return bad_sample_; }
  bool jumps_over_damage() const override { return !shard_.packed; }

  Result<void> skip_to(std::uint64_t consumed) override {
    if (shard_.packed) return {};  // offsets refer to the raw bytes, not to the compressed file
    const auto found = std::lower_bound(offsets_.begin(), offsets_.end() - 1, consumed);
    const auto sample = static_cast<std::size_t>(found - offsets_.begin());
    if (sample <= number_) return {};
    const std::uint64_t between = offsets_[sample] - offsets_[number_];
    number_ = sample;
    return stream_.skip(between);
  }

 private:
  MdsRecords(StreamReader stream, const MdsShard& shard, const SourceOptions& options)
      : stream_(std::move(stream)),
        shard_(shard),
        options_(options),
        builder_(options.max_record_bytes),
        arrays_(mds_array_types(shard.columns)) {}

  Error mismatch(const std::string& reason) const {
    return Error(Errc::sidecar_mismatch, reason).at(stream_.path(), stream_.place().offset);
  }

  // Reads to the end of the stream: only there a compressed stream is compared with its index.
  Result<std::optional<ByteView>> end() {
    if (!shard_.packed) return std::nullopt;
    auto rest = stream_.take(1);
    if (!rest) return rest.error();
    return std::nullopt;
  }

  Result<void> read_head() {
    DOVETAIL_ASSIGN(auto count, stream_.take(kNumberBytes));
    if (count.size() < kNumberBytes) return mismatch("the shard has no header");
    const auto samples = format::load_le<std::uint32_t>(count.data());
    if (samples != shard_.samples) {
      return mismatch("the shard has " + format::count_of(samples, "sample") + ", but " +
                      std::to_string(shard_.samples) + " in index.json");
    }
    const std::uint64_t table = (std::uint64_t{samples} + 1) * kNumberBytes;
    if (kNumberBytes + table > shard_.raw.bytes) return mismatch("the shard is too short for its samples");
    if (shard_.packed && table > kMaxOffsetBytes + kMaxOffsetExpansion * shard_.stored().bytes) {
      return Error(Errc::malformed_input, "the shard claims " + format::count_of(samples, "sample") + " in " +
                                              format::count_of(shard_.stored().bytes, "compressed byte"))
          .at(stream_.path(), 0);
    }
    DOVETAIL_TRY(read_offsets(table));
    const std::uint64_t description_bytes = offsets_.front() - kNumberBytes - table;
    if (description_bytes > kMaxDescriptionBytes) return mismatch("the description of the columns is too long");
    DOVETAIL_ASSIGN(auto description, stream_.take(description_bytes));
    const auto columns = parse_mds_columns(as_chars(description));
    if (!columns || *columns != shard_.columns) return mismatch("the columns in the shard are not those in index.json");
    return {};
  }

  // Reads piece by piece: a compressed shard may claim far more offsets than it has bytes.
  Result<void> read_offsets(std::uint64_t table) {
    std::uint64_t least = kNumberBytes + table;
    for (std::uint64_t done = 0; done != table;) {
      const std::uint64_t wanted = std::min(table - done, kOffsetPiece);
      DOVETAIL_ASSIGN(auto offsets, stream_.take(wanted));
      if (offsets.size() < wanted) return mismatch("the shard is too short for its samples");
      for (std::size_t i = 0; i < offsets.size(); i += kNumberBytes) {
        const auto offset = format::load_le<std::uint32_t>(offsets.data() + i);
        if (offset < least) return wrong_offsets();
        least = offset;
        offsets_.push_back(offset);
      }
      done += wanted;
    }
    if (offsets_.back() != shard_.raw.bytes) return wrong_offsets();
    return {};
  }

  Error wrong_offsets() const {
    return Error(Errc::malformed_input, "the offsets of the samples do not rise to the end of the shard")
        .at(stream_.path(), kNumberBytes);
  }

  // The error of this sample alone.
  Error bad(Errc code, const std::string& reason) { return bad(make_error_code(code), reason); }
  Error bad(const boost::system::error_code& code, const std::string& reason) {
    bad_sample_ = true;
    return Error(code, "sample " + std::to_string(number_++) + ": " + reason).at(stream_.path(), place_.offset);
  }

  Error bad_last(const Error& error) {
    --number_;
    return bad(error.code(), error.detail());
  }

  Result<void> cut_values(ByteView sample) {
    values_.clear();
    const auto varying = static_cast<std::size_t>(
        std::count_if(shard_.columns.begin(), shard_.columns.end(), [](const MdsColumn& each) { return !each.size; }));
    if (sample.size() < varying * kNumberBytes) return Error(Errc::malformed_input, "it is too short for its sizes");
    const std::byte* size_at = sample.data();
    ByteView rest = sample.subspan(varying * kNumberBytes);
    for (const MdsColumn& column : shard_.columns) {
      std::uint32_t bytes = column.size.value_or(0);
      if (!column.size) {
        bytes = format::load_le<std::uint32_t>(size_at);
        size_at += kNumberBytes;
      }
      if (bytes > rest.size()) {
        return Error(Errc::malformed_input, "column \"" + column.name + "\" has " + std::to_string(bytes) +
                                                " bytes, but " + std::to_string(rest.size()) + " are left");
      }
      values_.push_back(rest.first(bytes));
      rest = rest.subspan(bytes);
    }
    if (rest.empty()) return {};
    return Error(Errc::malformed_input, format::count_of(rest.size(), "byte") + " at its end " +
                                            (rest.size() == 1 ? "belongs" : "belong") + " to no column");
  }

  Result<void> add(std::size_t number, ByteView value) {
    const MdsColumn& column = shard_.columns[number];
    if (arrays_[number] && arrays_[number]->shape.empty()) return add_array(column, *arrays_[number], value);
    add_value(column, value);
    return {};
  }

  Result<void> add_array(const MdsColumn& column, const MdsArrayType& type, ByteView value) {
    const auto array = split_mds_array(value, type.dtype);
    if (!array) return Error(array.error().code(), "column \"" + column.name + "\": " + array.error().detail());
    builder_.add_bytes(column.name, array->elements);
    // The length of a list is known without it.
    if (array->shape.size() != 1) builder_.add_ints(column.name + ".shape", array->shape);
    return {};
  }

  void add_value(const MdsColumn& column, ByteView value) {
    std::uint64_t bits = 0;
    if (column.kind != MdsKind::bytes) {
      for (std::size_t i = value.size(); i-- > 0;) bits = bits << 8 | std::to_integer<std::uint64_t>(value[i]);
    }
    const int unused = 64 - 8 * static_cast<int>(value.size());
    switch (column.kind) {
      case MdsKind::bytes:
        return builder_.add_bytes(column.name, value);
      case MdsKind::int_le:
        return builder_.add_int(column.name, static_cast<std::int64_t>(bits << unused) >> unused);
      case MdsKind::uint_le:
        return builder_.add_int(column.name, static_cast<std::int64_t>(bits));
      case MdsKind::float_le:
        if (value.size() == 2)
          return builder_.add_float(column.name, format::from_half(static_cast<std::uint16_t>(bits)));
        if (value.size() == 4) {
          return builder_.add_float(column.name, std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        }
        return builder_.add_float(column.name, static_cast<float>(std::bit_cast<double>(bits)));
    }
  }

  StreamReader stream_;
  const MdsShard& shard_;
  const SourceOptions& options_;
  ExampleBuilder builder_;
  std::vector<std::optional<MdsArrayType>> arrays_;  // one for each column
  std::vector<std::uint32_t> offsets_;
  std::size_t number_ = 0;  // of the next sample
  RecordPlace place_;
  std::vector<ByteView> values_;
  bool bad_sample_ = false;
};

Column column_of(const MdsColumn& column, const std::optional<MdsArrayType>& array) {
  switch (column.kind) {
    case MdsKind::int_le:
      return {.name = column.name, .dtype = Dtype::i64};
    case MdsKind::uint_le:
      return {.name = column.name, .dtype = column.size == 8u ? Dtype::u64 : Dtype::i64};
    case MdsKind::float_le:
      return {.name = column.name, .dtype = Dtype::f32};
    case MdsKind::bytes:
      break;
  }
  Column made{.name = column.name, .dtype = Dtype::bytes};
  if (array) {
    made.dtype = array->dtype;
    made.shape = array->shape;
    made.ragged = array->shape.empty();
  }
  return made;
}

// Numbers, arrays whose encoding names their type, and texts for the rest. Empty if shards differ.
std::optional<Schema> schema_of(const MdsIndex& index) {
  if (index.shards.empty()) return std::nullopt;
  const std::vector<MdsColumn>& columns = index.shards.front().columns;
  for (const MdsShard& shard : index.shards) {
    if (shard.columns != columns) return std::nullopt;
  }
  Schema schema;
  const auto arrays = mds_array_types(columns);
  for (std::size_t i = 0; i < columns.size(); ++i) schema.columns.push_back(column_of(columns[i], arrays[i]));
  if (!validate(schema)) return std::nullopt;
  return schema;
}

/// Columns of numbers take bytes as values, which texts and arrays of another type are not.
Result<void> check_columns(const std::vector<MdsColumn>& columns, const NumberColumns& numbers) {
  constexpr std::array<std::string_view, 5> kTexts = {"str", "str_int", "str_float", "str_decimal", "json"};
  const auto arrays = mds_array_types(columns);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const MdsColumn& column = columns[i];
    const bool is_text = std::find(kTexts.begin(), kTexts.end(), column.encoding) != kTexts.end();
    const bool is_array = column.encoding.starts_with("ndarray");
    const bool fits = is_array && arrays[i] && arrays[i]->dtype == numbers.type_of(column.name);
    if (!is_text && (!is_array || fits)) continue;
    DOVETAIL_TRY(numbers.check_column(column.name, "values of type " + column.encoding));
  }
  return {};
}

}  // namespace

Result<FileOpener> make_mds_opener(const SourceListing& listing, const SourceOptions& options) {
  if (!listing.mds) {
    return Error(Errc::unknown_format, "the columns of MDS shards are in index.json; give the folder that holds it")
        .in_file(listing.path_of(0));
  }
  const bool raw = options.records == RecordForm::raw;
  for (const MdsShard& shard : listing.mds->shards) {
    if (!raw || shard.columns.size() == 1) continue;
    return Error(Errc::invalid_option, "the samples have " + std::to_string(shard.columns.size()) +
                                           " columns; only the bytes of a single one can be a raw record")
        .in_file(listing.folder + shard.stored().name);
  }
  const NumberColumns numbers(raw ? std::nullopt : options.schema);
  for (const MdsShard& shard : listing.mds->shards) {
    if (auto fit = check_columns(shard.columns, numbers); !fit) {
      return fit.error().in_file(listing.folder + shard.stored().name);
    }
  }
  FileOpener opener{.makes_examples = !raw};
  if (!raw) opener.schema = [&listing] { return schema_of(*listing.mds); };
  opener.open = [&listing, &options](std::size_t file, SourceFile bytes, Compression /*compression*/) {
    return MdsRecords::open(std::move(bytes), listing.mds->shards[file], options);
  };
  return opener;
}

}  // namespace dovetail::detail
