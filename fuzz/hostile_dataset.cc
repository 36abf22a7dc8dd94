// SPDX-License-Identifier: Apache-2.0
#include "fuzz/hostile_dataset.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include <dovetail/dataset_writer.h>
#include <dovetail/tfrecord_index.h>

#include "format/endian.h"
#include "format/example/example_encoder.h"
#include "format/layout.h"
#include "fuzz/repair.h"
#include "tests/convert/sources.h"

namespace dovetail::fuzz {

namespace {

using test::Draws;
using test::Records;

constexpr std::size_t kMostFileBytes = 64 << 10;
constexpr std::uint64_t kRunRecords = 8;

std::string example(std::uint64_t number) {
  Draws draws(number + 1);
  format::ExampleEncoder encoder;
  std::vector<std::int64_t> tokens(draws.below(9));
  for (std::int64_t& token : tokens) token = static_cast<std::int64_t>(draws.below(1000));
  const std::string tag = "tag " + std::to_string(number);
  const std::vector<ByteView> tags(draws.below(3), as_bytes(tag));
  if (number % 7 != 6) encoder.add_bytes("image", as_bytes("four"));
  encoder.add_int("label", static_cast<std::int64_t>(number));
  encoder.add_ints("tokens", tokens);
  if (number % 2 == 0) encoder.add_float("weight", 0.5f);
  if (!tags.empty()) encoder.add_bytes("tags", tags);
  std::vector<std::byte> record;
  encoder.encode(record).value();
  return std::string(as_chars(record));
}

std::string record_of(Layout layout, std::uint64_t number) {
  switch (layout) {
    case Layout::fixed:
      return test::noise(256, number);
    case Layout::large:
      return test::noise(1500 + number * 331 % 1100, number);
    case Layout::examples:
      return example(number);
    case Layout::snappy:
    case Layout::tfrecord:
      break;
  }
  return test::prose(number * 37 % 120, number);
}

std::vector<std::uint64_t> shards_of(Layout layout) {
  switch (layout) {
    case Layout::fixed:
      return {14, 9};
    case Layout::large:
      return {5, 3};
    case Layout::examples:
      return {20, 13};
    case Layout::tfrecord:
      return {20, 15};
    case Layout::snappy:
      break;
  }
  return {24, 0, 17};
}

/// Writes over a file that may be open, as damage does, or puts another in its place.
void put(const std::string& path, std::string_view bytes, bool in_place) {
  if (!in_place) return test::write_file(path, bytes);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  require(descriptor >= 0, "a file of the dataset opens");
  require(::pwrite(descriptor, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "a write");
  require(::ftruncate(descriptor, static_cast<off_t>(bytes.size())) == 0, "a cut");
  ::close(descriptor);
}

/// Where the structures of a shard begin: its header, its blocks, its trailer. Of other files only
/// the ends.
std::vector<std::size_t> anchors_of(std::string_view bytes) {
  std::vector<std::size_t> anchors = {0};
  for (std::size_t at = format::kFileHeaderBytes; at + 8 <= bytes.size(); at += format::kFileHeaderBytes) {
    const auto word = format::load_le<std::uint32_t>(as_bytes(bytes.substr(at)).data());
    if (word == format::kBlockSync) anchors.push_back(at);
  }
  anchors.push_back(bytes.size() - std::min<std::size_t>(bytes.size(), format::kTrailerBytes));
  return anchors;
}

}  // namespace

HostileDataset::HostileDataset(Layout layout)
    : layout_(layout), folder_(scratch_folder() + "/dataset-" + std::to_string(static_cast<unsigned>(layout))) {
  std::uint64_t number = 0;
  std::vector<Records> shards;
  for (const std::uint64_t records : shards_of(layout)) {
    Records& shard = shards.emplace_back();
    for (std::uint64_t i = 0; i < records; ++i) shard.push_back(record_of(layout, number++));
  }
  layout == Layout::tfrecord ? write_tfrecords(shards) : write_dataset(shards);
}

void HostileDataset::write_dataset(const std::vector<Records>& shards) {
  DatasetWriterOptions options;
  options.shard_bytes = 0;
  options.encode_threads = 1;
  options.shard.codec = layout_ == Layout::snappy     ? Codec::snappy
                        : layout_ == Layout::examples ? Codec::zstd
                                                      : Codec::none;
  options.shard.block_bytes = 1024;
  options.shard.run_records = kRunRecords;
  options.shard.dataset_id = test::sample_dataset_id();
  if (layout_ == Layout::examples) options.shard.schema = parse_schema(kExampleColumns).value();
  DatasetWriter writer = DatasetWriter::create(folder_, options).value();
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    if (shard > 0) writer.next_shard().value();
    for (const std::string& record : shards[shard]) writer.append(as_bytes(record)).value();
  }
  const DatasetInfo written = writer.finish().value();
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    keep(folder_ + '/' + written.shards[shard].name, shards[shard]);
  }
  keep(written.manifest);
}

