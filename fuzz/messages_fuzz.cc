// SPDX-License-Identifier: Apache-2.0
// Parses the messages of the container. What is accepted encodes to a message with the same
// meaning.
#include <cstddef>
#include <cstdint>

#include "format/messages.h"
#include "format/tfrecord/tfrecord_index.h"
#include "fuzz/support.h"

namespace dovetail::fuzz {
namespace {

template <class Decode>
void round_trip(Decode decode, std::string_view bytes) {
  const auto message = decode(as_bytes(bytes));
  if (!message) return;
  const std::string encoded = format::encode(*message);
  const auto again = decode(as_bytes(encoded));
  require(again.has_value(), "what is encoded is accepted");
  require(*again == *message, "what is encoded means the same");
  require(format::encode(*again) == encoded, "encoding gives the same bytes each time");
}

/// Facts, and behind them blocks.
void tfrecord_index(Input input) {
  const std::string_view facts_bytes = input.take(input.byte());
  round_trip(format::decode_tfrecord_facts, facts_bytes);
  const auto facts = format::decode_tfrecord_facts(as_bytes(facts_bytes));
  if (!facts) return;
  format::TfrecordIndexReader reader(facts->info);
  if (!reader.add(as_bytes(input.rest()))) return;
  const auto blocks = reader.finish();
  if (!blocks) return;
  std::uint64_t records = 0;
  for (const format::IndexEntry& block : *blocks) records += block.records;
  require(records == facts->info.records && blocks->size() == facts->info.blocks, "blocks add up to the file");
}

void judge(Input input) {
  const MemoryLimit limit((std::size_t{1} << 20) + 256 * input.rest().size());
  switch (input.byte() % 5) {
    case 0:
      return round_trip(format::decode_metadata, input.rest());
    case 1:
      return round_trip(format::decode_footer, input.rest());
    case 2:
      return round_trip(format::decode_shard_info, input.rest());
    case 3:
      return round_trip(format::decode_tfrecord_facts, input.rest());
    default:
      return tfrecord_index(input);
  }
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge({data, size});
  return 0;
}
