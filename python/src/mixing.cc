// SPDX-License-Identifier: Apache-2.0
#include "python/src/bindings.h"

#include <cstdint>

#include <dovetail/mixing.h>
#include <pybind11/stl.h>

#include "python/src/gil.h"
#include "python/src/option_table.h"

namespace dovetail::python {

namespace {

py::object to_object(const BatchMixing& mixing) {
  return call_object(import_module("dovetail._reports").attr("BatchMixing"), mixing.mean_slices, mixing.least_slices,
                     mixing.mean_shards, mixing.least_shards, mixing.neighbours, mixing.shared);
}

py::object to_object(const Mixing& mixing) {
  return call_object(import_module("dovetail._reports").attr("Mixing"), to_object(mixing.rank),
                     to_object(mixing.global), mixing.correlation);
}

}  // namespace

py::object shuffle_report(const Plan& plan, const py::object& epoch_given) {
  const auto epoch = to_option<std::uint32_t>("epoch", epoch_given);
  const MixingReport report = [&] {
    const Unlocked unlocked;
    return measure_mixing(plan, plan.epoch(epoch).value());
  }();
  py::list flaws;
  for (const MixingFlaw flaw : report.flaws) flaws.append(to_text(flaw));
  return call_object(import_module("dovetail._reports").attr("ShuffleReport"), to_object(report.plan),
                     to_object(report.true_shuffle), report.batches, report.all_batches, report.readers,
                     py::tuple(flaws));
}

}  // namespace dovetail::python
