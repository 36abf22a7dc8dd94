// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/dataset_writer.h>
#include <pybind11/pybind11.h>

namespace dovetail::python {

/// As for the options of readers (options.h). Those of the shards among them.
void set_options(WriterOptions& options, const pybind11::dict& given);
void set_options(DatasetWriterOptions& options, const pybind11::dict& given);

/// Errors: TypeError, or `invalid_option` for what is not 32 hex digits.
DatasetId to_dataset_id(const char* name, pybind11::handle given);

/// Sets one of those that say how the shards of a dataset are packed; false where there is none of that name.
bool set_packing_option(WriterOptions& options, const std::string& name, pybind11::handle given);
/// These as a list to be read.
std::string packing_option_names();

}  // namespace dovetail::python
