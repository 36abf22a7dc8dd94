// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dovetail/record_writer.h>
#include <dovetail/source_options.h>

#include "convert/input_line.h"

namespace dovetail::detail {

/// The options of the shards, with what they leave open taken from the sources: record type and schema where all sources
/// have the same, every key of the metadata that has the same value in all of them, and the names of classes, see `kClassesKey`.
WriterOptions carry_on(WriterOptions shard, const InputLine& line);

/// The first label that two texts of `kClassesKey` name otherwise: `label 0 is "dog" here and "cat"`. Nothing where they
/// name the same classes.
std::optional<std::string> difference_of_classes(const std::string& here, const std::string& there);

/// All that decides which records a source gives, and what they are, as one line; the same for equal options.
std::string describe_options(const SourceOptions& options);

}  // namespace dovetail::detail
