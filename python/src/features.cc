// SPDX-License-Identifier: Apache-2.0
// Statistics of the features of a dataset's records.
#include "python/src/bindings.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include <dovetail/features.h>
#include <pybind11/stl.h>

#include "python/src/interruptible.h"
#include "python/src/option_table.h"
#include "python/src/text.h"

namespace dovetail::python {

namespace {

py::object value_of(ValueKind kind, const std::string& text) {
  if (kind == ValueKind::bytes) return py::bytes(text);
  if (kind == ValueKind::floats) return py::float_(py::str(text));
  return py::int_(py::str(text));
}

/// A bound of values: a float if the values are floats, else an int.
py::object end_of(ValueKind kind, double number, std::int64_t whole) {
  return kind == ValueKind::floats ? py::object(py::float_(number)) : py::object(py::int_(whole));
}

py::object to_object(const FeatureStats& stats) {
  py::dict dict;
  dict["name"] = message_text(stats.name);
  dict["kind"] = to_text(stats.kind);
  dict["records"] = stats.records;
  dict["empty_lists"] = stats.empty_lists;
  dict["values"] = stats.values;
  dict["least_values"] = stats.least_values;
  dict["mean_values"] = stats.mean_values();
  dict["most_values"] = stats.most_values;
  const bool numbers = !stats.histogram.counts.empty();
  dict["least"] = numbers ? end_of(stats.kind, stats.least, stats.least_int) : py::none();
  dict["mean"] = numbers ? py::object(py::float_(stats.mean)) : py::none();
  dict["most"] = numbers ? end_of(stats.kind, stats.most, stats.most_int) : py::none();
  dict["nans"] = stats.nans;
  dict["infinities"] = stats.infinities;
  dict["distinct"] = stats.distinct;
  dict["distinct_error"] = stats.distinct_error;
  py::list top;
  for (const TopValue& value : stats.top) top.append(py::make_tuple(value_of(stats.kind, value.value), value.count));
  dict["top"] = py::tuple(top);
  dict["top_estimated"] = stats.top_estimated;
  dict["histogram"] =
      call_object(import_module("dovetail._features").attr("Histogram"), stats.histogram.from, stats.histogram.to,
                  py::tuple(py::cast(stats.histogram.counts)), stats.histogram.estimated);
  return make_object("dovetail._features", "FeatureStats", dict);
}

py::object error_or_none(const std::optional<Error>& error) {
  return error.has_value() ? to_exception(*error) : py::object(py::none());
}

}  // namespace

py::object describe_features(const Dataset& dataset, const py::object& threads, const py::object& max_records) {
  FeatureOptions options;
  options.threads = to_option<unsigned>("threads", threads);
  options.max_records = to_option<std::uint64_t>("max_records", max_records);
  const FeaturesReport report = run_interruptibly([&](const std::atomic<bool>& cancel) {
    options.cancelled = [&cancel] { return cancel.load(); };
    return dovetail::describe_features(dataset, options);
  });
  py::dict dict;
  dict["records"] = report.records;
  dict["examples"] = report.examples;
  dict["json_objects"] = report.json_objects;
  dict["first_other"] = error_or_none(report.first_other);
  dict["damaged_blocks"] = report.damaged_blocks;
  dict["lost_records"] = report.lost_records;
  dict["first_damage"] = error_or_none(report.first_damage);
  dict["names_left_out"] = report.names_left_out;
  dict["columns"] =
      report.schema.columns.empty() ? py::object(py::none()) : py::object(message_text(to_text(report.schema)));
  py::list without;
  for (const std::string& name : report.without_column) without.append(message_text(name));
  dict["without_column"] = py::tuple(without);
  py::list features;
  for (const FeatureStats& stats : report.features) features.append(to_object(stats));
  dict["features"] = py::tuple(features);
  return make_object("dovetail._features", "FeaturesReport", dict);
}

}  // namespace dovetail::python
