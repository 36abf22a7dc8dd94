// SPDX-License-Identifier: Apache-2.0
// The command's own parsers: ranges, weights, splits, parts, sizes and numbers. What is accepted is
// within its limits and, where it has a text, comes back from it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/convert.h>

#include "convert/record_split.h"
#include "fuzz/support.h"
#include "tools/command/arguments.h"
#include "tools/command/command_line.h"
#include "tools/plan/weights.h"
#include "tools/records/record_input.h"

namespace dovetail::fuzz {
namespace {

void range(std::string_view text) {
  const auto range = tools::parse_range(text);
  if (range && range->end) require(range->first <= *range->end, "a range does not end before it begins");
}

void weights(std::string_view text) {
  const auto schedule = tools::parse_weights(text);
  if (!schedule) return;
  const auto again = tools::parse_weights(tools::to_text(*schedule));
  require(again && *again == *schedule, "weights come back from their text");
}

void split(std::string_view text) {
  const auto shares = parse_split(text);
  if (!shares) return;
  double sum = 0;
  for (const SplitShare& share : *shares) {
    require(std::isfinite(share.share) && share.share > 0, "a share is above 0");
    sum += share.share;
  }
  require(std::abs(sum - 1) < 0.001, "shares add up to 1");
  const auto made = detail::RecordSplit::make(*shares, 0);
  require(!made || made->outputs() == shares->size(), "each share is a dataset");
  if (made) require(made->output_of(text, as_bytes(text)) < made->outputs(), "a record goes to one of the datasets");
}

void part(std::string_view text) {
  if (text == "auto") return;
  const auto part = tools::parse_part(text);
  if (part) require(part->number < part->parts, "a part is one of all");
}

/// Arguments are lines.
void arguments(std::string_view text) {
  std::vector<std::string> words = {"fuzz", "run"};
  for (std::size_t at = 0; at <= text.size() && words.size() < 32;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());

  const tools::Examples examples = {"fuzz run --small 1", "fuzz run --large 1"};
  tools::CommandLine line(
      "fuzz", "0", [] { return std::string(); }, "", "", examples);
  std::uint32_t small = 0;
  std::uint64_t large = 0;
  std::optional<std::uint32_t> count;
  double real = 0;
  std::vector<std::string> paths;
  tools::Flags flags = line.subcommand("run", "", examples, [] { return Result<int>(0); });
  flags.add_size("--small", small, "");
  flags.add_size("--large", large, "");
  flags.add("--count", count, "");
  flags.add("--real", real, "");
  tools::add_paths(flags, paths);
  const auto parsed = line.parse(static_cast<int>(argv.size()), argv.data());
  require(parsed.action == nullptr || (parsed.exit_code == 0 && !paths.empty()), "only what is complete is done");
}

void judge(Input input) {
  const MemoryLimit limit((std::size_t{4} << 20) + 1024 * input.rest().size());
  switch (input.byte() % 5) {
    case 0:
      return range(input.rest());
    case 1:
      return weights(input.rest());
    case 2:
      return split(input.rest());
    case 4:
      return part(input.rest());
    default:
      break;
  }
  // It tells what is wrong with the arguments, and prints help.
  static std::FILE* const nowhere = std::fopen("/dev/null", "w");
  std::FILE* const shown_errors = std::exchange(stderr, nowhere);
  std::streambuf* const shown = std::cout.rdbuf(nullptr);
  arguments(input.rest());
  std::cout.rdbuf(shown);
  stderr = shown_errors;
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge({data, size});
  return 0;
}
