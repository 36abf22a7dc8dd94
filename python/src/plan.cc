// SPDX-License-Identifier: Apache-2.0
#include <dovetail/plan.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/gathered.h>
#include <dovetail/state.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "format/text/count_of.h"
#include "python/src/arguments.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/gil.h"
#include "python/src/mixing.h"
#include "python/src/option_table.h"
#include "python/src/options.h"

namespace dovetail::python {

namespace {

using Ids = py::array_t<std::uint64_t, py::array::c_style | py::array::forcecast>;
using Statuses = py::array_t<std::uint8_t, py::array::c_style | py::array::forcecast>;

PlanOptions plan_options(const py::dict& given) {
  PlanOptions options;
  set_options(options, given);
  return options;
}

Plan make_plan(const Dataset& dataset, const py::dict& given) {
  const PlanOptions options = plan_options(given);
  const Unlocked unlocked;
  return Plan::make(dataset.shape(), options).value();
}

/// Options that are not given come from the state.
Plan resume_plan(const Dataset& dataset, const py::object& text, const py::dict& given) {
  const State state = State::from_text(to_utf8("a state", text)).value();
  const PlanOptions asked = plan_options(given);
  PlanOptions options = state.options(asked.world, asked.batch);
  set_options(options, given);
  const Unlocked unlocked;
  return Plan::resume(dataset.shape(), options, state).value();
}

void check_rank(const Plan& plan, std::uint32_t rank) {
  if (rank < plan.options().world) return;
  refuse("rank=" + std::to_string(rank) + " of a world of " + std::to_string(plan.options().world));
}

/// Epochs of different lengths are planned one by one. That takes a while for many epochs, so
/// signals are handled meanwhile.
std::uint64_t total_steps(const Plan& plan, std::uint32_t epochs) {
  if (plan.options().assign != Assign::files) return plan.total_steps(epochs).value();
  PlanOptions options = plan.options();
  options.lanes = plan.lanes();
  std::optional<Plan> fresh;  // without the changes of world
  std::uint64_t total = 0;
  for (std::uint32_t epoch = 0; epoch < epochs;) {
    {
      const Unlocked unlocked;
      if (!fresh.has_value()) fresh = Plan::make(std::make_shared<const DatasetShape>(plan.dataset()), options).value();
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
      while (epoch < epochs && std::chrono::steady_clock::now() < until) total += fresh->steps(epoch++).value();
    }
    if (call_python(PyErr_CheckSignals) != 0) throw py::error_already_set();
  }
  return total;
}

/// The ids and statuses of a rank's rows in a step.
py::tuple planned_rows(const Plan& plan, std::uint32_t epoch, std::uint64_t step, std::uint32_t rank) {
  need_numpy();
  check_rank(plan, rank);
  const EpochPlan planned = plan.epoch(epoch).value();
  if (step < planned.first_step() || step >= planned.steps()) {
    refuse("step=" + std::to_string(step) + ": the steps of epoch " + std::to_string(epoch) + " are range(" +
           std::to_string(planned.first_step()) + ", " + std::to_string(planned.steps()) + ")");
  }
  const std::size_t rows = plan.options().batch;
  auto ids = new_array<std::uint64_t>(rows);
  auto status = new_array<std::uint8_t>(rows);
  std::uint64_t* id = ids.mutable_data();
  std::uint8_t* of_row = status.mutable_data();
  std::vector<Pick> picks(planned.rows_per_lane());
  for (std::uint32_t lane = 0; lane < planned.lanes_per_rank(); ++lane) {
    LaneCursor cursor = planned.lane(planned.first_lane(rank) + lane).cursor(planned.first_output(step));
    cursor.next(picks);
    for (const Pick& pick : picks) {
      const PlannedRecord record = cursor.record(pick);
      *id++ = record.id;
      *of_row++ = static_cast<std::uint8_t>(record.status);
    }
  }
  return py::make_tuple(ids, status);
}

/// Requires whole numbers in a range: a fraction is no id, and no number may be converted to
/// another one.
template <class Numbers>
Numbers whole_numbers(const char* name, const py::object& given, const py::int_& least, const py::int_& most) {
  need_numpy();
  const py::array array = py::array::ensure(given);
  if (!array) throw py::type_error(std::string(name) + " must be an array, or convertible to one");
  const char kind = array.dtype().kind();
  if (array.size() > 0 && kind != 'u' && kind != 'i') {
    throw py::type_error(std::string(name) + " must be whole numbers, not " + std::string(py::repr(array.dtype())));
  }
  if (array.ndim() != 1) refuse(std::string(name) + " must have one dimension, not " + std::to_string(array.ndim()));
  if (array.size() > 0) {
    const py::int_ smallest = array.attr("min")();
    const py::int_ largest = array.attr("max")();
    if (smallest < least || largest > most) {
      refuse(std::string(name) + " must be " + std::string(py::repr(least)) + " to " + std::string(py::repr(most)) +
             ", but it has " + std::string(py::repr(smallest < least ? smallest : largest)));
    }
  }
  return Numbers(array);
}

/// The ids of rows, and a status for each.
struct RowArrays {
  RowArrays(const py::object& given_ids, const py::object& given_status)
      // -1 is NO_ID in the tensors of frameworks.
      : ids(whole_numbers<Ids>("ids", given_ids, -1, py::int_(kNoId))),
        status(whole_numbers<Statuses>("status", given_status, 0, kRowStatuses - 1)) {
    if (ids.size() == status.size()) return;
    refuse(std::to_string(ids.size()) + " ids, but " + std::to_string(status.size()) + " statuses");
  }

