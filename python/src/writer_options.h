// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/dataset_writer.h>
#include <pybind11/pybind11.h>

namespace dovetail::python {

/// As for the options of readers (options.h). Those of the shards among them.
void set_options(WriterOptions& options, const pybind11::dict& given);
void set_options(DatasetWriterOptions& options, const pybind11::dict& given);

/// Sets one of them by its name; false where there is none of it.
bool set_option(DatasetWriterOptions& options, const std::string& name, pybind11::handle given);

}  // namespace dovetail::python
