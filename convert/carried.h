// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/error.h>
#include <dovetail/record_writer.h>
#include <dovetail/source_options.h>

#include "convert/input_line.h"

namespace dovetail::detail {

/// The options of the shards, with what they leave open taken from the sources: record type and schema where all sources
/// have the same, every key of the metadata that has the same value in all of them, and the names of classes, see `kClassesKey`.
WriterOptions carry_on(WriterOptions shard, const InputLine& line);

/// Whether two texts of `kClassesKey` name the same classes; one that is empty names none. Errors: `invalid_option` with
/// the first label that they name otherwise, and `where` the other is.
Result<void> check_classes_agree(const std::string& here, const std::string& there, const std::string& where);

/// All that decides which records a source gives, and what they are, as one line; the same for equal options.
std::string describe_options(const SourceOptions& options);

}  // namespace dovetail::detail
