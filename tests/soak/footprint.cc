// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/footprint.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/advice.h"
#include "tests/support/sanitizers.h"

extern "C" std::size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));

namespace dovetail::test {

namespace {

std::int64_t entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

std::int64_t own_threads() {
  std::int64_t count = 0;
  for (const std::filesystem::directory_entry& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    if (std::getline(std::ifstream(task.path() / "comm"), name) && !name.starts_with("iou-")) ++count;
  }
  return count;
}

/// A line of /proc/self/status that counts KiB.
std::int64_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1)) << 10;
  }
  return 0;
}

std::int64_t pinned_bytes() {
  return status_bytes("VmLck") + status_bytes("VmPin");
}

std::int64_t heap_bytes() {
  if (kSanitized) {
    return __sanitizer_get_current_allocated_bytes == nullptr
               ? 0
               : static_cast<std::int64_t>(__sanitizer_get_current_allocated_bytes());
  }
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

}  // namespace

Footprint Footprint::now() {
  Footprint now;
  now.heap = heap_bytes();  // before the rest allocates
  static const bool is_given_back = !kSanitized && !takes_any_advice();
  now.resident = is_given_back ? status_bytes("VmRSS") : 0;
  now.pinned = pinned_bytes();
  std::ifstream maps("/proc/self/maps");
  now.mappings = kSanitized ? 0 : std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  now.descriptors = entries("/proc/self/fd");
  now.threads = own_threads();
  return now;
}

Footprint Footprint::settled(std::int64_t pinned, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (pinned_bytes() > pinned && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return now();
}

Growth growth_of(const Measure& measure, std::span<const Footprint> samples) {
  const std::size_t quarter = samples.size() / 4;
  const auto range = [&](std::span<const Footprint> part) {
    const auto [least, most] =
        std::minmax_element(part.begin(), part.end(),
                            [&](const Footprint& a, const Footprint& b) { return a.*measure.of < b.*measure.of; });
    return std::pair(*least.*measure.of, *most.*measure.of);
  };
  const auto [early_least, early_most] = range(samples.subspan(quarter, quarter));
  const auto [late_least, late_most] = range(samples.last(quarter));
  return {.second_quarter_most = early_most,
          .last_quarter_least = late_least,
          .last_quarter_most = late_most,
          .hidden_at_most = (early_most - early_least) + (late_most - late_least) + measure.tolerance,
          .grown = late_least - early_most > measure.tolerance};
}

GrowthReport report_growth(std::span<const Footprint> samples) {
  GrowthReport report;
  char line[160];
  std::snprintf(line, sizeof(line), "%-16s %14s %14s %14s %12s\n", "", "2nd most", "last least", "last most",
                "could hide");
  report.text = line;
  for (const Measure& measure : kMeasures) {
    const Growth growth = growth_of(measure, samples);
    std::snprintf(line, sizeof(line), "%-16s %14lld %14lld %14lld %12lld%s\n", measure.name,
                  static_cast<long long>(growth.second_quarter_most), static_cast<long long>(growth.last_quarter_least),
                  static_cast<long long>(growth.last_quarter_most), static_cast<long long>(growth.hidden_at_most),
                  growth.grown ? "  HAS GROWN" : "");
    report.text += line;
    report.grown = report.grown || growth.grown;
  }
  return report;
}

}  // namespace dovetail::test