  Ids ids;
  Statuses status;
};

std::span<const RowStatus> statuses_of(const Statuses& status) {
  return {reinterpret_cast<const RowStatus*>(status.data()), static_cast<std::size_t>(status.size())};
}

std::string digest(const py::object& given_ids, const py::object& given_status) {
  const RowArrays given(given_ids, given_status);
  Hash128 sum;
  const std::span<const RowStatus> of_rows = statuses_of(given.status);
  const std::uint64_t* const ids = given.ids.data();
  const Unlocked unlocked;
  for (std::size_t row = 0; row < of_rows.size(); ++row) {
    if (is_counted(of_rows[row])) sum += record_digest(ids[row]);
  }
  return sum.to_hex();
}

std::string add_digests(const py::object& digests) {
  Hash128 sum;
  for (const py::object& each : to_items("digests", digests, "a list of digests"))
    sum += Hash128::from_hex(to_utf8("a digest", each)).value();
  return sum.to_hex();
}

py::array_t<std::uint64_t> to_array(std::span<const std::uint64_t> numbers) {
  auto array = new_array<std::uint64_t>(numbers.size());
  std::copy(numbers.begin(), numbers.end(), array.mutable_data());
  return array;
}

py::tuple gathered_rows(const py::object& records_given, const py::object& given_ids, const py::object& given_status) {
  const auto records = to_option<std::uint64_t>("records", records_given);
  const RowArrays given(given_ids, given_status);
  const std::span ids(given.ids.data(), static_cast<std::size_t>(given.ids.size()));
  const GatheredRows placed = [&] {
    const Unlocked unlocked;
    return GatheredRows::place(records, ids, statuses_of(given.status)).value();
  }();
  return py::make_tuple(to_array(placed.rows()), to_array(placed.damaged()));
}

}  // namespace

void bind_plan(py::module_& module) {
  py::class_<EpochPlan>(
      module, "EpochPlan",
      R"(Counts of one epoch, the same on every rank. `rows` = `delivered` plus the repeated and empty ones.)")
      .def_property_readonly("epoch", &EpochPlan::epoch, R"(Its number.)")
      .def_property_readonly("steps", &EpochPlan::steps, R"(Steps, the same on every rank.)")
      .def_property_readonly("first_step", &EpochPlan::first_step,
                             R"(The first step, if the epoch continues in another world; else 0.)")
      .def_property_readonly("records", &EpochPlan::records, R"(Records of the dataset.)")
      .def_property_readonly("rows", &EpochPlan::rows, R"(Rows of all ranks.)")
      .def_property_readonly("delivered", &EpochPlan::delivered, R"(Rows that hold a record for the first time.)")
      .def_property_readonly("dropped", &EpochPlan::dropped, R"(Records left out, so that all steps are full.)")
      .def_property_readonly("padded", &EpochPlan::padded,
                             R"(Rows that are empty or repeated, so that all steps are full.)")
      .def_property_readonly("lanes", &EpochPlan::lanes, R"(Ordered streams.)")
      .def_property_readonly(
          "digest",
          py::cpp_function([](const EpochPlan& plan) { return plan.digest().to_hex(); }, py::call_guard<Unlocked>()),
          R"(32 hex digits: what `digest()` of all rows of all ranks must add up to.)")
      .def("__repr__", [](const EpochPlan& plan) {
        return "<EpochPlan " + std::to_string(plan.epoch()) + ": " + format::count_of(plan.steps(), "step") + " of " +
               std::to_string(plan.records()) + " records, " + std::to_string(plan.dropped()) + " dropped, " +
               std::to_string(plan.padded()) + " rows padded>";
      });

  py::class_<Plan>(module, "Plan", R"(The base of dovetail.Plan.)")
      .def(py::init(&make_plan), py::arg("dataset"), py::arg("options"))
      .def_static("resume", resume_plan, py::arg("dataset"), py::arg("state"), py::arg("options"))
      .def_property_readonly("options", [](const Plan& plan) { return to_dict(plan.options()); })
      .def_property_readonly("records", &Plan::records)
      .def_property_readonly("plan_id", [](const Plan& plan) { return plan.plan_id().to_hex(); })
      .def_property_readonly("order_id", [](const Plan& plan) { return plan.order_id().to_hex(); })
      .def_property_readonly("start",
                             [](const Plan& plan) { return py::make_tuple(plan.start().epoch, plan.start().step); })
      .def("plan_checksum", [](const Plan& plan) { return static_cast<std::int64_t>(plan.plan_checksum()); })
      .def(
          "epoch", [](const Plan& plan, std::uint32_t epoch) { return plan.epoch(epoch).value(); },
          py::arg("epoch") = 0, py::call_guard<Unlocked>())
      .def(
          "steps", [](const Plan& plan, std::uint32_t epoch) { return plan.steps(epoch).value(); },
          py::arg("epoch") = 0, py::call_guard<Unlocked>())
      .def("total_steps", total_steps, py::arg("epochs"))
      .def(
          "state",
          [](const Plan& plan, std::uint32_t epoch, std::uint64_t step) {
            return plan.state({epoch, step}).value().to_text();
          },
          py::arg("epoch"), py::arg("step") = 0)
      .def("shuffle_report", shuffle_report, py::arg("epoch") = 0)
      .def("rows", planned_rows, py::arg("epoch"), py::arg("step"), py::arg("rank") = 0);

  module.def("digest", digest, py::arg("ids"), py::arg("status"),
             R"(A sum over the planned ids of the rows that count, in any order.

Args:
    ids, status: those of rows, of one dimension.

Returns:
    32 hex digits. `add_digests` of all ranks' equals `EpochPlan.digest` if every planned row came once. Damaged rows
    keep their planned ids and count: check that none of `status` is `SUBSTITUTED` or `DAMAGED`.)");
  module.def("add_digests", add_digests, py::arg("digests"), R"(The sum of digests, 32 hex digits.)");
  module.def("gathered_rows", gathered_rows, py::arg("records"), py::arg("ids"), py::arg("status"),
             R"(Puts rows of all ranks, as an all-gather leaves them, into the order of the dataset.

Args:
    records: of the dataset.
    ids, status: of all rows, of one dimension. An id of -1 is `NO_ID`, as in tensors.

Returns:
    (rows, damaged): uint64 [records], the row of each record; and the ids of those that are damaged.

Raises:
    UsageError: where a record is missing or there twice; it names it.)");
}

}  // namespace dovetail::python
