// SPDX-License-Identifier: Apache-2.0
#include "python/src/reader.h"

#include <chrono>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "python/src/bindings.h"
#include "python/src/gil.h"
#include "python/src/options.h"
#include "python/src/text.h"

namespace dovetail::python {

namespace {

/// How long a signal may have to wait for its handler.
constexpr std::chrono::milliseconds kPatience{50};

/// Readers that were opened in this process. Guarded by the interpreter lock.
std::vector<std::weak_ptr<BatchReader>>& open_readers() {
  static auto* const readers = new std::vector<std::weak_ptr<BatchReader>>();  // outlives every destructor
  return *readers;
}

void note_open(const std::shared_ptr<BatchReader>& reader) {
  std::erase_if(open_readers(), [](const auto& known) { return known.expired(); });
  open_readers().push_back(reader);
}

}  // namespace

void close_all_readers() {
  std::vector<std::shared_ptr<BatchReader>> readers;
  for (const auto& known : open_readers()) {
    if (auto reader = known.lock()) readers.push_back(std::move(reader));
  }
  const Unlocked unlocked;
  for (const auto& reader : readers) reader->stop();
  readers.clear();
}

PyReader::PyReader(Dataset dataset, ReaderOptions options)
    : dataset_(std::move(dataset)), options_(std::move(options)) {
  options_.log = [log = log_](std::string_view line) { log->add(line); };
  reopen(options_);
}

PyReader::~PyReader() {
  try {
    close();
  } catch (py::error_already_set& raised) {  // by a handler of `logging`
    raised.discard_as_unraisable("closing a reader of dovetail");
  }
}

void PyReader::reopen(ReaderOptions options) {
  std::shared_ptr<BatchReader> reader = std::move(reader_);
  {
    const Unlocked unlocked;
    if (reader != nullptr) reader->stop();  // another thread may be in its `next`
    reader.reset();                         // its slots first: both may not fit
    reader = std::make_shared<BatchReader>(BatchReader::open(dataset_, options).value());
  }
  reader_ = std::move(reader);
  options_ = std::move(options);
  note_open(reader_);
  flush_log("info");  // what could not be had; the stats say it as well
}

const std::shared_ptr<BatchReader>& PyReader::open() const {
  if (process_.forked()) {
    throw Exception(Error(Errc::closed,
                          "the reader belongs to the process that this one was forked from, and its "
                          "threads are not here: open one of its own in the child"));
  }
  if (reader_ == nullptr) throw Exception(Error(Errc::closed, "the reader was closed"));
  return reader_;
}

std::optional<PyBatch> PyReader::next() {
  const std::shared_ptr<BatchReader> reader = open();  // another thread may close this one meanwhile
  for (;;) {
    if (log_->some()) flush_log();  // while no batch is in hand that an exception of a handler would lose
    Result<std::optional<Batch>> batch = [&] {
      const Unlocked unlocked;
      return reader->next(kPatience);
    }();
    if (batch.has_value()) {
      if (!batch->has_value()) return std::nullopt;
      return PyBatch(std::move(**batch));
    }
    if (!batch.error().is(Errc::not_yet)) {
      flush_log();
      throw Exception(batch.error());
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

void PyReader::seek(Position to) {
  if (open()->state().position() != to) seek(open()->plan().state(to).value());
}

void PyReader::seek(const State& state) {
  open();
  ReaderOptions options = options_;
  options.state = state;
  Plan::resume(dataset_.shape(), options.plan, state).value();  // what is wrong is told before anything is given up
  reopen(std::move(options));
}

void PyReader::close() {
  if (reader_ == nullptr) return;
  std::shared_ptr<BatchReader> reader = std::move(reader_);
  {
    const Unlocked unlocked;
    if (!process_.forked()) reader->stop();
    reader.reset();
  }
  flush_log();
}

void PyReader::flush_log(const char* level) {
  if (!log_->some()) return;
  const py::object log = call_object(import_module("logging").attr("getLogger"), "dovetail").attr(level);
  for (const std::string& line : log_->take()) call_object(log, "%s", message_text(line));
}

namespace {

/// The batches up to the end of the epoch, as an iterator that stays at its end.
struct EpochIterator {
  std::shared_ptr<PyReader> reader;

  PyBatch next() {
    if (reader != nullptr) {
      if (std::optional<PyBatch> batch = reader->next()) return std::move(*batch);
      reader.reset();
    }
    throw py::stop_iteration();
  }
};

std::shared_ptr<PyReader> open_reader(const Dataset& dataset, const py::dict& given,
                                      const std::optional<std::string>& state) {
  ReaderOptions options;
  set_options(options, given);
  if (state.has_value()) options.state = State::from_text(*state).value();
  return std::make_shared<PyReader>(dataset, std::move(options));
}

py::tuple position(const PyReader& reader) {
  const Position at = reader.get().state().position();
  return py::make_tuple(at.epoch, at.step);
}

py::tuple environment_ranks() {
  const RankContext ranks = RankContext::from_environment().value();
  return py::make_tuple(ranks.rank, ranks.world, ranks.local_rank, ranks.local_world, ranks.source);
}

}  // namespace

void bind_reader(py::module_& module) {
  py::class_<EpochIterator>(module, "EpochIterator", R"(The batches up to the end of an epoch.)")
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &EpochIterator::next);

  py::class_<PyReader, std::shared_ptr<PyReader>>(module, "Reader", R"(What dovetail.Reader is made of.)")
      .def(py::init(&open_reader), py::arg("dataset"), py::arg("options"), py::arg("state") = py::none())
      .def("__iter__", [](std::shared_ptr<PyReader> reader) { return EpochIterator{std::move(reader)}; })
      .def("next", &PyReader::next)
      .def(
          "seek",
          [](PyReader& reader, std::uint32_t epoch, std::uint64_t step) {
            reader.seek({epoch, step});
          },
          py::arg("epoch"), py::arg("step"))
      .def(
          "restore", [](PyReader& reader, const std::string& text) { reader.seek(State::from_text(text).value()); },
          py::arg("state"))
      .def("state", [](const PyReader& reader) { return reader.get().state().to_text(); })
      .def_property_readonly("position", position)
      .def_property_readonly("plan", [](const PyReader& reader) { return reader.get().plan(); })
      .def("check", [](const PyReader& reader) { return reader.get().check(); })
      .def_property_readonly("registered", [](const PyReader& reader) { return reader.get().registered(); })
      .def("stats",
           [](PyReader& reader) {
             reader.flush_log();
             return reader.get().stats().to_json();
           })
      .def("close", &PyReader::close)
      .def_property_readonly("closed", &PyReader::closed);

  module.def("close_all_readers", close_all_readers);
  module.def("environment_ranks", environment_ranks);
}

}  // namespace dovetail::python
