// SPDX-License-Identifier: Apache-2.0
#include "bench/transfer_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace dovetail::bench {

namespace {

namespace json = boost::json;

/// Needs: at least one.
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

template <class Round, class Value>
std::vector<double> values_of(const std::vector<Round>& rounds, const Value& value) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(value(round));
  return values;
}

double rate_of(const Transfer& transfer) {
  return transfer.bytes_per_second();
}
double idle_of(const Consumption& consumption) {
  return consumption.idle();
}

/// Rounds are interleaved, so what disturbs one disturbs its neighbour.
double ratio_of(const SizeResult& size) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < size.plain.size(); ++round) {
    ratios.push_back(size.replayed[round].bytes_per_second() / size.plain[round].bytes_per_second());
  }
  return median(std::move(ratios));
}

/// Calls of all rounds, and the batches that they were counted over.
std::pair<CallCounts, std::uint64_t> calls_of(const std::vector<Transfer>& rounds) {
  std::pair<CallCounts, std::uint64_t> sum;
  for (const Transfer& round : rounds) {
    for (const auto& [name, calls] : round.calls) sum.first[name] += calls;
    sum.second += round.batches;
  }
  return sum;
}

/// A pool may still grow to what is in use at once; nothing else may be called at all.
std::uint64_t allowed_calls(const std::string& call, std::uint64_t batches) {
  return grows_a_pool(call) ? std::max<std::uint64_t>(16, batches / 100) : 0;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes % (1ull << 30) == 0) return std::to_string(bytes >> 30) + " GiB";
  if (bytes % (1ull << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes >> 10) + " KiB";
}

std::string number(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

json::object spread(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {{"median", median(values)}, {"min", *least}, {"max", *most}};
}

json::object calls_json(const std::vector<Transfer>& rounds) {
  const auto [calls, batches] = calls_of(rounds);
  json::object object{{"batches", batches}};
  for (const auto& [name, count] : calls) object[name] = count;
  return object;
}

json::object to_json(const SizeResult& size) {
  return {{"batch_bytes", size.batch_bytes},
          {"slab_bytes", size.slab_bytes},
          {"ring", size.ring},
          {"device_slabs", size.slabs},
          {"plain_bytes_per_second", spread(values_of(size.plain, rate_of))},
          {"replayed_bytes_per_second", spread(values_of(size.replayed, rate_of))},
          {"replayed_to_plain", ratio_of(size)},
          {"read_bytes_per_second", spread(values_of(size.read, rate_of))},
          {"plain_idle", spread(values_of(size.plain_consumed, idle_of))},
          {"idle", spread(values_of(size.consumed, idle_of))},
          {"replayed_calls", calls_json(size.replayed)},
          {"read_calls", calls_json(size.read)}};
}

json::object to_json(const RegistrationCost& cost) {
  json::object object{{"how", cost.how}, {"threads", cost.threads}, {"bytes", cost.bytes}};
  if (cost.seconds.empty()) {
    object["skipped"] = cost.skipped;
  } else {
    object["seconds"] = spread(cost.seconds);
  }
  return object;
}

void print_calls(const char* what, const std::vector<Transfer>& rounds) {
  const auto [calls, batches] = calls_of(rounds);
  std::printf("  %s, %llu batches:", what, static_cast<unsigned long long>(batches));
  bool any = false;
  for (const auto& [name, count] : calls) {
    if (count > 0) std::printf(" %s %llu", name.c_str(), static_cast<unsigned long long>(count));
    any = any || count > 0;
  }
  std::printf(any ? "\n" : " none\n");
}

void expect_no_calls(const SizeResult& size, const char* what, const std::vector<Transfer>& rounds,
                     std::vector<std::string>& lines) {
  const auto [calls, batches] = calls_of(rounds);
  for (const auto& [name, count] : calls) {
    if (count <= allowed_calls(name, batches)) continue;
    lines.push_back(size_text(size.batch_bytes) + ", " + what + ": " + name + " was called " + std::to_string(count) +
                    " times in " + std::to_string(batches) + " batches");
  }
}

}  // namespace

