// SPDX-License-Identifier: Apache-2.0
// The output of `dovetail inspect --json`, as a dict.
#include <atomic>
#include <optional>
#include <string>

#include <pybind11/pybind11.h>
#include <boost/json/serialize.hpp>

#include "format/try.h"
#include "format/words/convert_words.h"
#include "inspect/inspection.h"
#include "python/src/arguments.h"
#include "python/src/bindings.h"
#include "python/src/gil.h"
#include "python/src/interruptible.h"
#include "python/src/option_table.h"
#include "tools/inspect/inspection_page.h"

namespace dovetail::python {

namespace {

py::object inspect_path(const py::object& path_given, const py::object& format, const py::object& blocks,
                        const py::object& full, const py::object& features, const py::object& html) {
  const std::string path = to_path("path", path_given).string();
  std::optional<std::string> page;
  if (!html.is_none()) page = to_path("html", html).string();
  inspect::InspectOptions options;
  options.from = from_word("format", format, format::kSourceFormatWords);
  options.full = to_option<bool>("full", full);
  options.features = to_option<bool>("features", features);
  const auto with_blocks = to_option<bool>("blocks", blocks);
  const std::string json = run_interruptibly([&](const std::atomic<bool>& cancel) -> Result<std::string> {
    options.progress = [&cancel](const inspect::Progress& /*progress*/) { return !cancel; };
    if (page) {
      DOVETAIL_TRY(tools::check_page_file(*page, path));
    }
    DOVETAIL_ASSIGN(const inspect::Inspection inspection, inspect::inspect_path(path, options));
    if (page) {
      DOVETAIL_TRY(tools::write_page(*page, inspection, options.from, [&cancel] { return cancel.load(); }));
    }
    return boost::json::serialize(to_json(inspection, with_blocks));
  });
  return call_object(import_module("json").attr("loads"), py::str(json));
}

}  // namespace

void bind_inspect(py::module_& module) {
  module.def("inspect", inspect_path, py::arg("path"), py::kw_only(), py::arg("format") = "detect",
             py::arg("blocks") = false, py::arg("full") = false, py::arg("features") = false,
             py::arg("html") = py::none(),
             R"(Inspects a shard, a dataset, or a file or folder in another format, as `dovetail inspect` does.

Args:
    path: a shard, a folder with a manifest, a manifest, or a glob; or what `convert` takes.
    format: of the path: "detect", or one of those of `convert`.
    blocks: lists every block.
    full: reads every record for the sizes; by default a sample of large inputs.
    features: reads every record for statistics of the features.
    html: the path of a file to write the page to that `dovetail inspect --html` writes.

Returns:
    A dict: what `dovetail inspect --json` prints. Damaged blocks are counted, not raised: `unreadable` counts the
    records that cannot be read. Of a shard that was never finished, `finished` is False. Ctrl-C ends it soon.

Raises:
    UsageError, DamagedError, StorageError: with the file.)");
}

}  // namespace dovetail::python
