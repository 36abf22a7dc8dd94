// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "format/try.h"
#include "sources/bytes/folder_names.h"
#include "sources/bytes/names.h"
#include "sources/detect.h"
#include "sources/example_builder.h"
#include "sources/idx_layout.h"
#include "sources/openers.h"
#include "sources/stream_reader.h"

namespace dovetail::detail {

namespace {

constexpr std::size_t kMostHeaderBytes = 4 + 4 * 8;

/// The items of one file.
class IdxItems {
 public:
  static Result<IdxItems> open(SourceFile file, Compression compression, std::uint32_t max_record_bytes) {
    const std::string path = file.path();
    const std::uint64_t file_bytes = file.size();
    DOVETAIL_ASSIGN(auto layout, read_layout(file, compression));
    if (layout.item_bytes > max_record_bytes) {
      return Error(Errc::record_too_large, "an item has " + std::to_string(layout.item_bytes) +
                                               " bytes; the limit is " + std::to_string(max_record_bytes))
          .in_file(path);
    }
    if (compression == Compression::none && file_bytes != layout.file_bytes()) {
      const bool cut = file_bytes < layout.file_bytes();
      return Error(cut ? Errc::truncated : Errc::malformed_input,
                   "IDX: the header says " + std::to_string(layout.file_bytes()) + " bytes; the file has " +
                       std::to_string(file_bytes))
          .at(path, std::min(file_bytes, layout.file_bytes()));
    }
    DOVETAIL_ASSIGN(auto stream, StreamReader::open(std::move(file), compression));
    DOVETAIL_TRY(stream.skip(layout.header_bytes()));
    return IdxItems(std::move(layout), std::move(stream), compression);
  }

  Result<std::optional<ByteView>> next() {
    place_ = stream_.place();
    const bool end = number_ == layout_.items();
    auto item = stream_.take(end ? 1 : layout_.item_bytes);
    if (!item) return item.error();
    if (end && item->empty()) return std::nullopt;
    if (end) return fault(Errc::malformed_input, "there is data after the last item");
    if (item->size() < layout_.item_bytes) {
      return fault(Errc::truncated,
                   "it ends within item " + std::to_string(number_) + " of " + std::to_string(layout_.items()));
    }
    ++number_;
    return *item;
  }

  /// Returns the first item with at least `consumed` bytes before it. Returns the current item if
  /// it is later, or if skipping would mean reading.
  std::uint32_t item_from(std::uint64_t consumed) const {
    if (compression_ != Compression::none || consumed <= layout_.header_bytes()) return number_;
    const std::uint64_t item = (consumed - layout_.header_bytes() + layout_.item_bytes - 1) / layout_.item_bytes;
    return std::max(number_, static_cast<std::uint32_t>(std::min<std::uint64_t>(item, layout_.items())));
  }
  Result<void> skip_to_item(std::uint32_t item) {
    auto skipped = stream_.skip(std::uint64_t{item - number_} * layout_.item_bytes);
    number_ = item;
    place_ = stream_.place();
    return skipped;
  }

  const IdxLayout& layout() const noexcept { return layout_; }
  const std::string& path() const noexcept { return stream_.path(); }
  RecordPlace place() const noexcept { return place_; }

 private:
  IdxItems(IdxLayout layout, StreamReader stream, Compression compression)
      : layout_(std::move(layout)), stream_(std::move(stream)), compression_(compression), place_(stream_.place()) {}

  static Result<IdxLayout> read_layout(const SourceFile& file, Compression compression) {
    DOVETAIL_ASSIGN(auto again, SourceFile::open(file.path()));
    DOVETAIL_ASSIGN(auto stream, StreamReader::open(std::move(again), compression));
    DOVETAIL_ASSIGN(auto head, stream.take(kMostHeaderBytes));
    auto layout = parse_idx_layout(head);
    if (layout) return *layout;
    return Error(Errc::malformed_input, "IDX: unknown kind of header").at(file.path(), 0);
  }

  Error fault(Errc code, const std::string& reason) const {
    return Error(code, "IDX: " + reason).at(stream_.path(), place_.offset);
  }

