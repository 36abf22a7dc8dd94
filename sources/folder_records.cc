// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/try.h"
#include "sources/example_builder.h"
#include "sources/openers.h"

namespace dovetail::detail {

namespace {

Result<ByteView> read_whole(SourceFile file, std::uint32_t max_record_bytes, std::vector<std::byte>& buffer) {
  if (file.size() > max_record_bytes) {
    return Error(Errc::record_too_large, "the file has " + std::to_string(file.size()) + " bytes; the limit is " +
                                             std::to_string(max_record_bytes))
        .in_file(file.path());
  }
  buffer.resize(static_cast<std::size_t>(file.size()));
  DOVETAIL_ASSIGN(auto read, file.read(buffer));
  std::array<std::byte, 1> beyond;
  DOVETAIL_ASSIGN(auto more, file.read(beyond));
  if (read != buffer.size() || more != 0) {
    return Error(Errc::file_changed,
                 "its size is no longer the " + std::to_string(file.size()) + " bytes that it was opened with")
        .at(file.path(), read);
  }
  return ByteView(buffer);
}

std::string_view class_of(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

/// Returns the folder's classes in bytewise order.
std::vector<std::string> classes_of(const SourceListing& listing) {
  std::vector<std::string> classes;
  for (const ListedFile& file : listing.files) {
    const std::string_view name = class_of(file.name);
    if (classes.empty() || classes.back() != name) classes.emplace_back(name);
  }
  // Sort again: whole paths are in order, but '/' is not the smallest byte, so "a-/x" comes before
  // "a/x".
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  return classes;
}

using ClassNumbers = std::map<std::string, std::int64_t, std::less<>>;

Result<ClassNumbers> number_classes(const std::vector<std::string>& classes) {
  ClassNumbers numbers;
  for (const std::string& name : classes) {
    if (name.empty() || !numbers.emplace(name, static_cast<std::int64_t>(numbers.size())).second) {
      return Error(Errc::invalid_option,
                   name.empty() ? "a class needs a name" : "the class \"" + name + "\" is given twice");
    }
  }
  return numbers;
}

/// The state that all records of a folder share. It includes the memory, because only one file is
/// read at a time.
struct FolderShape {
  std::uint32_t max_record_bytes = 0;
  bool examples = false;
  std::vector<std::string> classes;  // by number; empty without labels
  ClassNumbers numbers;
  ExampleBuilder builder{0};
  std::vector<std::byte> buffer;
};

/// The only record of a file.
class WholeFile final : public FileRecords {
 public:
  WholeFile(SourceFile file, std::string_view name, FolderShape& shape)
      : file_(std::move(file)), name_(name), shape_(shape) {}

  Result<std::optional<ByteView>> next() override {
    if (std::exchange(given_, true)) return std::nullopt;
    const std::string path = file_.path();
    auto bytes = read_whole(std::move(file_), shape_.max_record_bytes, shape_.buffer);
    if (!bytes) return bytes.error();
    if (!shape_.examples) return *bytes;
    auto example = build(*bytes);
    if (!example) return example.error().in_file(path);
    return *example;
  }

  RecordPlace place() const override { return {}; }
  std::string_view key() const override { return name_; }

 private:
  Result<ByteView> build(ByteView bytes) {
    ExampleBuilder& builder = shape_.builder;
    builder.begin();
    builder.add_bytes("__key__", as_bytes(name_));
    if (!shape_.classes.empty()) {
      const std::string_view name = class_of(name_);
      builder.add_bytes("class", as_bytes(name));
      builder.add_int("label", shape_.numbers.find(name)->second);
    }
    builder.add_bytes("data", bytes);
    return builder.finish();
  }

  SourceFile file_;
  std::string_view name_;
  FolderShape& shape_;
  bool given_ = false;
};

Schema schema_of_files(bool labels) {
  Schema schema;
  schema.columns.push_back({.name = "__key__", .dtype = Dtype::bytes});
  if (labels) {
    schema.columns.push_back({.name = "class", .dtype = Dtype::bytes});
    schema.columns.push_back({.name = "label", .dtype = Dtype::i64});
  }
  schema.columns.push_back({.name = "data", .dtype = Dtype::bytes});
  return schema;
}

}  // namespace

Result<FileOpener> make_folder_opener(const SourceListing& listing, const SourceOptions& options) {
  const auto made = std::make_shared<FolderShape>();
  FolderShape& shape = *made;
  shape.max_record_bytes = options.max_record_bytes;
  shape.builder = ExampleBuilder(options.max_record_bytes);
  shape.examples = options.labels || options.records != RecordForm::raw;
  if (options.labels) {
    if (options.records == RecordForm::raw) {
      return Error(Errc::invalid_option, "raw records cannot hold labels; use --records example")
          .in_file(listing.folder);
    }
    std::vector<std::string> found = classes_of(listing);
    auto numbers = number_classes(options.classes.empty() ? found : options.classes);
    if (!numbers) return numbers.error().in_file(listing.folder);
    for (const std::string& name : found) {
      if (numbers->contains(name)) continue;
      return Error(Errc::invalid_option,
                   options.classes.size() == 1
                       ? "the folder is not the given class"
                       : "the folder is not one of the " + std::to_string(options.classes.size()) + " given classes")
          .in_file(listing.folder + name);
    }
    shape.classes = std::move(found);
    if (!options.classes.empty()) shape.classes = options.classes;
    shape.numbers = std::move(*numbers);
  }
  FileOpener opener{.makes_examples = shape.examples, .classes = shape.classes};
  if (shape.examples) opener.schema = [labels = options.labels] { return schema_of_files(labels); };
  opener.open = [made, &listing](std::size_t file, SourceFile bytes,
                                 Compression /*compression*/) -> Result<std::unique_ptr<FileRecords>> {
    return std::make_unique<WholeFile>(std::move(bytes), listing.files[file].name, *made);
  };
  return opener;
}

}  // namespace dovetail::detail
