// SPDX-License-Identifier: Apache-2.0
#include "python/src/reader.h"

#include <cerrno>
#include <chrono>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/system/errc.hpp>

#include <pybind11/stl.h>

#include "python/src/arguments.h"
#include "python/src/bindings.h"
#include "python/src/collected.h"
#include "python/src/epoch_iterator.h"
#include "python/src/gil.h"
#include "python/src/kept_objects.h"
#include "python/src/options.h"
#include "python/src/text.h"

namespace dovetail::python {

namespace {

/// The longest delay of a signal handler.
constexpr std::chrono::milliseconds kPatience{50};

struct OpenReader {
  std::weak_ptr<BatchReader> reader;
  std::weak_ptr<LogLines> log;
  detail::ProcessMark process = {};
};

/// Guarded by the interpreter lock.
std::vector<OpenReader>& open_readers() {
  // Never destroyed, because any destructor may use it.
  static auto* const readers = new std::vector<OpenReader>();
  return *readers;
}

void note_open(const std::shared_ptr<BatchReader>& reader, const std::shared_ptr<LogLines>& log) {
  std::erase_if(open_readers(), [](const OpenReader& known) { return known.reader.expired(); });
  open_readers().push_back({.reader = reader, .log = log});
}

/// At the end of the interpreter nothing can be imported. `close_all_readers` has handed over
/// earlier messages by then.
void hand_over(LogLines& lines) {
  if (!lines.some() || interpreter_ends()) return;
  const py::object log = call_object(import_module("logging").attr("getLogger"), "dovetail");
  for (const LogLine& line : lines.take()) {
    call_object(log.attr(line.warns ? "warning" : "info"), "%s", message_text(line.text));
  }
}

/// Reports exceptions of `logging` handlers where no caller can receive them.
template <class Call>
void report_raised(Call call) {
  std::optional<py::error_already_set> raised;
  try {
    call();
  } catch (py::error_already_set& caught) {
    raised.emplace(std::move(caught));
  }
  if (!raised.has_value()) return;
  const py::str context("closing a reader of dovetail");
  raised->restore();
  raised.reset();
  call_python(PyErr_WriteUnraisable, context.ptr());
}

}  // namespace

void close_all_readers() {
  std::vector<std::shared_ptr<BatchReader>> readers;
  std::vector<std::shared_ptr<LogLines>> logs;
  for (const OpenReader& known : open_readers()) {
    auto reader = known.reader.lock();
    auto log = known.log.lock();
    // Its threads and messages belong to the parent.
    if (reader == nullptr || known.process.forked()) continue;
    readers.push_back(std::move(reader));
    if (log != nullptr) logs.push_back(std::move(log));
  }
  {
    const Unlocked unlocked;
    for (const auto& reader : readers) reader->stop();
    readers.clear();
  }
  for (const auto& log : logs) report_raised([&] { hand_over(*log); });
}

PyReader::PyReader(Dataset dataset, ReaderOptions options, std::shared_ptr<PyMap> map)
    : dataset_(std::move(dataset)), options_(std::move(options)), map_(std::move(map)) {
  options_.log = [log = log_](std::string_view line) { log->add(line); };
  try {
    reopen(options_);
  } catch (...) {
    // A handler of `logging` may raise after the reader was opened. Stop the reader's threads then:
    // they may wait for the interpreter lock.
    stop();
    throw;
  }
}

PyReader::~PyReader() {
  report_raised([&] { close(); });
}

void PyReader::reopen(ReaderOptions options) {
  std::shared_ptr<BatchReader> reader = std::move(reader_);
  const Result<void> opened = [&]() -> Result<void> {
    const Marked moving(moving_);
    const Unlocked unlocked;
    if (reader != nullptr) reader->stop();  // another thread may be in its `next`
    reader.reset();                         // free its slots first: memory may not suffice for both
    if (map_ != nullptr) map_->begin();
    try {
      log_->set_opener(std::this_thread::get_id());
      reader = std::make_shared<BatchReader>(BatchReader::open(dataset_, options).value());
      return {};
    } catch (const Exception& failed) {
      return failed.error();
    } catch (const std::exception& failed) {
      return Error::from_errno(ENOMEM, failed.what());
    }
  }();
  log_->set_opener({});
  options_ = std::move(options);
  if (!opened.has_value()) {
    failure_ = opened.error();
    flush_log();
    throw Exception(opened.error());
  }
  if (closed_) {  // another thread closed it meanwhile
    {
      const Unlocked unlocked;
      reader.reset();
    }
    need_usable();
  }
  failure_.reset();
  reader_ = std::move(reader);
  plan_ = reader_->plan();
  note_open(reader_, log_);
  flush_log();
}

void PyReader::need_usable() const {
  if (process_.forked()) {
    throw Exception(Error(Errc::closed,
                          "the reader belongs to the process that forked this one, and its "
                          "threads do not exist here; open another in the child"));
  }
  if (closed_) throw Exception(Error(Errc::closed, "the reader was closed"));
  if (map_ != nullptr && interpreter_ends()) {
    throw Exception(Error(Errc::closed, "the interpreter ends, so no thread can call map or map_batch"));
  }
  if (map_ != nullptr && PyMap::runs_here()) {
    throw Exception(
        Error(Errc::busy, "the function of map or map_batch must not use its own reader, which would wait for itself"));
  }
  if (moving_) throw Exception(Error(Errc::busy, "the reader is being moved by a seek"));
}

const std::shared_ptr<BatchReader>& PyReader::open() const {
  need_usable();
  if (failure_.has_value()) throw Exception(*failure_);
  return reader_;
}

State PyReader::state() const {
  need_usable();
  return failure_.has_value() ? *options_.state : reader_->state();
}

py::object PyReader::next() {
  // Another thread may close or move this object meanwhile.
  const std::shared_ptr<BatchReader> reader = open();
  // Made before a batch is taken, which lack of memory would lose.
  py::object made = py::cast(PyBatch());
  for (;;) {
    // Handle signals while no batch is in hand that an exception of a handler would lose. Python
    // may still lose it to a signal between this function's return and its caller.
    if (call_python(PyErr_CheckSignals) != 0) throw py::error_already_set();
    if (log_->some()) flush_log();
    std::optional<State> before;
    if (map_ != nullptr && map_->kept().dict()) before = reader->state();
    Result<std::optional<Batch>> batch = [&] {
      const Unlocked unlocked;
      return reader->next(kPatience);
    }();
    if (batch.has_value()) {
      if (!batch->has_value()) return py::none();
      auto& taken = made.cast<PyBatch&>();
      taken.take(std::move(**batch));
      if (before.has_value()) give_objects(taken, reader, std::move(*before));
      return made;
    }
    if (!batch.error().is(Errc::not_yet)) {
      flush_log();
      const bool stopped = batch.error().kind() == ErrorKind::cancelled || batch.error().is(Errc::closed);
      if (stopped) need_usable();
      if (stopped && reader != reader_) refuse_moved();
      raise(batch.error());
    }
  }
}

void PyReader::give_objects(PyBatch& batch, const std::shared_ptr<BatchReader>& from, State before) {
  try {
    map_->kept().give(batch);
  } catch (const Exception&) {
    need_usable();
    throw;
  } catch (const std::exception&) {     // no memory
    if (from == reader_ && !moving_) {  // else another thread has moved the reader
      options_.state = std::move(before);
      failure_ = Error::from_errno(ENOMEM);
    }
    throw;
  }
}

void PyReader::raise(const Error& error) const {
  if (map_ != nullptr && map_->ended_by() && error.code() == boost::system::errc::not_enough_memory) {
    const py::object& exception = map_->ended_by();
    PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
    throw py::error_already_set();
  }
  const py::object cause =
      map_ != nullptr && error.is(Errc::rejected_record) ? map_->raised(error, dataset_) : py::object();
  if (!cause) throw Exception(error);
  const py::object exception = to_exception(error);
  PyException_SetCause(exception.ptr(), py::object(cause).release().ptr());
  PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
  throw py::error_already_set();
}

void PyReader::need_epoch(std::uint32_t epoch) const {
  const std::uint32_t end = options_.epochs;
  if (end == 0 || epoch < end) return;
  refuse("epoch=" + std::to_string(epoch) + ": with epochs=" + std::to_string(end) + " the last one is " +
         std::to_string(end - 1));
}

State PyReader::state_at(Position to) const {
  const Result<EpochPlan> planned = plan_->epoch(to.epoch);
  const std::uint64_t first = planned.has_value() ? planned->first_step() : 0;
  if (to.step >= first) return plan_->state(to).value();
  // Another world took the steps before `first`. Its batches cannot be repeated, but the whole
  // epoch can be cut for this world.
  if (to.step != 0) {
    refuse("step=" + std::to_string(to.step) + ": the steps of epoch " + std::to_string(to.epoch) + " before step " +
           std::to_string(first) + " were taken by another world or batch; go to step 0 to begin the epoch again");
  }
  PlanOptions options = plan_->options();
  options.lanes = plan_->lanes();
  return Plan::make(dataset_.shape(), options).value().state(to).value();
}

void PyReader::seek(Position to) {
  need_usable();
  // After a failure a reader may also move to its end once more, which is in no epoch.
  if (!failure_.has_value() || options_.state->position() != to) need_epoch(to.epoch);
  const bool goes_on = !failure_.has_value() && !reader_->error().has_value();
  if (goes_on && reader_->state().position() == to) return;
  seek(state_at(to));
}

void PyReader::set_epoch(std::uint32_t epoch) {
  need_epoch(epoch);
  const Position at = state().position();
  if (at.epoch != epoch) return seek({epoch, 0});
  if (failure_.has_value()) seek(at);
}

void PyReader::seek(const State& state) {
  need_usable();
  ReaderOptions options = options_;
  options.state = state;
  // Reports errors before anything is given up. A reader that cannot be opened there has this plan.
  plan_ = Plan::resume(dataset_.shape(), options.plan, state).value();
  reopen(std::move(options));
}

void PyReader::close() {
  closed_ = true;
  stop();
  if (map_ != nullptr) map_->kept().drop();
  flush_log();
}

void PyReader::stop() {
  std::shared_ptr<BatchReader> reader = std::move(reader_);
  if (reader == nullptr) return;
  // Its threads wait for the interpreter lock, which they do not get any more.
  if (map_ != nullptr && interpreter_ends()) return detail::leave_alone(std::move(reader));
  if (PyMap::runs_here() && !process_.forked()) {
    std::thread([reader = std::move(reader)] { reader->stop(); }).detach();
    return;
  }
  const Unlocked unlocked;
  if (!process_.forked()) reader->stop();
  reader.reset();
}

void PyReader::flush_log() {
  if (!process_.forked()) hand_over(*log_);  // a thread of the parent may have held its mutex
}

namespace {

std::shared_ptr<PyReader> open_reader(const Dataset& dataset, const py::dict& given, const py::object& state,
                                      const py::object& of_record, const py::object& of_batch) {
  ReaderOptions options;
  set_options(options, given);
  need_batch(given);
  if (!state.is_none()) options.state = to_state(state);
  std::shared_ptr<PyMap> map;
  if (!of_record.is_none() && !of_batch.is_none()) refuse("give map or map_batch, not both");
  if (!of_record.is_none() || !of_batch.is_none()) {
    const auto takes = of_batch.is_none() ? PyMap::Takes::record : PyMap::Takes::batch;
    const py::object& function = of_batch.is_none() ? of_record : of_batch;
    if (!options.columns.has_value()) {
      refuse(std::string(of_batch.is_none() ? "map" : "map_batch") +
             " needs columns; name those that the function returns, such as columns=\"image:u8[32,32,3], label:i64\", "
             "or give outputs=\"objects\"");
    }
    map = std::make_shared<PyMap>(function, takes, *options.columns, options.on_damage == OnDamage::fail);
    options.transform = map->transform();
  }
  return std::make_shared<PyReader>(dataset, std::move(options), std::move(map));
}

py::tuple position(const PyReader& reader) {
  const Position at = reader.state().position();
  return py::make_tuple(at.epoch, at.step);
}

py::tuple environment_ranks() {
  const RankContext ranks = RankContext::from_environment().value();
  return py::make_tuple(ranks.rank, ranks.world, ranks.local_rank, ranks.local_world, ranks.source);
}

}  // namespace

void bind_reader(py::module_& module) {
  // A function may refer to the reader that calls it, or to an iterator of it.
  py::class_<EpochIterator>(module, "EpochIterator", py::custom_type_setup(see_through<EpochIterator>),
                            R"(The batches up to the end of an epoch.)")
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &EpochIterator::next);

