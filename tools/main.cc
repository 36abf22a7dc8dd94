// SPDX-License-Identifier: Apache-2.0
// The `dovetail` command: chooses a subcommand and turns what it returns into an exit code.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "format/text/visible.h"
#include "tools/command/build_options.h"
#include "tools/command/commands.h"
#include "tools/command/messages.h"

namespace dovetail::tools {

namespace {

constexpr auto kSummary = "Packs training records into shards and gives every rank the same number of batches.";
constexpr auto kFooter =
    "Exit codes: 0 good, 1 damaged data, 2 usage, 3 input or output failed, 130 interrupted.\n"
    "`dovetail SUBCOMMAND --help` lists the flags of a subcommand.";
constexpr Examples kExamples = {"dovetail convert images --to data", "dovetail inspect data"};

int run(int argc, char** argv) {
  // With these signals ignored, a closed pipe and a file size limit become failed writes, which are
  // reported.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);

  CommandLine line("dovetail", version(), version_text, kSummary, kFooter, kExamples);
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