  IdxLayout layout_;
  StreamReader stream_;
  Compression compression_;
  std::uint32_t number_ = 0;
  RecordPlace place_;
};

std::uint64_t load_be(ByteView bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

class IdxRecords final : public FileRecords {
 public:
  IdxRecords(IdxItems items, std::optional<IdxItems> labels, const SourceOptions& options)
      : items_(std::move(items)),
        labels_(std::move(labels)),
        raw_(options.records == RecordForm::raw),
        builder_(options.max_record_bytes) {}

  Result<std::optional<ByteView>> next() override {
    auto item = items_.next();
    if (!item) return item;
    if (raw_) return item;
    if (!*item) {
      if (!labels_) return std::nullopt;
      auto beyond = labels_->next();  // checks that nothing follows the last label
      if (!beyond) return beyond.error();
      return std::nullopt;
    }
    builder_.begin();
    add(items_.layout(), **item);
    if (labels_) {
      DOVETAIL_ASSIGN(auto label, labels_->next());
      add(labels_->layout(), *label);
    }
    auto example = builder_.finish();
    if (!example) return example.error().at(items_.path(), place().offset);
    return *example;
  }

  RecordPlace place() const override { return items_.place(); }

  Result<void> skip_to(std::uint64_t consumed) override {
    const std::uint32_t item = items_.item_from(consumed);
    if (labels_) {
      DOVETAIL_TRY(labels_->skip_to_item(item));
    }
    return items_.skip_to_item(item);
  }

 private:
  void add(const IdxLayout& layout, ByteView item) {
    const std::size_t element = dtype_bytes(layout.dtype);
    if (layout.sizes.size() == 1) return add_label(layout.dtype, item);
    swapped_.assign(item.begin(), item.end());
    for (std::size_t i = 0; element > 1 && i < swapped_.size(); i += element) {
      const auto begin = swapped_.begin() + static_cast<std::ptrdiff_t>(i);
      std::reverse(begin, begin + static_cast<std::ptrdiff_t>(element));
    }
    builder_.add_bytes("image", swapped_);
  }

  void add_label(Dtype dtype, ByteView item) {
    const std::uint64_t bits = load_be(item);
    if (dtype == Dtype::f32) {
      return builder_.add_float("label", std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    if (dtype == Dtype::f64) return builder_.add_float("label", static_cast<float>(std::bit_cast<double>(bits)));
    const int unused = dtype == Dtype::u8 ? 0 : 64 - 8 * static_cast<int>(item.size());  // else the sign is extended
    builder_.add_int("label", static_cast<std::int64_t>(bits << unused) >> unused);
  }

  IdxItems items_;
  std::optional<IdxItems> labels_;
  bool raw_;
  ExampleBuilder builder_;
  std::vector<std::byte> swapped_;
};

// The labels beside images; empty for other items, and if records are raw.
Result<std::optional<IdxItems>> open_labels(const IdxItems& images, const SourceOptions& options) {
  if (options.records == RecordForm::raw) return std::nullopt;
  const std::vector<std::string> names = labels_of_images(images.path());
  for (const std::string& name : names) {
    auto file = SourceFile::open(name);
    if (!file) {
      if (file.error().code() != boost::system::errc::no_such_file_or_directory) return file.error();
      continue;
    }
    DOVETAIL_ASSIGN(auto kind, detect_file(*file, SourceFormat::idx));
    DOVETAIL_ASSIGN(auto labels, IdxItems::open(std::move(*file), kind.compression, options.max_record_bytes));
    if (labels.layout().sizes.size() != 1 || labels.layout().items() != images.layout().items()) {
      return Error(Errc::sidecar_mismatch, "its items must be one label for each of the " +
                                               std::to_string(images.layout().items()) + " in " + images.path())
          .in_file(name);
    }
    return std::optional(std::move(labels));
  }
  for (const std::string& name : names) {
    DOVETAIL_TRY(check_no_dangling_link(name));
  }
  return std::nullopt;
}

// `label` for single numbers, else `image`. A schema may not be able to express it.
Column column_of(const IdxLayout& layout) {
  if (layout.sizes.size() == 1) {
    const bool real = layout.dtype == Dtype::f32 || layout.dtype == Dtype::f64;
    return {.name = "label", .dtype = real ? Dtype::f32 : Dtype::i64};
  }
  return {.name = "image", .dtype = layout.dtype, .shape = {layout.sizes.begin() + 1, layout.sizes.end()}};
}

std::optional<Schema> schema_of_file(const std::string& path, const SourceOptions& options) {
  auto file = SourceFile::open(path);
  if (!file) return std::nullopt;
  const auto kind = detect_file(*file, SourceFormat::idx);
  if (!kind) return std::nullopt;
  const auto items = IdxItems::open(std::move(*file), kind->compression, options.max_record_bytes);
  if (!items) return std::nullopt;
  const auto labels = open_labels(*items, options);
  if (!labels) return std::nullopt;
  Schema schema;
  schema.columns.push_back(column_of(items->layout()));
  if (*labels) schema.columns.push_back(column_of((*labels)->layout()));
  if (!validate(schema)) return std::nullopt;
  return schema;
}

// Reads all headers. If all items have one shape, they become columns. Reading the records reports
// errors of a file.
std::optional<Schema> common_schema(const SourceListing& listing, const SourceOptions& options) {
  std::optional<Schema> common;
  for (std::size_t file = 0; file != listing.files.size(); ++file) {
    auto schema = schema_of_file(listing.path_of(file), options);
    if (!schema || (common && *common != *schema)) return std::nullopt;
    common = std::move(schema);
  }
  return common;
}

}  // namespace

FileOpener make_idx_opener(const SourceListing& listing, const SourceOptions& options) {
  FileOpener opener{.makes_examples = options.records != RecordForm::raw};
  if (opener.makes_examples) opener.schema = [&listing, &options] { return common_schema(listing, options); };
  opener.open = [&options](std::size_t /*file*/, SourceFile bytes,
                           Compression compression) -> Result<std::unique_ptr<FileRecords>> {
    DOVETAIL_ASSIGN(auto items, IdxItems::open(std::move(bytes), compression, options.max_record_bytes));
    DOVETAIL_ASSIGN(auto labels, open_labels(items, options));
    return std::make_unique<IdxRecords>(std::move(items), std::move(labels), options);
  };
  return opener;
}

}  // namespace dovetail::detail
