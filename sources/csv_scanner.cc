// SPDX-License-Identifier: Apache-2.0
#include "sources/csv_scanner.h"

#include <string>

namespace dovetail::detail {

std::size_t CsvEnds::find(ByteView piece) noexcept {
  constexpr std::byte kQuote{'"'};
  constexpr std::byte kNewline{'\n'};
  for (std::size_t at = 0; at < piece.size(); ++at) {
    const std::byte byte = piece[at];
    if (place_ == Place::quoted) {
      if (byte == kQuote) place_ = Place::quote;
      if (byte == kNewline) ++newlines_;
    } else if (byte == kNewline) {
      ++newlines_;
      place_ = Place::field_begin;
      return at;
    } else if (byte == delimiter_) {
      place_ = Place::field_begin;
    } else if (byte == kQuote && place_ != Place::plain) {
      place_ = Place::quoted;  // the field begins, or this is the second quote of a doubled one
    } else {
      place_ = Place::plain;
    }
  }
  return kNoEnd;
}

Result<void> CsvEnds::check_last(std::uint64_t number) const {
  if (place_ != Place::quoted) return {};
  return Error(Errc::malformed_input, "row " + std::to_string(number) + ": the input ends in a quoted field");
}

}  // namespace dovetail::detail
