// SPDX-License-Identifier: Apache-2.0
// Names, metadata and records come from anywhere. Printing them must not move a terminal's cursor,
// forge a line or reverse text.
#pragma once

#include <string>
#include <string_view>

namespace dovetail::format {

/// Makes a text safe for one line. Escapes control characters (C0, DEL, C1), separators of lines
/// and paragraphs, and bytes that are not UTF-8. Also escapes marks that change the direction of
/// writing or have no width. Escapes are `\n`, `\t`, `\r`, `\x1b`, `\u202e`, `\U000e0041`. All
/// other characters stay.
std::string visible(std::string_view text);

/// The same for a text of many lines: line breaks and tabs stay, too.
std::string visible_lines(std::string_view text);

/// Escapes all such characters in JSON as `\u009b`. Needs: JSON in UTF-8, which has them only in
/// strings.
std::string visible_json(std::string json);

}  // namespace dovetail::format
