// SPDX-License-Identifier: Apache-2.0
// Arguments that several subcommands take, and their values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/schema.h>
#include <dovetail/source_options.h>

#include "tools/command/command_line.h"

namespace dovetail::tools {

/// The positional PATH of one or more datasets.
void add_paths(Flags& flags, std::vector<std::string>& paths);
/// Opens these datasets and joins them in order. Errors: those of `Dataset::open` and
/// `Dataset::join`.
Result<Dataset> open_datasets(const std::vector<std::string>& paths);

/// The positional PATH of records in any format, and `--from`.
void add_input(Flags& flags, std::string& path, SourceFormat& from);
void add_from(Flags& flags, SourceFormat& from, const std::string& help);

/// The columns into which a command decodes records.
void add_columns(Flags& flags, std::optional<std::string>& columns);
/// These columns, if the flag was given.
Result<std::optional<Schema>> columns_of(const Dataset& dataset, const std::optional<std::string>& asked_for);

/// The id of a dataset to write.
Flag add_dataset_id(Flags& flags, std::string& text);
/// The id, if the flag was given.
Result<std::optional<DatasetId>> dataset_id_of(const std::string& text);

/// Parses I/N, or takes rank and world from the launcher for `auto`.
Result<ConvertPart> parse_part(std::string_view text);

void add_json(Flags& flags, bool& json);
void add_no_pager(Flags& flags, bool& no_pager);

}  // namespace dovetail::tools
