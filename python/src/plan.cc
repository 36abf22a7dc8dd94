// SPDX-License-Identifier: Apache-2.0
#include <dovetail/plan.h>

#include <algorithm>
#include <cstdint>
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
#include "python/src/option_table.h"
#include "python/src/options.h"

namespace dovetail::python {

namespace {

using Ids = py::array_t<std::uint64_t>;
using Statuses = py::array_t<std::uint8_t>;

Dataset to_dataset(const py::object& given) {
  const py::object dataset = py::isinstance<Dataset>(given) ? given : call_object(py::type::of<Dataset>(), given);
  return dataset.cast<Dataset>();
}

PlanOptions plan_options(const py::kwargs& given) {
  PlanOptions options;
  set_options(options, given);
  need_batch(given);
  return options;
}

Plan make_plan(const py::object& dataset, const py::kwargs& given) {
  const PlanOptions options = plan_options(given);
  const Dataset of = to_dataset(dataset);
  const Unlocked unlocked;
  return Plan::make(of.shape(), options).value();
}

/// Options that are not given come from the state.
Plan resume_plan(const py::object& dataset, const py::object& text, const py::kwargs& given) {
  const State state = to_state(text);
  const PlanOptions asked = plan_options(given);
  PlanOptions options = state.options(asked.world, asked.batch);
  set_options(options, given);
  const Dataset of = to_dataset(dataset);
  const Unlocked unlocked;
  return Plan::resume(of.shape(), options, state).value();
}

EpochPlan epoch_of(const Plan& plan, const py::object& epoch_given) {
  const auto epoch = to_option<std::uint32_t>("epoch", epoch_given);
  const Unlocked unlocked;
  return plan.epoch(epoch).value();
}

std::uint64_t steps_of(const Plan& plan, const py::object& epoch_given) {
  const auto epoch = to_option<std::uint32_t>("epoch", epoch_given);
  const Unlocked unlocked;
  return plan.steps(epoch).value();
}

std::uint64_t total_steps(const Plan& plan, const py::object& epochs_given) {
  const auto epochs = to_option<std::uint32_t>("epochs", epochs_given);
  const Unlocked unlocked;
  return plan.total_steps(epochs).value();
}

std::string shown(const Plan& plan) {
  return "<Plan " + plan.plan_id().to_hex() + ": " + std::to_string(plan.records()) + " records, world " +
         std::to_string(plan.options().world) + ", batch " + std::to_string(plan.options().batch) + '>';
}

/// The ids and statuses of a rank's rows in a step.
py::tuple planned_rows(const Plan& plan, const py::object& epoch_given, const py::object& step_given,
                       const py::object& rank_given) {
  need_numpy();
  const auto epoch = to_option<std::uint32_t>("epoch", epoch_given);
  const auto step = to_option<std::uint64_t>("step", step_given);
  const auto rank = to_option<std::uint32_t>("rank", rank_given);
  if (rank >= plan.options().world) {
    refuse("rank=" + std::to_string(rank) + " of a world of " + std::to_string(plan.options().world));
  }
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
template <class Number>
py::array_t<Number> whole_numbers(const char* name, const py::object& given, const py::int_& least,
                                  const py::int_& most) {
  need_numpy();
  const py::array array = [&] {
    try {
      return to_array(given);
    } catch (const py::error_already_set& raised) {
      // NumPy's reasons; others are of the object's code.
      if (!raised.matches(PyExc_TypeError) && !raised.matches(PyExc_ValueError)) throw;
      throw py::type_error(std::string(name) + " must be an array, or convertible to one");
    }
  }();
  const char kind = array.dtype().kind();
  if (array.size() > 0 && kind != 'u' && kind != 'i') {
    throw py::type_error(std::string(name) + " must be whole numbers, not " + std::string(py::repr(array.dtype())));
  }
  if (array.ndim() != 1) refuse(std::string(name) + " must have one dimension, not " + std::to_string(array.ndim()));
  if (array.size() > 0) {
    const py::int_ smallest = call_object(array.attr("min"));
    const py::int_ largest = call_object(array.attr("max"));
    if (smallest < least || largest > most) {
      refuse(std::string(name) + " must be " + std::string(py::repr(least)) + " to " + std::string(py::repr(most)) +
             ", but it has " + std::string(py::repr(smallest < least ? smallest : largest)));
    }
  }
  return to_array_of<Number>(array);
}

/// The ids of rows, and a status for each.
struct RowArrays {
  RowArrays(const py::object& given_ids, const py::object& given_status)
      // -1 is NO_ID in the tensors of frameworks.
      : ids(whole_numbers<std::uint64_t>("ids", given_ids, -1, py::int_(kNoId))),
        status(whole_numbers<std::uint8_t>("status", given_status, 0, kRowStatuses - 1)) {
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

constexpr const char* kPlanDoc =
    R"(Decides equal counts for every epoch. Each rank computes the plan alone, without reading a file.

Args:
    dataset: a `Dataset`, or the path of one.
    batch: rows per rank and step.
    world: number of ranks, 1 by default.
    order: "shuffle" (default), "sequential" (dataset order, for evaluation) or "global" (a permutation of all records).
    tail: handling of records that do not fill a last step: "drop" (default), "pad" (missing rows are empty and marked)
        or "wrap".
    seed: the same on all ranks, 0 by default.
    assign: "even" (default) cuts the concatenated shards evenly, "files" keeps files whole, "runs" assigns runs of all
        shards to every rank.
    replicate: number of consecutive ranks that read the same rows, 1 by default.
    lanes: ordered streams; None (default) for one per reader.
    open_runs: runs of a lane to interleave: at least this many if it has them, fewer than twice as many.
    pool: records in the shuffle pool of a lane. More open runs and a larger pool mix better; see docs/mixing.md.
    sticky: ranks keep their shards from epoch to epoch.
    mix: weights of joined datasets, [3, 1], or a schedule of weights, [(0, [3, 1]), (1000, [1, 1])].
    mix_stop: "first", "all", or a number of steps.

Raises:
    UsageError: for options that are out of range or give no step; the message names what works.)";

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

  py::class_<Plan>(module, "Plan", kPlanDoc)
      .def(py::init(&make_plan), py::arg("dataset"))
      .def_static("resume", resume_plan, py::arg("dataset"), py::arg("state"),
                  R"(Returns the plan that continues from a state, also from one of another world or batch.

Takes the options of `Plan`. `batch` is required, and `world` is 1 by default. Others are those of the state by default.

Raises:
    StateMismatchError: if dataset or order differ; the message names the differences.)")
      .def_property_readonly(
          "options", [](const Plan& plan) { return to_dict(plan.options()); }, R"(The options of the plan by name.)")
      .def_property_readonly("records", &Plan::records, R"(Records of the dataset.)")
      .def_property_readonly(
          "plan_id", [](const Plan& plan) { return plan.plan_id().to_hex(); },
          R"(Identifies all inputs of the plan, in 32 hex digits.)")
      .def_property_readonly(
          "order_id", [](const Plan& plan) { return plan.order_id().to_hex(); },
          R"(Identifies the dataset and the order, in 32 hex digits.)")
      .def_property_readonly(
          "start", [](const Plan& plan) { return py::make_tuple(plan.start().epoch, plan.start().step); },
          R"((epoch, step) of the first batch.)")
      .def(
          "plan_checksum", [](const Plan& plan) { return static_cast<std::int64_t>(plan.plan_checksum()); },
          R"(Returns a signed 64-bit number that is equal on all ranks with the same plan.

For an optional all-gather, or an all-reduce of its minimum and its maximum.)")
      .def("steps", steps_of, py::arg("epoch") = 0, R"(Steps of an epoch, the same on every rank.)")
      .def("total_steps", total_steps, py::arg("epochs"), R"(Steps of all epochs below `epochs`.)")
      .def("epoch", epoch_of, py::arg("epoch") = 0,
           R"(Returns an `EpochPlan`: steps, records, rows, delivered, dropped, padded, lanes, digest.)")
      .def("rows", planned_rows, py::arg("epoch"), py::arg("step"), py::arg("rank") = 0,
           R"(Returns the rows of a rank at a step.

Returns:
    ids as uint64 [batch], 2**64 - 1 if no record is planned, and statuses as uint8 [batch].)")
      .def("shuffle_report", shuffle_report, py::arg("epoch") = 0,
           R"(Compares the mixing of an epoch with a true shuffle, as `dovetail plan --shuffle-report` does.

Reads no file. Takes about 1 us and 40 bytes per row, for up to 4,194,304 rows.

Returns:
    A `ShuffleReport`. docs/mixing.md explains its numbers, and what helps against its flaws.)")
      .def(
          "state_dict",
          [](const Plan& plan, const py::object& epoch, const py::object& step) {
            return to_dict(plan.state(to_position(epoch, step)).value());
          },
          py::arg("epoch"), py::arg("step") = 0, R"(Returns the state of a reader after `step` steps of the epoch.)")
      .def("__repr__", shown);

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
