// SPDX-License-Identifier: Apache-2.0
// Reads states, as bytes and as text, and saved plans. What is accepted comes back from both forms,
// and a plan continues from it or says why not.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "format/endian.h"
#include "fuzz/support.h"
#include "reader/plan/hash_words.h"
#include "tools/plan/plan_file.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace dovetail::fuzz {
namespace {

enum Form : unsigned { kBytes, kText, kPlan, kForms };

constexpr std::size_t kChecksumBytes = 4;
// A plan takes memory for each lane, and a state may speak of 16 million.
constexpr std::uint32_t kMostLanes = 4096;

void repair_checksum(std::span<std::byte> state) {
  if (state.size() <= kChecksumBytes) return;
  std::vector<std::uint64_t> words;
  const std::size_t covered = state.size() - kChecksumBytes;
  for (std::size_t at = 0; at + 8 <= covered; at += 8) {
    words.push_back(format::load_le<std::uint64_t>(state.data() + at));
  }
  format::store_le(state.data() + covered, static_cast<std::uint32_t>(detail::hash_words(words).low));
}

void resume(const State& state, unsigned shape_bits) {
  for (const State::Phase& phase : state.phases) {
    if (phase.lanes > kMostLanes) return;
  }
  auto shape = std::make_shared<DatasetShape>();
  for (unsigned shard = 0; shard < 1 + shape_bits % 5; ++shard) {
    shape->shards.push_back({37 * (shard + 1), 8, 370 * (shard + 1)});
  }
  shape->fingerprint = state.content;
  const PlanOptions options = state.options(1 + shape_bits / 5 % 4, 1 + shape_bits / 20);
  const auto plan = Plan::resume(shape, options, state);
  if (!plan) return require(!plan.error().to_string().empty(), "a failure says what it is");
  const auto again = plan->state(plan->start());
  require(again.has_value(), "a plan that continues has a state where it begins");
}

void round_trip(const State& state) {
  const auto bytes = state.to_bytes();
  require(bytes.size() <= State::kMaxBytes, "a state is short");
  const auto from_bytes = State::from_bytes(bytes);
  require(from_bytes && *from_bytes == state, "a state comes back from its bytes");
  const auto from_text = State::from_text(state.to_text());
  require(from_text && *from_text == state, "a state comes back from its text");
}

void saved_plan(std::string_view text) {
  const auto saved = tools::saved_plan_from_text(std::string(text));
  if (!saved) return;
  const auto again = tools::saved_plan_from_text(to_text(*saved));
  require(again.has_value(), "a saved plan is accepted again");
  require(to_text(*again) == to_text(*saved), "a saved plan comes back from its text");
}

void judge(Input input) {
  const MemoryLimit limit((std::size_t{4} << 20) + 1024 * input.rest().size());
  const unsigned form = input.byte() % kForms;
  if (form == kPlan) return saved_plan(input.rest());
  const unsigned shape_bits = input.byte();
  const auto state = form == kBytes ? State::from_bytes(as_bytes(input.rest())) : State::from_text(input.rest());
  if (!state) return;
  round_trip(*state);
  resume(*state, shape_bits);
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const std::size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  if (mutated > 2 && data[0] % dovetail::fuzz::kForms == dovetail::fuzz::kBytes && seed % 8 != 0) {
    dovetail::fuzz::repair_checksum(std::as_writable_bytes(std::span(data + 2, mutated - 2)));
  }
  return mutated;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge({data, size});
  return 0;
}
