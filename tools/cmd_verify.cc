// SPDX-License-Identifier: Apache-2.0
// `dovetail verify`: reads everything and ends with a verdict.
#include <algorithm>
#include <memory>
#include <vector>

#include <dovetail/record_reader.h>

#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/json.h"
#include "tools/command/sink.h"

namespace dovetail::tools {

namespace {

struct VerifyArguments {
  std::vector<std::string> paths;
  unsigned threads = 0;
  bool json = false;
};

/// The result for all paths.
struct Verdict {
  VerifyReport report;  ///< Paths that could not be checked are among the unreadable files.

  int exit() const noexcept {
    int worst = report.damaged.empty() ? kExitGood : kExitDamaged;
    for (const Error& error : report.unreadable) worst = std::max(worst, exit_code(error));
    return worst;
  }
};

boost::json::object to_json(const Verdict& verdict) {
  boost::json::array damaged;
  for (const LostRange& damage : verdict.report.damaged) {
    damaged.push_back(boost::json::object{{"file", format::to_utf8(damage.file)},
                                          {"offset", damage.offset},
                                          {"records", boost::json::array{damage.first_record, damage.end_record}},
                                          {"reason", format::to_utf8(damage.reason)}});
  }
  boost::json::array unreadable;
  for (const Error& error : verdict.report.unreadable) {
    const std::string reason =
        error.detail().empty() ? error.code().message() : error.code().message() + ": " + error.detail();
    unreadable.push_back(
        boost::json::object{{"file", format::to_utf8(error.path())}, {"reason", format::to_utf8(reason)}});
  }
  return {{"ok", verdict.report.ok()},
          {"records", verdict.report.records},
          {"blocks", verdict.report.blocks},
          {"damaged", std::move(damaged)},
          {"damaged_places", verdict.report.damaged_places},
          {"unreadable", std::move(unreadable)}};
}

std::string to_text(const Verdict& verdict) {
  std::string text;
  for (const LostRange& damage : verdict.report.damaged) {
    text += format::visible(damage.file) + ':' + std::to_string(damage.offset) + ": ";
    if (damage.end_record > damage.first_record) {
      text += "records [" + std::to_string(damage.first_record) + ", " + std::to_string(damage.end_record) + "): ";
    }
    text += format::visible(damage.reason) + '\n';
  }
  const std::uint64_t unlisted = verdict.report.damaged_places - verdict.report.damaged.size();
  if (unlisted > 0) text += "and " + format::count_of(unlisted, "more place") + "\n";
  const std::string counts = format::count_of(verdict.report.records, "record") + " in " +
                             format::count_of(verdict.report.blocks, "block") +
                             (verdict.report.records == 1 ? " is good" : " are good");
  if (verdict.report.ok()) return text + (verdict.report.records == 1 ? "good: the " : "good: all ") + counts + '\n';
  const std::size_t unread = verdict.report.unreadable.size();
  const std::string missed = unread == 0 ? "" : "not checked: " + std::to_string(unread) + " could not be read; ";
  if (verdict.report.damaged.empty()) return text + missed + counts + '\n';
  return text + "damaged: " + format::count_of(verdict.report.damaged_places, "place") + "; " + missed + counts + '\n';
}

Result<int> run(const VerifyArguments& arguments) {
  Verdict verdict;
  for (const std::string& path : arguments.paths) {
    Result<VerifyReport> report = verify(path, arguments.threads);
    if (!report) {
      verdict.report.unreadable.push_back(report.error());
      continue;
    }
    verdict.report.records += report->records;
    verdict.report.blocks += report->blocks;
    verdict.report.damaged_places += report->damaged_places;
    std::move(report->damaged.begin(), report->damaged.end(), std::back_inserter(verdict.report.damaged));
    std::move(report->unreadable.begin(), report->unreadable.end(), std::back_inserter(verdict.report.unreadable));
  }
  for (const Error& error : verdict.report.unreadable) tools::report(error);
  return print(arguments.json ? to_line(to_json(verdict)) : to_text(verdict), verdict.exit());
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
