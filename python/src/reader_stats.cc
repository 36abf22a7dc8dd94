// SPDX-License-Identifier: Apache-2.0
#include "python/src/bindings.h"

#include <cstddef>
#include <vector>

#include "python/src/gil.h"
#include "python/src/text.h"

namespace dovetail::python {

namespace {

/// Puts the names of files into `list`, a list of JSON objects of `items`. JSON has none that are not
/// UTF-8.
template <class Item>
void put_files(const py::object& list, const std::vector<Item>& items) {
  for (std::size_t i = 0; i < items.size(); ++i) list[py::int_(i)]["file"] = path_text(items[i].file);
}

}  // namespace

py::object to_dict(const ReaderStats& stats) {
  py::object dict = call_object(import_module("json").attr("loads"), py::str(stats.to_json()));
  put_files(dict["damaged"], stats.damaged);
  put_files(dict["hung_now"], stats.hung_now);
  put_files(dict["slowest_shards"], stats.slowest_shards);
  return dict;
}

}  // namespace dovetail::python