void print(const TransferReport& report) {
  std::printf("%s, driver for CUDA %s, runtime %s; medians of %u rounds\n\n", report.device.c_str(),
              report.driver.c_str(), report.runtime.c_str(), report.rounds);
  std::printf("%8s | %10s %13s %7s | %9s | %11s %8s\n", "batch", "plain GB/s", "replayed GB/s", "ratio", "read GB/s",
              "plain idle", "idle");
  for (const SizeResult& size : report.sizes) {
    std::printf("%8s | %10.2f %13.2f %7.3f | %9.2f | %9.2f %% %6.2f %%\n", size_text(size.batch_bytes).c_str(),
                median(values_of(size.plain, rate_of)) / 1e9, median(values_of(size.replayed, rate_of)) / 1e9,
                ratio_of(size), median(values_of(size.read, rate_of)) / 1e9,
                100 * median(values_of(size.plain_consumed, idle_of)), 100 * median(values_of(size.consumed, idle_of)));
  }
  std::printf("\nCalls that allocate, register or wait\n");
  for (const SizeResult& size : report.sizes) {
    const std::string text = size_text(size.batch_bytes);
    print_calls((text + " replayed").c_str(), size.replayed);
    print_calls((text + " read").c_str(), size.read);
  }
  std::printf("\n%-14s %7s %8s | %8s %9s\n", "registration", "threads", "size", "seconds", "s per GiB");
  for (const RegistrationCost& cost : report.registration) {
    std::printf("%-14s %7u %8s | ", cost.how.c_str(), cost.threads, size_text(cost.bytes).c_str());
    if (cost.seconds.empty()) {
      std::printf("%s\n", cost.skipped.c_str());
      continue;
    }
    const double seconds = median(cost.seconds);
    std::printf("%8.3f %9.3f\n", seconds, seconds / (static_cast<double>(cost.bytes) / (1ull << 30)));
  }
  std::fflush(stdout);
}

std::string to_json(const TransferReport& report) {
  json::array sizes;
  for (const SizeResult& size : report.sizes) sizes.push_back(to_json(size));
  json::array registration;
  for (const RegistrationCost& cost : report.registration) registration.push_back(to_json(cost));
  json::array lines;
  for (const std::string& line : missed(report)) lines.push_back(json::string(line));
  const json::object all{{"device", report.device},
                         {"driver", report.driver},
                         {"runtime", report.runtime},
                         {"rounds", report.rounds},
                         {"data_bytes", report.data_bytes},
                         {"goals",
                          {{"replayed_to_plain", report.goals.ratio},
                           {"idle", report.goals.idle},
                           {"from_bytes", report.goals.from_bytes}}},
                         {"sizes", std::move(sizes)},
                         {"registration", std::move(registration)},
                         {"missed", std::move(lines)}};
  return json::serialize(all) + '\n';
}

std::vector<std::string> missed(const TransferReport& report) {
  std::vector<std::string> lines;
  for (const SizeResult& size : report.sizes) {
    expect_no_calls(size, "replayed", size.replayed, lines);
    expect_no_calls(size, "read", size.read, lines);
    if (size.batch_bytes < report.goals.from_bytes) continue;
    const std::string text = size_text(size.batch_bytes);
    if (const double ratio = ratio_of(size); !(ratio >= report.goals.ratio)) {
      lines.push_back(text + ": replayed batches come at " + number(ratio, 3) + " of the plain loop's rate, not " +
                      number(report.goals.ratio, 2));
    }
    if (const double idle = median(values_of(size.consumed, idle_of)); !(idle <= report.goals.idle)) {
      lines.push_back(text + ": the device is idle for " + number(100 * idle, 2) + " % of the time, not " +
                      number(100 * report.goals.idle, 1));
    }
  }
  return lines;
}

}  // namespace dovetail::bench
