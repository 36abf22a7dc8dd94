// SPDX-License-Identifier: Apache-2.0
#include "python/src/options.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "format/text/utf8.h"
#include "format/words/plan_words.h"
#include "format/words/reader_words.h"
#include "python/src/arguments.h"
#include "python/src/option_table.h"

namespace dovetail::python {

namespace py = pybind11;

namespace {

// A mix for a number of steps has `steps=`.
constexpr format::Words<MixStop, 2> kStops{format::kMixStopWords[0], format::kMixStopWords[1]};

constexpr const char* kMix = "a list of weights, [3, 1], or of (from_step, weights), [(0, [3, 1]), (1000, [1, 1])]";

std::vector<std::uint32_t> to_weights(const char* name, const std::vector<py::object>& given) {
  std::vector<std::uint32_t> weights;
  weights.reserve(given.size());
  for (const py::object& weight : given) {
    if (PyIndex_Check(weight.ptr()) == 0) {
      throw py::type_error(std::string(name) + " takes whole numbers as weights, such as [7, 3] for 0.7 and 0.3, not " +
                           type_name(weight));
    }
    weights.push_back(to_option<std::uint32_t>(name, weight));
  }
  return weights;
}

/// `given` is weights for all steps, or [(from_step, weights), ...].
void set_mix(PlanOptions& options, const char* name, py::handle given) {
  options.mix.schedule.clear();
  const std::vector<py::object> entries = to_items(name, given, kMix);
  const bool scheduled = !entries.empty() && py::isinstance<py::sequence>(entries.front());
  if (!scheduled) {
    options.mix.schedule.push_back({0, to_weights(name, entries)});
    return;
  }
  for (const py::object& entry : entries) {
    const std::vector<py::object> pair = to_items(name, entry, kMix);
    if (pair.size() != 2) throw py::type_error(std::string(name) + " must be " + kMix);
    options.mix.schedule.push_back(
        {to_option<std::uint64_t>(name, pair[0]), to_weights(name, to_items(name, pair[1], kMix))});
  }
}

void set_mix_stop(PlanOptions& options, const char* name, py::handle given) {
  if (py::isinstance<py::str>(given)) {
    options.mix.stop = from_word(name, given, kStops);
  } else {
    options.mix.stop = MixStop::steps;
    options.mix.steps = to_option<std::uint64_t>(name, given);
  }
}

constexpr OptionSetter<PlanOptions> kPlanSetters[] = {
    {"batch", set_field<&PlanOptions::batch>},
    {"world", set_field<&PlanOptions::world>},
    {"replicate", set_field<&PlanOptions::replicate>},
    {"lanes", set_field<&PlanOptions::lanes>},
    {"order", set_word<format::kOrderWords, &PlanOptions::order>},
    {"assign", set_word<format::kAssignWords, &PlanOptions::assign>},
    {"tail", set_word<format::kTailWords, &PlanOptions::tail>},
    {"open_runs", set_field<&PlanOptions::open_runs>},
    {"pool", set_field<&PlanOptions::pool>},
    {"seed", set_field<&PlanOptions::seed>},
    {"sticky", set_field<&PlanOptions::sticky>},
    {"mix", set_mix},
    {"mix_stop", set_mix_stop},
};

void set_hung_after(ReaderOptions& options, const char* name, py::handle given) {
  const auto seconds = to_option<double>(name, given);
  if (!(seconds >= 0 && seconds < 1e9)) refuse(std::string(name) + " must be in seconds, 0 or more");
  options.hung_after = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

void set_metrics(ReaderOptions& options, const char* name, py::handle given) {
  options.metrics = std::filesystem::absolute(to_path(name, given)).string();  // a seek reopens it
}

void set_columns(ReaderOptions& options, const char* name, py::handle given) {
  if (!py::isinstance<py::str>(given)) {
    throw py::type_error("columns must be True, a list of names, or one text, such as " +
                         std::string("\"image:u8[28,28], label:i64\", not ") + type_name(given));
  }
  const auto text = to_option<std::string>(name, given);
  if (text == "all") refuse("columns=\"all\": True takes all columns that the dataset names");
  options.columns = parse_schema(text).value();
}

constexpr OptionSetter<ReaderOptions> kReaderSetters[] = {
    {"rank", set_field<&ReaderOptions::ranks, &RankContext::rank>},
    {"world", set_field<&ReaderOptions::ranks, &RankContext::world>},
    {"local_rank", set_field<&ReaderOptions::ranks, &RankContext::local_rank>},
    {"local_world", set_field<&ReaderOptions::ranks, &RankContext::local_world>},
    {"epochs", set_field<&ReaderOptions::epochs>},
    {"on_damage", set_word<format::kOnDamageWords, &ReaderOptions::on_damage>},
    {"on_hung_read", set_word<format::kOnHungReadWords, &ReaderOptions::on_hung_read>},
    {"oversize", set_word<format::kOversizeWords, &ReaderOptions::oversize>},
    {"columns", set_columns},
    {"prefetch", set_field<&ReaderOptions::prefetch>},
    {"max_held", set_field<&ReaderOptions::max_held>},
    {"memory_bytes", set_field<&ReaderOptions::memory_bytes>},
    {"storage", set_word<format::kStorageWords, &ReaderOptions::storage>},
    {"io_threads", set_field<&ReaderOptions::io_threads>},
    {"hung_after", set_hung_after},
    {"decode_threads", set_field<&ReaderOptions::decode_threads>},
    {"registration", set_word<format::kRegistrationWords, &ReaderOptions::registration>},
    {"device", set_field<&ReaderOptions::device>},
    {"huge_pages", set_word<format::kHugePagesWords, &ReaderOptions::huge_pages>},
    {"metrics", set_metrics},
};

}  // namespace

void set_options(PlanOptions& options, const py::dict& given) {
  for (const auto& [key, value] : given) {
    if (set_option<PlanOptions>(kPlanSetters, options, option_name(key), value)) continue;
    refuse_option(key, option_names<PlanOptions>(kPlanSetters));
  }
}

void set_options(ReaderOptions& options, const py::dict& given) {
  for (const auto& [key, value] : given) {
    const std::string name = option_name(key);
    const bool known = set_option<ReaderOptions>(kReaderSetters, options, name, value) ||
                       set_option<PlanOptions>(kPlanSetters, options.plan, name, value);
    if (known) continue;
    refuse_option(key, option_names<PlanOptions>(kPlanSetters) + ", " + option_names<ReaderOptions>(kReaderSetters));
  }
  options.plan.world = options.ranks.world;
}

void need_batch(const py::dict& given) {
  if (!given.contains("batch") || given["batch"].is_none()) {
    throw py::type_error("batch is missing, the rows of a batch");
  }
}

py::dict to_dict(const PlanOptions& options) {
  py::dict dict;
  dict["world"] = options.world;
  dict["batch"] = options.batch;
  dict["replicate"] = options.replicate;
  dict["lanes"] = options.lanes;
  dict["order"] = format::word_of(format::kOrderWords, options.order);
  dict["assign"] = format::word_of(format::kAssignWords, options.assign);
  dict["tail"] = format::word_of(format::kTailWords, options.tail);
  dict["open_runs"] = options.open_runs;
  dict["pool"] = options.pool;
  dict["seed"] = options.seed;
  dict["sticky"] = options.sticky;
  py::list mix;
  for (const MixWeights& entry : options.mix.schedule) mix.append(py::make_tuple(entry.from_step, entry.weights));
  dict["mix"] = mix.empty() ? py::object(py::none()) : py::object(mix);
  dict["mix_stop"] = options.mix.stop == MixStop::steps
                         ? py::object(py::int_(options.mix.steps))
                         : py::object(py::str(std::string(format::word_of(kStops, options.mix.stop))));
  return dict;
}

std::string pick_columns(const std::string& schema, const py::sequence& names) {
  std::vector<std::string> wanted;
  for (const auto& name : names) wanted.push_back(to_utf8("a name in columns", name));
  return to_text(parse_schema(schema).value().pick(wanted).value());
}

Position to_position(const py::object& epoch, const py::object& step) {
  return {to_option<std::uint32_t>("epoch", epoch), to_option<std::uint64_t>("step", step)};
}

State to_state(const py::object& given) {
  const py::handle text = PyDict_Check(given.ptr()) ? PyDict_GetItemString(given.ptr(), "state") : given.ptr();
  if (!text || PyUnicode_Check(text.ptr()) == 0) throw py::type_error("a state is what state_dict() gives");
  return State::from_text(to_utf8("a state", text)).value();
}

py::dict to_dict(const State& state) {
  py::dict dict;
  dict["state"] = state.to_text();
  dict["epoch"] = state.position().epoch;
  dict["step"] = state.position().step;
  return dict;
}

}  // namespace dovetail::python
