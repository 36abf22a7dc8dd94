// SPDX-License-Identifier: Apache-2.0
// Names, metadata and records come from anywhere; what is printed of them must not move a terminal's cursor, forge a line
// or turn text around.
#pragma once

#include <string>
#include <string_view>

namespace dovetail::format {

/// Text for one line. Control characters (C0, DEL, C1), line and paragraph separators, marks that change the direction of
/// writing or have no width, and bytes that are not UTF-8 become `\n`, `\t`, `\r`, `\x1b`, `\u202e`, `\U000e0041`; all
/// others stay.
std::string visible(std::string_view text);

/// The same for text of many lines: line breaks and tabs stay as well.
std::string visible_lines(std::string_view text);

/// The same JSON with all such characters as `\u009b`. Needs: JSON in UTF-8, where they are in strings only.
std::string visible_json(std::string json);

}  // namespace dovetail::format