  py::class_<PyReader, std::shared_ptr<PyReader>>(module, "Reader", py::custom_type_setup(see_through<PyReader>),
                                                  R"(The base of dovetail.Reader.)")
      .def(py::init(&open_reader), py::arg("dataset"), py::arg("options"), py::arg("state") = py::none(),
           py::arg("map") = py::none(), py::arg("map_batch") = py::none())
      .def("__iter__", [](py::object self) { return EpochIterator{.reader = std::move(self)}; })
      .def("next", &PyReader::next)
      .def(
          "seek",
          [](PyReader& reader, const py::object& epoch, const py::object& step) {
            reader.seek(to_position(epoch, step));
          },
          py::arg("epoch"), py::arg("step"))
      .def(
          "set_epoch",
          [](PyReader& reader, const py::object& epoch) { reader.set_epoch(to_position(epoch, py::int_(0)).epoch); },
          py::arg("epoch"))
      .def(
          "restore", [](PyReader& reader, const py::object& text) { reader.seek(to_state(text)); }, py::arg("state"))
      .def("state_dict", [](const PyReader& reader) { return to_dict(reader.state()); })
      .def_property_readonly("position", position)
      .def_property_readonly("plan", [](const PyReader& reader) { return reader.plan(); })
      .def("plan_checksum",
           [](const PyReader& reader) { return static_cast<std::int64_t>(reader.get().plan_checksum()); })
      .def_property_readonly("registered", [](const PyReader& reader) { return reader.get().registered(); })
      .def("stats",
           [](PyReader& reader) {
             reader.flush_log();
             return call_object(import_module("json").attr("loads"), py::str(reader.get().stats().to_json()));
           })
      .def(
          "metrics",
          [](PyReader& reader, const std::map<std::string, std::string>& labels) {
            reader.flush_log();
            return reader.get().stats().to_prometheus(labels).value();
          },
          py::arg("labels"))
      .def("close", &PyReader::close)
      .def_property_readonly("closed", &PyReader::closed);

  module.def("close_all_readers", close_all_readers);
  module.def("environment_ranks", environment_ranks);
  module.def("pick_columns", pick_columns, py::arg("schema"), py::arg("names"));
}

}  // namespace dovetail::python
