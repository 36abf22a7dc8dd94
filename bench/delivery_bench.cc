// SPDX-License-Identifier: Apache-2.0
// How fast records are delivered, end to end: Dovetail, its peers, and what the parts allow,
// measured in turn on the same processors with the same data.
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/delivery_json.h"
#include "bench/delivery_matrix.h"
#include "bench/processes.h"

namespace dovetail::bench {
namespace {

int run(const Settings& settings, const std::string& out) {
  std::vector<WorkloadResult> results;
  for (const WorkloadKind kind : kWorkloads) {
    const Workload workload(kind, settings.data.scale);
    if (std::find(settings.workloads.begin(), settings.workloads.end(), workload.name()) == settings.workloads.end()) {
      continue;
    }
    results.push_back(measure(workload, settings));
  }
  const std::string json = to_json(settings, results);
  if (out.empty()) {
    std::fputs(json.c_str(), stdout);
  } else if (!(std::ofstream(out) << json << std::flush)) {
    std::fprintf(stderr, "delivery_bench: cannot write %s\n", out.c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace dovetail::bench

int main(int argc, char** argv) {
  // Processes that are measured; see processes.h.
  if (argc == 3 && std::strcmp(argv[1], "child") == 0) return dovetail::bench::run_child(argv[2]);

  dovetail::bench::Settings settings;
  std::string out;
  CLI::App app{"Measures delivery end to end, its peers, and the limits of its parts; gives JSON."};
  const auto one_of = [&](const char* name, std::vector<std::string>& value, const std::vector<std::string>& all,
                          const char* what) {
    app.add_option(name, value, what)->delimiter(',')->check(CLI::IsMember(all))->capture_default_str();
  };
  app.add_option("--data", settings.data.folder, "Folder for the data, which are made where they are missing")
      ->required();
  app.add_option("--scale", settings.data.scale, "Times the records of each workload")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--run-bytes", settings.data.run_bytes, "Bytes of a run of the shards")->capture_default_str();
  app.add_option("--block-bytes", settings.data.block_bytes, "Bytes of their blocks")->capture_default_str();
  one_of("--workloads", settings.workloads, settings.workloads, "Which workloads");
  one_of("--codecs", settings.codecs, settings.codecs, "Which codecs");
  one_of("--modes", settings.modes, {"two_processes", "one_process", "one_core"}, "How processors are shared out");
  one_of("--caches", settings.caches, settings.caches, "State of the page cache");
  app.add_flag("--all-codecs", settings.all_codecs, "Snappy for W2 as well");
  app.add_flag("!--no-peers", settings.peers, "Leave peers out");
  app.add_flag("!--no-limits", settings.limits, "Leave limits out");
  app.add_option("--rounds", settings.rounds, "Times that each warm cell is measured")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--cold-rounds", settings.cold_rounds, "The same for cold ones")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--warmups", settings.warmups, "Rounds before, which do not count")->capture_default_str();
  app.add_option("--bytes", settings.bytes,
                 "Payload of a warm measurement: as many whole epochs as this has, at least 1")
      ->capture_default_str();
  app.add_option("--limit-seconds", settings.limit_seconds, "Time for each limit in each round")->capture_default_str();
  app.add_option(
      "--reader-option", settings.reader_options,
      "name=value for the reader: storage, prefetch, max_held, memory_bytes, io_threads, decode_threads, open_runs, "
      "pool; may be repeated");
  app.add_option("--out", out, "Keep the JSON in this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return dovetail::bench::run(settings, out);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "delivery_bench: %s\n", error.what());
    return 1;
  }
}
