// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/error.h>
#include <dovetail/record_writer.h>
#include <dovetail/source_options.h>

#include "convert/input_line.h"

namespace dovetail::detail {

/// The options of the shards, completed from the sources: record type and schema if all sources
/// have the same, each metadata key with the same value in all of them, and the class names, see
/// `kClassesKey`.
WriterOptions carry_on(WriterOptions shard, const InputLine& line);

/// Checks that two texts of `kClassesKey` name the same classes; an empty text names none. Errors:
/// `invalid_option` with the first label that differs; `where` names the other text's place.
Result<void> check_classes_agree(const std::string& here, const std::string& there, const std::string& where);

/// All options that decide which records a source gives and their form, as one line; the same for
/// equal options.
std::string describe_options(const SourceOptions& options);

}  // namespace dovetail::detail
