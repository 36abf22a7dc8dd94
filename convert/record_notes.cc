// SPDX-License-Identifier: Apache-2.0
#include "convert/record_notes.h"

#include <cstddef>
#include <string_view>

#include "format/text/count_of.h"
#include "format/text/utf8.h"

namespace dovetail::detail {

void RecordNotes::add(const LineCursor& cursor) {
  constexpr std::size_t kMostShown = 60;
  if (std::string text = cursor.changed_number(); !text.empty()) {
    text += ", in line " + std::to_string(cursor.line()) + " of " + cursor.file();
    count(changed_numbers_, cursor, std::move(text));
  }
  if (cursor.repeats_key()) {
    count(repeated_keys_, cursor, '"' + format::shortened(cursor.key(), kMostShown) + "\" in " + cursor.file());
  }
}

void RecordNotes::count(Noted& noted, const LineCursor& cursor, std::string first) {
  const std::pair at(cursor.place(), cursor.ordinal());
  const std::lock_guard lock(mutex_);
  if (noted.records++ != 0 && at >= noted.first_at) return;
  noted.first_at = at;
  noted.first = std::move(first);
}

std::vector<std::string> RecordNotes::texts(bool kept_shards) const {
  const std::string_view scope = kept_shards ? " (the shards of an earlier call are not counted)" : "";
  const auto records = [](const Noted& noted) { return format::count_of(noted.records, "record"); };
  std::vector<std::string> texts;
  if (changed_numbers_.records != 0) {
    texts.push_back("32-bit floats change large numbers in " + records(changed_numbers_) + std::string(scope) + ": " +
                    changed_numbers_.first + "; store such numbers as whole numbers or texts to keep them");
  }
  if (repeated_keys_.records != 0) {
    texts.push_back(records(repeated_keys_) + (repeated_keys_.records == 1 ? " has" : " have") +
                    " a key that an earlier record of the same tar has" + std::string(scope) + ": " +
                    repeated_keys_.first + "; members of a key must be adjacent, as `tar --sort=name` stores them");
  }
  return texts;
}

}  // namespace dovetail::detail
