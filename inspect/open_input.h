// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <variant>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/record_source.h>

namespace dovetail::inspect {

/// The content of a path: a dataset, or records in another format.
using Input = std::variant<Dataset, RecordSource>;

/// Opens a path as `from` requests. `detect` tries a dataset, then records of a known format, then
/// the files of a folder. `cancelled` is polled while such a source is opened and read, as
/// `SourceOptions::cancelled`.
///
/// Errors: if all fail, the error of the source. Or the error of the dataset, if a shard is damaged
///         or there is no file at all.
Result<Input> open_input(const std::string& path, SourceFormat from = SourceFormat::detect,
                         std::function<bool()> cancelled = {});

}  // namespace dovetail::inspect
