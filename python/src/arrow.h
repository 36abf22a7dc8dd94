// SPDX-License-Identifier: Apache-2.0
// Batches and datasets for whoever reads Arrow: https://arrow.apache.org/docs/format/CDataInterface.html.
#pragma once

#include <memory>
#include <optional>

#include <dovetail/batch.h>
#include <dovetail/bytes.h>
#include <dovetail/dataset.h>
#include <dovetail/schema.h>
#include <pybind11/pybind11.h>

namespace dovetail::python {

/// What `__arrow_c_array__` returns: capsules of the schema and of a struct array, one field per column; without columns
/// one field, "record", of `values`. The buffers are those of the batch, which the array keeps.
/// Errors: `invalid_option` for offsets that were written to.
pybind11::tuple to_arrow_array(const std::shared_ptr<const Batch>& batch, ByteView values);

/// What `__arrow_c_stream__` returns: all records in their order, in these columns, if any. Buffers are copies, because
/// a consumer may hold the arrays of all batches at a time.
/// Errors: those of `BatchReader::open`.
pybind11::object to_arrow_stream(const Dataset& dataset, std::optional<Schema> schema);

}  // namespace dovetail::python
