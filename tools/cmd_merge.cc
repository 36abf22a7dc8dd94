// SPDX-License-Identifier: Apache-2.0
// `dovetail merge`: makes one dataset of the parts that several processes converted.
#include <chrono>
#include <memory>

#include <dovetail/convert.h>

#include "format/try.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/json.h"
#include "tools/command/sink.h"
#include "tools/command/text_file.h"
#include "tools/conversion_report.h"

namespace dovetail::tools {

namespace {

struct MergeArguments {
  std::string folder;
  bool overwrite = false;
  bool json = false;
};

Result<int> run(const MergeArguments& arguments) {
  DOVETAIL_TRY(check_local(arguments.folder));
  const auto start = std::chrono::steady_clock::now();
  DOVETAIL_ASSIGN(ConvertReport report, merge(arguments.folder, arguments.overwrite));
  ConvertSummary summary;
  summary.report = std::move(report);
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return print(arguments.json ? to_line(to_json(summary)) : to_text(summary));
}

}  // namespace

void add_merge(CommandLine& line) {
  const auto arguments = std::make_shared<MergeArguments>();
  Flags flags =
      line.subcommand("merge", "Merge the parts written by `convert --part` into one dataset",
                      {"dovetail merge parts", "dovetail merge parts --json"}, [arguments] { return run(*arguments); });
  flags.add("DIR", arguments->folder, "The folder that all the conversions wrote to").required();
  flags.add("--overwrite", arguments->overwrite, "Replace an existing dataset");
  add_json(flags, arguments->json);
}

}  // namespace dovetail::tools
