// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <dovetail/error.h>

namespace dovetail::tools {

/// The whole of a small file. Errors: the system's; `bad_state` for more than `max_bytes`.
Result<std::string> read_text(const std::string& path, std::size_t max_bytes);

/// Whether output may be written to a path, before the work for it is done. Errors: `already_exists`
/// for a file of Dovetail's, which is never replaced by a text; the system's, with what to do about
/// a folder that is missing.
Result<void> check_output(const std::string& path);

/// The same for output that is written to a file as it is, and needs no other one beside it.
/// Errors: as above, but for a folder that may not be written to.
Result<void> check_not_replaced(const std::string& path);

/// Replaces a file in one go: whoever reads it, and whatever fails, finds the old text or the new one, also after a
/// power cut. Devices and pipes are written to as they are.
/// Errors: the system's, naming the file; what was written in part is removed.
Result<void> replace_text(const std::string& path, std::string_view text);

}  // namespace dovetail::tools
