// SPDX-License-Identifier: Apache-2.0
// Batches and datasets for consumers of Arrow:
// https://arrow.apache.org/docs/format/CDataInterface.html.
#pragma once

#include <memory>
#include <optional>

#include <dovetail/batch.h>
#include <dovetail/bytes.h>
#include <dovetail/dataset.h>
#include <dovetail/schema.h>
#include <pybind11/pybind11.h>

namespace dovetail::python {

/// The result of `__arrow_c_array__`: capsules of a schema and of a struct array with one field per
/// column. Without columns there is one field, "record", of `values`. The array uses the buffers of
/// the batch and keeps the batch.
/// Errors: `invalid_option` if the offsets were written to.
pybind11::tuple to_arrow_array(const std::shared_ptr<const Batch>& batch, ByteView values);

/// The result of `__arrow_c_stream__`: all records in order, in these columns if any. The buffers
/// are copies, because a consumer may hold the arrays of all batches at the same time.
/// Errors: those of `BatchReader::open`.
pybind11::object to_arrow_stream(const Dataset& dataset, std::optional<Schema> schema);

}  // namespace dovetail::python
