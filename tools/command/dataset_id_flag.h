// SPDX-License-Identifier: Apache-2.0
// The flag for the id of a dataset to write.
#pragma once

#include <optional>
#include <string>

#include <dovetail/error.h>
#include <dovetail/identity.h>

#include "tools/command/command_line.h"

namespace dovetail::tools {

inline Flag add_dataset_id(Flags& flags, std::string& text) {
  return flags.add("--dataset-id", text, "32 hex digits, for reproducible files; random if not given").shown_as("ID");
}

/// The id, if the flag was given.
inline Result<std::optional<DatasetId>> dataset_id_of(const std::string& text) {
  if (text.empty()) return std::optional<DatasetId>();
  const Result<DatasetId> id = DatasetId::from_hex(text);
  if (!id) return Error(Errc::invalid_option, "--dataset-id = " + text + ": it must be 32 hex digits");
  return std::optional(*id);
}

}  // namespace dovetail::tools
