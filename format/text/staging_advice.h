// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dovetail::format {

/// The beginning of an error about a dataset that is being written in a staging folder: how to
/// finish it. Names `dovetail merge` only if the path shows the name of the target, which `.` does
/// not.
std::string staging_advice(std::string_view staged);

/// The same if no conversion is there, but a `DatasetWriter` or `recover`.
std::string stopped_writer_advice(const std::string& folder);

}  // namespace dovetail::format
