// SPDX-License-Identifier: Apache-2.0
#include "bench/delivery_json.h"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>

#include "bench/processes.h"

namespace dovetail::bench {

namespace {

namespace json = boost::json;

template <class Value>
double median(const std::vector<Measured>& rounds, const Value& value) {
  std::vector<double> values;
  for (const Measured& measured : rounds) values.push_back(value(measured));
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Median, least and most of the rounds.
template <class Value>
json::object spread(const std::vector<Measured>& rounds, const Value& value) {
  const auto below = [&](const Measured& a, const Measured& b) { return value(a) < value(b); };
  const auto [least, most] = std::minmax_element(rounds.begin(), rounds.end(), below);
  return {{"median", median(rounds, value)}, {"min", value(*least)}, {"max", value(*most)}};
}

double rate_of(const Measured& measured) {
  return measured.bytes_per_second_with_opening;  // limits have no first batch
}
double cpu_of(const Measured& measured) {
  return measured.cpu_seconds_per_gb;
}

json::object to_json(const Cell& cell) {
  json::object object{{"task", cell.task},
                      {"form", to_string(cell.form)},
                      {"mode", to_string(cell.mode)},
                      {"cache", cell.cold ? "cold" : "warm"}};
  if (cell.limit != nullptr) {
    object["what"] = cell.limit->what;
    object["counts"] = cell.limit->counts;
  } else {
    object["epochs"] = cell.epochs;
  }
  if (cell.rounds.empty()) {
    object["skipped"] = cell.skipped;
    return object;
  }
  const auto put = [&](const char* name, const auto& value) { object[name] = spread(cell.rounds, value); };
  put("other_load", [](const Measured& m) { return m.other_load; });
  put("cpu_seconds_per_gb", cpu_of);
  if (cell.limit != nullptr) {
    put("bytes_per_second", rate_of);
    return object;
  }
  put("bytes_per_second", [](const Measured& m) { return m.bytes_per_second; });
  put("bytes_per_second_with_opening", [](const Measured& m) { return m.bytes_per_second_with_opening; });
  put("rows_per_second", [](const Measured& m) { return m.rows_per_second; });
  put("first_batch_seconds", [](const Measured& m) { return m.first_batch_seconds; });
  put("longest_gap_seconds", [](const Measured& m) { return m.longest_gap_seconds; });
  put("p999_gap_seconds", [](const Measured& m) { return m.p999_gap_seconds; });
  put("peak_rss_mib", [](const Measured& m) { return static_cast<double>(m.peak_rss_kib) / 1024; });
  json::array rounds;
  for (const Measured& measured : cell.rounds) {
    json::array outcomes;
    for (const Outcome& outcome : measured.outcomes) {
      json::object one = json::value_from(outcome).as_object();
      one.erase("error");
      if (outcome.stats.empty()) {
        one.erase("stats");
      } else {
        one["stats"] = json::parse(outcome.stats);
      }
      outcomes.push_back(std::move(one));
    }
    rounds.push_back(std::move(outcomes));
  }
  object["rounds"] = std::move(rounds);
  return object;
}

/// A part in medians.
struct Part {
  std::string limit;
  double bytes_per_second = 0;
  double cpu_seconds_per_gb = 0;
};

json::object to_json(const Part& part, double share) {
  return {{"limit", part.limit},
          {"bytes_per_second", part.bytes_per_second},
          {"cpu_seconds_per_gb", part.cpu_seconds_per_gb},
          {"share", share}};
}

/// The fastest of the limits that `names` lists, measured with data of this form or, where it does
/// not depend on the form, with stored data.
std::optional<Part> fastest(const WorkloadResult& result, std::string names, Form form, Mode mode) {
  std::optional<Part> best;
  names += '|';
  for (std::size_t begin = 0, end; (end = names.find('|', begin)) != std::string::npos; begin = end + 1) {
    const std::string name = names.substr(begin, end - begin);
    for (const Form measured_with : {form, Form::stored}) {
      const auto cell = std::find_if(result.cells.begin(), result.cells.end(), [&](const Cell& candidate) {
        return candidate.task == name && candidate.form == measured_with && candidate.mode == mode &&
               !candidate.rounds.empty();
      });
      if (cell == result.cells.end()) continue;
      const double rate = median(cell->rounds, rate_of);
      if (!best || rate > best->bytes_per_second) best = {name, rate, median(cell->rounds, cpu_of)};
      break;
    }
  }
  return best;
}

/// What the parts allow that every byte has to pass: 1 / sum(share / rate), and the time of
/// processors that they take. From cold storage, reading goes on beside all else: the slower of the
/// two is the limit.
std::optional<json::object> composed(const WorkloadResult& result, Form form, Mode mode, bool cold) {
  const auto data = result.data.find(form);
  if (data == result.data.end()) return std::nullopt;
  const double stored = static_cast<double>(data->second.file_bytes) / static_cast<double>(data->second.all.bytes);
  json::array parts;
  double seconds = 0;
  double cpu_seconds = 0;
  for (const Passage& passage : passages_of(result.name, form == Form::snappy, stored)) {
    const auto part = fastest(result, passage.limit, form, mode);
    if (!part) return std::nullopt;
    parts.push_back(to_json(*part, passage.share));
    seconds += passage.share / part->bytes_per_second;
    cpu_seconds += passage.share * part->cpu_seconds_per_gb;
  }
  double rate = 1 / seconds;
  json::object object{{"form", to_string(form)},
                      {"mode", to_string(mode)},
                      {"cache", cold ? "cold" : "warm"},
                      {"parts", std::move(parts)}};
  if (cold) {
    const auto storage = fastest(result, "cold_threads|cold_direct", form, Mode::one_process);
    if (!storage) return std::nullopt;
    object["storage"] = to_json(*storage, stored);
    rate = std::min(rate, storage->bytes_per_second / stored);
  }
  object["bytes_per_second"] = rate;
  object["cpu_seconds_per_gb"] = cpu_seconds;
  return object;
}

json::object to_json(const WorkloadResult& result) {
  json::array data;
  for (const auto& [form, of_form] : result.data) {
    data.push_back({{"form", to_string(form)},
                    {"files", of_form.files.size()},
                    {"file_bytes", of_form.file_bytes},
                    {"payload_bytes", of_form.all.bytes}});
  }
  json::array contestants;
  json::array limits;
  for (const Cell& cell : result.cells) (cell.limit == nullptr ? contestants : limits).push_back(to_json(cell));
  json::array together;
  for (const Form form : {Form::stored, Form::snappy}) {
    for (const Mode mode : {Mode::two_processes, Mode::one_core}) {
      for (const bool cold : {false, true}) {
        if (auto limit = composed(result, form, mode, cold)) together.push_back(std::move(*limit));
      }
    }
  }
  return {{"name", result.name},  {"records", result.records},   {"data", std::move(data)},
          {"cells", contestants}, {"limits", std::move(limits)}, {"composed", std::move(together)}};
}

json::object machine() {
  utsname kernel{};
  ::uname(&kernel);
  std::string model;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; model.empty() && std::getline(info, line);) {
    if (line.starts_with("model name")) model = line.substr(line.find(':') + 2);
  }
  return {{"processor", model}, {"usable_cpus", usable_cpus().size()}, {"kernel", kernel.release}};
}

}  // namespace

std::string to_json(const Settings& settings, const std::vector<WorkloadResult>& results) {
  json::array workloads;
  for (const WorkloadResult& result : results) workloads.push_back(to_json(result));
  const json::object all{{"machine", machine()},
                         {"settings",
                          {{"scale", settings.data.scale},
                           {"run_bytes", settings.data.run_bytes},
                           {"block_bytes", settings.data.block_bytes},
                           {"rounds", settings.rounds},
                           {"cold_rounds", settings.cold_rounds},
                           {"warmups", settings.warmups},
                           {"bytes", settings.bytes},
                           {"reader_options", json::value_from(settings.reader_options)},
                           {"consumer", "sums the first eight bytes of every row, then releases the batch"}}},
                         {"workloads", std::move(workloads)}};
  return json::serialize(all) + '\n';
}

}  // namespace dovetail::bench