void HostileDataset::write_tfrecords(const std::vector<Records>& shards) {
  std::filesystem::create_directories(folder_);
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    const std::string path = folder_ + '/' + std::to_string(shard) + ".tfrecord";
    test::write_file(path, test::tfrecord_bytes(shards[shard]));
    const auto report = index_tfrecord(path, {.block_bytes = 1024, .run_records = kRunRecords}).value();
    keep(path, shards[shard]);
    files_.back().tfrecord = true;
    keep(report.index);
  }
}

void HostileDataset::keep(const std::string& path, Records records) {
  File& file = files_.emplace_back();
  file.path = path;
  file.bytes = std::string(as_chars(test::read_file(path)));
  file.records = std::move(records);
  file.anchors = anchors_of(file.bytes);
}

std::string HostileDataset::path(bool with_manifest) const {
  if (!has_manifest()) return folder_ + "/*.tfrecord";
  return with_manifest ? folder_ : folder_ + "/shard-*.dvt";
}

const std::string* HostileDataset::written(const std::string& path, std::uint64_t record) const {
  const auto file = std::ranges::find(files_, path, &File::path);
  return file == files_.end() || record >= file->records.size() ? nullptr : &file->records[record];
}

void HostileDataset::restore() {
  for (File& file : files_) {
    if (std::exchange(file.changed, false)) put(file.path, file.bytes, false);
  }
}

bool HostileDataset::changed() const noexcept {
  return std::ranges::any_of(files_, &File::changed);
}

bool HostileDataset::edit(Input& input, std::vector<std::optional<std::string>>& files) {
  const std::size_t number = input.byte() % files.size();
  const unsigned what = input.byte();
  const std::vector<std::size_t>& anchors = files_[number].anchors;
  std::optional<std::string>& changed = files[number];
  const std::size_t offset = input.u16();
  if (!changed || changed->empty()) return false;
  // Half of the changes are near the beginning of a structure.
  std::size_t at = (what & 8) != 0 ? anchors[offset / 96 % anchors.size()] + offset % 96 : offset;
  at %= changed->size();
  files_[number].changed = true;
  switch (what % 8) {
    case 0:
    case 1: {
      const std::string_view bytes = input.take(1 + what / 16);
      changed->replace(at, bytes.size(), bytes);
      return false;
    }
    case 2:
      (*changed)[at] = static_cast<char>((*changed)[at] ^ (1 << what / 32));
      return false;
    case 3: {
      const std::size_t bytes = std::min<std::size_t>(input.u16(), changed->size() - at);
      changed->replace(at, bytes, bytes, '\0');
      return false;
    }
    case 4:
      changed->resize(at);
      return false;
    case 5:
      changed->insert(at, input.take(1 + what / 16));
      return false;
    case 6: {  // of this file or another one
      const std::optional<std::string>& source = files[input.byte() % files.size()];
      if (!source || source->empty()) return false;
      const std::size_t from = input.u16() / 64 * 64 % source->size();
      const std::string bytes = source->substr(from, input.u16());
      changed->replace(at, bytes.size(), bytes);
      return &source != &changed;
    }
    default: {  // the whole file
      const unsigned other = input.byte();
      const bool gone = other % 4 == 0;
      changed = gone ? std::nullopt : files[other / 4 % files.size()];
      return !gone;
    }
  }
}

bool HostileDataset::change(Input& input, bool with_manifest) {
  std::vector<std::optional<std::string>> files;
  for (const File& file : files_) files.emplace_back(file.bytes);
  const unsigned how = input.byte();
  const bool in_place = (how & 1) != 0;
  const bool repaired = (how & 2) != 0;
  const unsigned repair = how / 4 % 16;
  bool crossed = false;
  while (!input.rest().empty()) {
    crossed = edit(input, files) || crossed;
    for (auto& file : files) {
      if (file) file->resize(std::min(file->size(), kMostFileBytes));
    }
  }
  // A manifest tells a shard from its siblings; a glob does not, nor a folder whose manifest is
  // gone.
  const bool told = with_manifest && has_manifest() && files.back().has_value();
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files_[i].changed) continue;
    if (!files[i]) {
      std::filesystem::remove(files_[i].path);
      continue;
    }
    const auto bytes = std::as_writable_bytes(std::span(*files[i]));
    if (repaired && files_[i].tfrecord) repair_tfrecord(bytes);
    if (repaired && !files_[i].tfrecord) repair_shard(bytes, repair);
    put(files_[i].path, *files[i], in_place);
  }
  return repaired || (crossed && !told);
}

HostileDataset& hostile_dataset(unsigned layout) {
  static std::array<std::unique_ptr<HostileDataset>, kLayouts> datasets;
  auto& dataset = datasets[layout % kLayouts];
  if (!dataset) dataset = std::make_unique<HostileDataset>(static_cast<Layout>(layout % kLayouts));
  dataset->restore();
  return *dataset;
}

}  // namespace dovetail::fuzz
