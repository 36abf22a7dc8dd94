// SPDX-License-Identifier: Apache-2.0
// The `dovetail` command: chooses a subcommand and turns what it returns into an exit code.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "format/crc32c/crc32c_backends.h"
#include "format/text/visible.h"
#include "tools/command/commands.h"
#include "tools/command/messages.h"
#include "tools/command/render.h"

namespace dovetail::tools {

namespace {

constexpr auto kSummary = "Packs training records into shards and gives every rank the same number of batches.";
constexpr auto kFooter =
    "Exit codes: 0 good, 1 damaged data, 2 usage, 3 input or output failed, 130 interrupted.\n"
    "`dovetail SUBCOMMAND --help` lists the flags of a subcommand.";
constexpr Examples kExamples = {"dovetail convert images --to data", "dovetail inspect data"};

std::string or_none(std::string_view text) {
  return text.empty() ? "none" : std::string(text);
}

std::string compiler() {
#if defined(__clang__)
  return "clang " + std::to_string(__clang_major__) + '.' + std::to_string(__clang_minor__) + '.' +
         std::to_string(__clang_patchlevel__);
#else
  return "gcc " __VERSION__;
#endif
}

std::string crc() {
  const format::Crc32cChoice& choice = format::crc32c_choice();
  std::string small = choice.small.name;
  if (small == choice.large.name) return small;
  return std::string(choice.large.name) + ", " + small + " below " + std::to_string(format::kCrc32cLargeBytes) +
         " bytes";
}

/// Name and version in the first line, then the build options, and the code paths chosen on this
/// machine.
std::string version_text() {
  Listing listing;
  listing.add("compiler", compiler());
  listing.add("build type", or_none(DOVETAIL_BUILD_TYPE));
  listing.add("sanitizers", or_none(DOVETAIL_BUILD_SANITIZERS));
  listing.add("CUDA", or_none(DOVETAIL_BUILD_CUDA));
  listing.add("io_uring", or_none(DOVETAIL_BUILD_URING));
  listing.add("CRC32C here", crc());
  std::string text = listing.to_text();
  text.pop_back();  // CLI11 adds the last line break
  return "dovetail " DOVETAIL_VERSION "\n" + text;
}

int run(int argc, char** argv) {
  // With these signals ignored, a closed pipe and a file size limit become failed writes, which are
  // reported.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);

  CommandLine line("dovetail", DOVETAIL_VERSION, version_text, kSummary, kFooter, kExamples);
  add_convert(line);
  add_index(line);
  add_merge(line);
  add_inspect(line);
  add_cat(line);
  add_verify(line);
  add_recover(line);
  add_plan(line);
  add_read(line);
  add_show(line);
  add_stats(line);
  add_bench(line);
  add_completion(line);
  add_man(line);
  add_help(line);

  const CommandLine::Parsed parsed = line.parse(argc, argv);
  if (!parsed.action) return parsed.exit_code;
  const Result<int> result = parsed.action();
  return result ? *result : report(result.error());
}

}  // namespace

}  // namespace dovetail::tools

int main(int argc, char** argv) {
  try {
    return dovetail::tools::run(argc, argv);
  } catch (const dovetail::Exception& failure) {
    return dovetail::tools::report(failure.error());
  } catch (const std::bad_alloc&) {
    std::fputs("dovetail: error: out of memory\n", stderr);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "dovetail: error: %s\n", dovetail::format::visible(failure.what()).c_str());
  }
  return dovetail::tools::kExitIo;
}
