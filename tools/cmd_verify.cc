// SPDX-License-Identifier: Apache-2.0
// `dovetail verify`: reads everything and ends with a verdict.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/record_reader.h>

#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/json.h"
#include "tools/command/lost_ranges.h"
#include "tools/command/messages.h"
#include "tools/command/sink.h"

namespace dovetail::tools {

namespace {

struct VerifyArguments {
  std::vector<std::string> paths;
  unsigned threads = 0;
  bool json = false;
};

int exit_of(const VerifyReport& report) noexcept {
  int worst = report.damaged.empty() ? kExitGood : kExitDamaged;
  for (const Error& error : report.unreadable) worst = std::max(worst, exit_code(error));
  return worst;
}

boost::json::object to_json(const VerifyReport& report) {
  boost::json::array unreadable;
  for (const Error& error : report.unreadable) {
    const std::string reason =
        error.detail().empty() ? error.code().message() : error.code().message() + ": " + error.detail();
    unreadable.push_back(
        boost::json::object{{"file", format::to_utf8(error.path())}, {"reason", format::to_utf8(reason)}});
  }
  return {{"ok", report.ok()},
          {"records", report.records},
          {"blocks", report.blocks},
          {"damaged", lost_json(report.damaged)},
          {"damaged_places", report.damaged_places},
          {"unreadable", std::move(unreadable)}};
}

std::string to_text(const VerifyReport& report) {
  const std::string text = lost_text(report.damaged, report.damaged_places);
  const std::string counts = format::count_of(report.records, "record") + " in " +
                             format::count_of(report.blocks, "block") +
                             (report.records == 1 ? " is good" : " are good");
  if (report.ok()) return text + (report.records == 1 ? "good: the " : "good: all ") + counts + '\n';
  const std::size_t unread = report.unreadable.size();
  const std::string missed = unread == 0 ? "" : "not checked: " + std::to_string(unread) + " could not be read; ";
  if (report.damaged.empty()) return text + missed + counts + '\n';
  return text + "damaged: " + format::count_of(report.damaged_places, "place") + "; " + missed + counts + '\n';
}

Result<int> run(const VerifyArguments& arguments) {
  VerifyReport whole;
  for (const std::string& path : arguments.paths) {
    Result<VerifyReport> report = verify(path, arguments.threads);
    if (report) {
      whole += std::move(*report);
    } else {
      whole.unreadable.push_back(report.error());
    }
  }
  for (const Error& error : whole.unreadable) tools::report(error);
  return print(arguments.json ? to_line(to_json(whole)) : to_text(whole), exit_of(whole));
}

}  // namespace

void add_verify(CommandLine& line) {
  const auto arguments = std::make_shared<VerifyArguments>();
  Flags flags = line.subcommand("verify", "Read and check everything",
                                {"dovetail verify data", "dovetail verify 'data/shard-*.dvt' --jobs 4"},
                                [arguments] { return run(*arguments); });
  flags.add("PATH", arguments->paths, "Shards, folders with a manifest, manifests, or quoted globs").required();
  flags.add("--jobs", arguments->threads, "Threads; 0 uses all cores");
  add_json(flags, arguments->json);
}

}  // namespace dovetail::tools
