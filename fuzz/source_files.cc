// SPDX-License-Identifier: Apache-2.0
#include "fuzz/source_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "fuzz/hostile_dataset.h"
#include "fuzz/repair.h"
#include "tests/convert/sources.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace dovetail::fuzz {

namespace {

/// The names decide little; `more` is the file that some formats have beside it.
struct Kind {
  SourceFormat format;
  const char* name;
  const char* more;
};
constexpr std::array<Kind, 11> kKinds = {{{SourceFormat::lines, "f.txt", nullptr},
                                          {SourceFormat::jsonl, "f.jsonl", nullptr},
                                          {SourceFormat::tar, "f.tar", nullptr},
                                          {SourceFormat::csv, "f.csv", nullptr},
                                          {SourceFormat::csv, "f.tsv", nullptr},
                                          {SourceFormat::mds, "shard.00000.mds", "index.json"},
                                          {SourceFormat::recordio, "f.rec", "f.idx"},
                                          {SourceFormat::idx, "t-images-idx3-ubyte", "t-labels-idx1-ubyte"},
                                          {SourceFormat::detect, "f.bin", nullptr},
                                          {SourceFormat::folder, nullptr, nullptr},
                                          {SourceFormat::tfrecord, "f.tfrecord", nullptr}}};

// Bits of the second byte of an input.
constexpr unsigned kGzip = 1;
constexpr unsigned kWithMore = 2;
constexpr unsigned kRanges = 4;
constexpr unsigned kRaw = 8;
constexpr unsigned kExample = 16;
constexpr unsigned kNoHeader = 32;
constexpr unsigned kLabels = 64;

constexpr std::size_t kMostFiles = 64;
constexpr unsigned kDatasetKind = kKinds.size();
constexpr std::size_t kMostDatasetBytes = std::size_t{1} << 20;

/// A path below the folder, of whatever bytes an input has; empty where there is none.
std::string name_below(std::string_view text) {
  std::string name(text);
  std::ranges::replace(name, '\0', '_');
  const std::filesystem::path path = std::filesystem::path(name).lexically_normal().relative_path();
  if (path.empty() || *path.begin() == ".." || *path.begin() == "." || !path.has_filename()) return {};
  return path.string();
}

/// Files, links and pipes of any names. What the file system refuses is left out. Returns the bytes
/// of all files.
std::size_t make_folder(Input& input, const std::string& folder) {
  std::size_t bytes = 0;
  for (std::size_t files = 0; files < kMostFiles && !input.rest().empty(); ++files) {
    const unsigned kind = input.byte();
    const std::string name = name_below(input.take(kind / 8));
    if (name.empty()) continue;
    const std::string path = folder + '/' + name;
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    std::error_code failed;
    std::filesystem::create_directories(parent, failed);
    // Nothing is written through a link.
    if (failed || !std::filesystem::canonical(parent, failed).string().starts_with(folder)) continue;
    if (std::filesystem::exists(std::filesystem::symlink_status(path, failed))) continue;
    switch (kind % 8) {
      case 6:
        std::filesystem::create_symlink(name_below(input.take(input.byte() % 32)), path, failed);
        break;
      case 7:
        (void)::mkfifo(path.c_str(), 0600);
        break;
      default: {
        if (name.size() > 200) break;
        const std::string_view content = input.take(input.u16() % 1024);
        bytes += content.size();
        test::write_file(path, content);
      }
    }
  }
  return bytes;
}

SourceFiles make_dataset(Input& input, unsigned bits, std::uint32_t most_record_bytes) {
  HostileDataset& dataset = hostile_dataset(input.byte());
  const bool with_manifest = (bits & kWithMore) != 0;
  SourceFiles source;
  source.in_ranges = (bits & kRanges) != 0;
  source.options = {.format = SourceFormat::dovetail, .max_record_bytes = most_record_bytes};
  if ((bits & kNoHeader) != 0) source.options.first = input.byte();
  if ((bits & kLabels) != 0) source.options.end = input.byte();
  if ((bits & kGzip) != 0) source.options.sample = input.byte() / 256.0;
  dataset.change(input, with_manifest);
  source.path = dataset.path(with_manifest);
  source.bytes = kMostDatasetBytes;
  return source;
}

}  // namespace

std::size_t mutate_source(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed, std::size_t head) {
  const auto format_of = [&](std::size_t bytes) {
    const std::size_t number = bytes > head + 2 ? data[head] % (kDatasetKind + 1) : kDatasetKind;
    return number == kDatasetKind ? SourceFormat::dovetail : kKinds[number].format;
  };
  std::size_t mutated = size;
  const SourceFormat before = format_of(size);
  if ((before == SourceFormat::tar || before == SourceFormat::tfrecord) && seed % 4 != 0) {
    // What is put in or cut out moves all that follows, which no repair puts back; within a window
    // nothing moves.
    std::array<std::uint8_t, 64> window;
    const std::size_t at = seed / 16 % size;
    const std::size_t bytes = std::min(window.size(), size - at);
    std::copy_n(data + at, bytes, window.begin());
    const std::size_t changed = LLVMFuzzerMutate(window.data(), bytes, bytes);
    std::copy_n(window.begin(), changed, data + at);
  } else {
    mutated = LLVMFuzzerMutate(data, size, max_size);
  }
  const SourceFormat format = format_of(mutated);
  if (seed / 4 % 4 == 0 || format == SourceFormat::dovetail) return mutated;
  const auto file = std::as_writable_bytes(std::span(data + head + 2, mutated - head - 2));
  if (format == SourceFormat::tar) repair_tar(file);
  if (format == SourceFormat::tfrecord) repair_tfrecord(file);
  return mutated;
}

SourceFiles make_source(Input& input, std::uint32_t most_record_bytes) {
  static const std::string folder = scratch_folder() + "/source";
  const unsigned number = input.byte() % (kDatasetKind + 1);
  const unsigned bits = input.byte();
  if (number == kDatasetKind) return make_dataset(input, bits, most_record_bytes);
  const Kind& kind = kKinds[number];
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);

  SourceFiles source;
  source.in_ranges = (bits & kRanges) != 0;
  source.options = {.format = kind.format, .max_record_bytes = most_record_bytes};
  if ((bits & kRaw) != 0) source.options.records = RecordForm::raw;
  if ((bits & kExample) != 0) source.options.records = RecordForm::example;
  source.options.csv.header = (bits & kNoHeader) == 0;
  source.path = folder;
  if (kind.name == nullptr) {
    source.options.labels = (bits & kLabels) != 0;
    source.bytes = make_folder(input, folder);
    return source;
  }
  if (kind.more != nullptr && (bits & kWithMore) != 0) {
    const std::string_view more = input.take(input.u16());
    source.bytes += more.size();
    test::write_file(folder + '/' + kind.more, more);
  }
  const std::string bytes = (bits & kGzip) != 0 ? test::gzip(input.rest()) : std::string(input.rest());
  source.bytes += std::max(bytes.size(), input.rest().size());
  test::write_file(folder + '/' + kind.name, bytes);
  if (kind.format != SourceFormat::mds) source.path += std::string("/") + kind.name;
  return source;
}

}  // namespace dovetail::fuzz
