// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/page_records.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "format/text/count_of.h"
#include "format/try.h"
#include "inspect/record_picker.h"
#include "inspect/record_survey.h"

namespace dovetail::tools {

namespace {

constexpr std::uint64_t kLooks = 96;
constexpr std::uint64_t kCards = 24;

/// A record that is examined, and perhaps has a card.
struct Look {
  std::uint64_t id = 0;
  bool has_card = false;
};

std::vector<Look> choose(std::uint64_t records) {
  const std::uint64_t count = std::min(kLooks, records);
  const std::uint64_t cards = std::min(kCards, count);
  std::vector<Look> looks;
  for (std::uint64_t i = 0; i < count; ++i) {
    looks.push_back({inspect::evenly(i, count, records), i == 0 || i * cards / count != (i - 1) * cards / count});
  }
  return looks;
}

void take(const PlacedRecord& record, const Look& look, PageRecords& into) {
  into.features.add(record.id, record.bytes);
  if (look.has_card) into.cards.add(record);
}

Result<void> take_packed(const Dataset& dataset, const std::vector<Look>& looks, PageRecords& into) {
  inspect::RecordPicker picker(dataset);
  std::uint64_t missed = 0;
  std::optional<Error> first;
  for (const Look& look : looks) {
    const Dataset::Place place = dataset.locate(look.id);
    const Result<ByteView> bytes = picker.read(place);
    if (!bytes && bytes.error().kind() != ErrorKind::damaged) return bytes.error();
    if (!bytes) {
      ++missed;
      if (!first) first = bytes.error();
      continue;
    }
    take({look.id, place.shard, place.record, *bytes}, look, into);
  }
  if (first) {
    into.trouble = "Of " + format::count_of(looks.size(), "record") + ' ' + std::to_string(missed) +
                   " could not be read; the first error: " + first->to_string();
  }
  return {};
}

Result<void> take_foreign(inspect::Input input, const std::vector<Look>& looks, PageRecords& into) {
  DOVETAIL_ASSIGN(RecordStream stream, RecordStream::open(std::move(input), {}));
  for (auto look = looks.begin(); look != looks.end();) {
    const Result<std::optional<PlacedRecord>> record = stream.next();
    if (!record && record.error().kind() != ErrorKind::damaged) return record.error();
    if (!record) {
      into.trouble = "No further record can be read: " + record.error().to_string();
      return {};
    }
    if (!record->has_value()) return {};
    if ((*record)->id == look->id) take(**record, *look++, into);
  }
  return {};
}

}  // namespace

Result<void> take_records(inspect::Input input, std::uint64_t records, PageRecords& into) {
  const std::vector<Look> looks = choose(records);
  if (const Dataset* dataset = std::get_if<Dataset>(&input)) return take_packed(*dataset, looks, into);
  return take_foreign(std::move(input), looks, into);
}

}  // namespace dovetail::tools
