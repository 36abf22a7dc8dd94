// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/page_records.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "format/text/count_of.h"
#include "format/try.h"
#include "inspect/record_picker.h"
#include "inspect/record_survey.h"

namespace dovetail::tools {

namespace {

constexpr std::uint64_t kLooks = 96;
constexpr std::uint64_t kCards = 24;

/// The records that are examined, and those that have a card.
class Choice {
 public:
  explicit Choice(std::uint64_t records)
      : records_(records), looks_(std::min(kLooks, records)), cards_(std::min(kCards, looks_)) {}

  std::uint64_t looks() const noexcept { return looks_; }
  std::uint64_t id(std::uint64_t look) const noexcept { return inspect::evenly(look, looks_, records_); }
  bool has_card(std::uint64_t look) const noexcept {
    return look == 0 || look * cards_ / looks_ != (look - 1) * cards_ / looks_;
  }

 private:
  std::uint64_t records_;
  std::uint64_t looks_;
  std::uint64_t cards_;
};

void take(const PlacedRecord& record, bool has_card, PageRecords& into) {
  into.features.add(record.id, record.bytes);
  if (has_card) into.cards.add(record);
}

Result<void> take_packed(const Dataset& dataset, const Choice& choice, PageRecords& into) {
  inspect::RecordPicker picker(dataset);
  std::uint64_t missed = 0;
  std::optional<Error> first;
  for (std::uint64_t look = 0; look < choice.looks(); ++look) {
    const std::uint64_t id = choice.id(look);
    const Dataset::Place place = dataset.locate(id);
    const Result<ByteView> bytes = picker.read(place);
    if (!bytes && bytes.error().kind() != ErrorKind::damaged) return bytes.error();
    if (!bytes) {
      ++missed;
      if (!first) first = bytes.error();
      continue;
    }
    take({id, place.shard, place.record, *bytes}, choice.has_card(look), into);
  }
  if (first) {
    into.trouble = "Of " + format::count_of(choice.looks(), "record") + ' ' + std::to_string(missed) +
                   " could not be read; the first error: " + first->to_string();
  }
  return {};
}

Result<void> take_foreign(inspect::Input input, const Choice& choice, PageRecords& into) {
  DOVETAIL_ASSIGN(RecordStream stream, RecordStream::open(std::move(input), {}));
  for (std::uint64_t look = 0; look < choice.looks();) {
    const Result<std::optional<PlacedRecord>> record = stream.next();
    if (!record && record.error().kind() != ErrorKind::damaged) return record.error();
    if (!record) {
      into.trouble = "No further record can be read: " + record.error().to_string();
      return {};
    }
    if (!record->has_value()) return {};
    if ((*record)->id != choice.id(look)) continue;
    take(**record, choice.has_card(look), into);
    ++look;
  }
  return {};
}

}  // namespace

Result<void> take_records(inspect::Input input, std::uint64_t records, PageRecords& into) {
  const Choice choice(records);
  if (const Dataset* dataset = std::get_if<Dataset>(&input)) return take_packed(*dataset, choice, into);
  return take_foreign(std::move(input), choice, into);
}

}  // namespace dovetail::tools
