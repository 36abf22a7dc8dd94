// SPDX-License-Identifier: Apache-2.0
// Converts an input of any format. What comes out is a dataset that verifies, with the records that
// the source has, or an error and nothing in the folder.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include <dovetail/convert.h>
#include <dovetail/record_reader.h>

#include "fuzz/source_files.h"
#include "fuzz/support.h"
#include "tests/convert/sources.h"
#include "tests/support/decoded_shards.h"

namespace dovetail::fuzz {
namespace {

constexpr std::size_t kOptionBytes = 2;
constexpr std::uint32_t kMostRecordBytes = 1u << 16;
// Of the writers and their queues.
constexpr std::size_t kOwnMemory = std::size_t{64} << 20;

ConvertOptions options_of(Input& input) {
  const unsigned bits = input.byte();
  ConvertOptions options;
  options.shards = bits % 4;
  if ((bits & 4) != 0) options.shuffle_seed = bits;
  if ((bits & 8) != 0) options.split = {{"a", 0.5}, {"b", 0.5}};
  options.writer.shard.codec = static_cast<Codec>((bits >> 4 & 3) % 3);
  options.writer.shard.block_bytes = 1024;
  options.writer.shard.run_records = (bits & 32) != 0 ? 3 : 0;
  options.writer.shard.max_record_bytes = kMostRecordBytes;
  options.writer.shard_bytes = 2048;
  options.jobs = 1 + bits / 64 % 2;
  options.memory_bytes = 1u << 20;
  options.resume = false;
  return options;
}

/// The records of all datasets that were made, each file read as strictly as the format allows.
test::Records converted(const std::string& folder, const ConvertOptions& options) {
  test::Records records;
  const auto add = [&](const std::string& made) {
    const auto checked = verify(made, 1);
    require(checked && checked->ok(), "what is converted verifies");
    const test::Records found = test::read_dataset(made).records;
    records.insert(records.end(), found.begin(), found.end());
  };
  if (options.split.empty()) add(folder);
  for (const SplitShare& share : options.split) add(folder + '/' + share.name);
  return records;
}

/// Files below a folder, hidden ones too.
bool holds_files(const std::string& folder) {
  if (!std::filesystem::exists(folder)) return false;
  return std::ranges::any_of(std::filesystem::recursive_directory_iterator(folder),
                             [](const auto& entry) { return !entry.is_directory(); });
}

void judge(Input input) {
  static const std::string folder = scratch_folder() + "/converted";
  static const std::string staged = folder + ".partial";
  for (const std::string& left : {folder, staged}) std::filesystem::remove_all(left);
  ConvertOptions options = options_of(input);
  const bool skips = input.byte() % 2 != 0;
  const std::size_t window = window_for(input.rest());
  SourceFiles source = make_source(input, kMostRecordBytes);
  source.options.on_error = skips ? OnError::skip : OnError::fail;
  options.sources = {source.path};
  options.from = source.options.format;
  options.source = source.options;

  const MemoryLimit limit(memory_for(source.bytes) + 64 * source.bytes + window + kOwnMemory);
  const auto report = convert(folder, options);
  const auto records = test::read_source(source.path, source.options);
  if (!report) {
    require(!report.error().to_string().empty(), "a failure says what it is");
    require(!holds_files(folder) && !holds_files(staged), "a failure leaves nothing");
    if (!records || records->empty()) return;
    return require(report.error().kind() == ErrorKind::usage, "what is read is converted");
  }
  require(records.has_value(), "what is converted is read");
  require(report->records == records->size(), "as many records as are told");
  require(skips || report->skipped == 0, "nothing is left out unasked");
  test::Records expected = *records;
  test::Records found = converted(folder, options);
  if (options.shuffle_seed || !options.split.empty()) {
    std::ranges::sort(expected);
    std::ranges::sort(found);
  }
  require(found == expected, "all records, and no others");
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return dovetail::fuzz::mutate_source(data, size, max_size, seed, dovetail::fuzz::kOptionBytes);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge({data, size});
  return 0;
}
