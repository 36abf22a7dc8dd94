// SPDX-License-Identifier: Apache-2.0
// Reads epoch after epoch, and then looks whether the process has grown: `soak --minutes 60`, or
// `make soak`.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tests/reader/delivery/sample_dataset.h"
#include "tests/soak/footprint.h"
#include "tests/soak/soak_work.h"

namespace dovetail::test {
namespace {

using Clock = std::chrono::steady_clock;

/// For closed rings of which the kernel still has memory pinned: on a busy machine, half a second.
/// Only a round that has lost pinned memory waits as long as the second.
constexpr std::chrono::seconds kSettling(1);
constexpr std::chrono::seconds kSettlingAtMost(5);

struct SoakOptions {
  double minutes = 0;
  std::size_t rounds = kFewestSamples;
  std::uint64_t seed = 1;
  Leak leak = Leak::none;
  std::string samples;  ///< A file for them, or none.
};

void write_samples(const std::string& path, const std::vector<Footprint>& samples) {
  std::ofstream file(path);
  file << "round,resident,heap,pinned,mappings,descriptors,threads\n";
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Footprint& at = samples[i];
    file << i << ',' << at.resident << ',' << at.heap << ',' << at.pinned << ',' << at.mappings << ',' << at.descriptors
         << ',' << at.threads << '\n';
  }
}

int soak(const SoakOptions& options) {
  const TempFolder folder;
  SoakWork work(make_soak_data(folder.path()), options.seed, options.leak);
  std::string kinds;
  for (const StorageKind kind : work.kinds()) kinds += " " + std::string(to_string(kind));
  std::printf("seed %llu; storage:%s\n", static_cast<unsigned long long>(options.seed), kinds.c_str());
  std::vector<Footprint> samples;
  samples.reserve(1 << 16);  // its pages are touched as it fills, which is 48 bytes a round
  const Clock::time_point began = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  std::int64_t pinned = Footprint::settled(0, kSettling).pinned;  // by the readers that stay
  double told = 0;
  while (samples.size() < options.rounds || elapsed() < options.minutes * 60) {
    try {
      work.round();
    } catch (const std::exception& failure) {
      std::printf("round %zu: %s\n", samples.size(), failure.what());
      return 1;
    }
    samples.push_back(Footprint::settled(pinned + work.locked(), kSettlingAtMost));
    pinned = std::min(pinned, samples.back().pinned - work.locked());
    if (elapsed() > told + 60) {
      told = elapsed();
      std::printf("%.0f s: %zu rounds, resident %lld KiB, heap %lld KiB\n", told, samples.size(),
                  static_cast<long long>(samples.back().resident >> 10),
                  static_cast<long long>(samples.back().heap >> 10));
      std::fflush(stdout);
    }
  }
  const auto rounds = static_cast<unsigned long long>(samples.size());
  std::printf("%.0f s: %llu rounds, %llu readers, %llu epochs, %llu batches, %llu rows, %llu of them lost\n", elapsed(),
              rounds, static_cast<unsigned long long>(work.readers()), static_cast<unsigned long long>(work.epochs()),
              static_cast<unsigned long long>(work.delivered().batches),
              static_cast<unsigned long long>(work.delivered().rows),
              static_cast<unsigned long long>(work.delivered().lost));
  if (!options.samples.empty()) write_samples(options.samples, samples);
  const GrowthReport report = report_growth(samples);
  std::printf("%s%s\n", report.text.c_str(), report.grown ? "grown" : "nothing has grown");
  return report.grown ? 2 : 0;
}

}  // namespace
}  // namespace dovetail::test

int main(int argc, char** argv) {
  using dovetail::test::Leak;
  dovetail::test::SoakOptions options;
  CLI::App app(
      "Reads epoch after epoch and checks every row; ends with 1 for a wrong one, and with 2 if the process has "
      "grown.");
  app.add_option("--minutes", options.minutes, "how long at least");
  app.add_option("--rounds", options.rounds, "how many rounds at least")
      ->check(CLI::Range(dovetail::test::kFewestSamples, std::size_t{1} << 40));
  app.add_option("--seed", options.seed, "what draws the options of readers");
  app.add_option("--samples", options.samples, "file for what the process took after each round, as CSV");
  const std::map<std::string, Leak> leaks{{"none", Leak::none}, {"bytes", Leak::bytes}, {"handles", Leak::handles}};
  app.add_option("--leak", options.leak, "what is lost on purpose")->transform(CLI::CheckedTransformer(leaks));
  CLI11_PARSE(app, argc, argv);
  try {
    return dovetail::test::soak(options);
  } catch (const std::exception& failure) {
    std::printf("%s\n", failure.what());
    return 1;
  }
}
