// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/dataset_writer.h>
#include <pybind11/pybind11.h>

namespace dovetail::python {

/// As for the options of readers (options.h). For a dataset, `given` may include the options of its
/// shards.
void set_options(WriterOptions& options, const pybind11::dict& given);
void set_options(DatasetWriterOptions& options, const pybind11::dict& given);

/// Errors: TypeError; `invalid_option` for text other than 32 hex digits.
DatasetId to_dataset_id(const char* name, pybind11::handle given);

/// Sets one option for packing shards. Returns false if there is no such option.
bool set_packing_option(WriterOptions& options, const std::string& name, pybind11::handle given);
/// A docstring: `head` ends with entries of "Args:", then those of these options follow, then `tail`.
std::string with_packing_doc(const char* head, const char* tail);
/// The names of these options as a list for messages.
std::string packing_option_names();

}  // namespace dovetail::python
