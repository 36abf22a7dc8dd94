// SPDX-License-Identifier: Apache-2.0
#include "convert/changed_numbers.h"

#include "format/text/count_of.h"

namespace dovetail::detail {

void ChangedNumbers::add(const LineCursor& cursor) {
  std::string text = cursor.changed_number();
  if (text.empty()) return;
  const std::lock_guard lock(mutex_);
  const std::pair at(cursor.place(), cursor.ordinal());
  if (records_++ != 0 && at >= first_at_) return;
  first_at_ = at;
  first_ = std::move(text) + ", in line " + std::to_string(cursor.line()) + " of " + cursor.file();
}

std::string ChangedNumbers::note() const {
  if (records_ == 0) return {};
  return "32-bit floats change large numbers in " + format::count_of(records_, "record") + ": " + first_ +
         "; store such numbers as whole numbers or texts to keep them";
}

}  // namespace dovetail::detail
