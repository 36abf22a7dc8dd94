// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/error.h>

namespace dovetail::format {

/// Checks that two texts of `kClassesKey` (convert.h) name the same classes; an empty text names
/// none. Errors: `invalid_option` with the first label that differs; `where` names the other text's
/// place.
Result<void> check_classes_agree(const std::string& here, const std::string& there, const std::string& where);
/// The same where one text may name further classes. Returns whether `here` names more.
Result<bool> check_labels_agree(const std::string& here, const std::string& there, const std::string& where);

}  // namespace dovetail::format
