// SPDX-License-Identifier: Apache-2.0
// The flag for the columns into which a command decodes records.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <dovetail/dataset.h>
#include <dovetail/schema.h>

#include "tools/command/command_line.h"

namespace dovetail::tools {

inline void add_columns(Flags& flags, std::optional<std::string>& columns) {
  flags
      .add("--columns", columns,
           "Decode features into these columns, such as 'image:u8[28,28,1], label:i64'; all: those of the dataset")
      .shown_as("SCHEMA");
}

/// The requested columns, if any.
inline Result<std::optional<Schema>> columns_of(const Dataset& dataset, const std::optional<std::string>& asked_for) {
  if (!asked_for) return std::optional<Schema>();
  Result<Schema> schema = *asked_for == "all" ? dataset.schema() : parse_schema(*asked_for);
  if (!schema) return schema.error();
  return std::optional<Schema>(std::move(*schema));
}

}  // namespace dovetail::tools
