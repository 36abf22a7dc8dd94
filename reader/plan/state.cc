// SPDX-License-Identifier: Apache-2.0
#include <dovetail/state.h>

#include <algorithm>
#include <string>
#include <utility>

#include "format/text/base64.h"
#include "format/try.h"
#include "reader/plan/hash_words.h"
#include "reader/plan/plan_builder.h"
#include "reader/plan/plan_facts.h"

namespace dovetail {
namespace {

constexpr std::uint8_t kVersion = 2;
constexpr std::string_view kTextPrefix = "dvt:";
constexpr std::size_t kFixedBytes = 40;
constexpr std::size_t kPhaseBytes = 16;
constexpr std::size_t kChecksumBytes = 4;

/// Appends little-endian numbers.
class Writer {
 public:
  void put(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<std::byte>(value >> 8 * i));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Takes little-endian numbers off the front; the caller has checked the size.
class Reader {
 public:
  explicit Reader(ByteView bytes) : bytes_(bytes) {}
  std::uint64_t take(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i)
      value |= std::to_integer<std::uint64_t>(bytes_[static_cast<std::size_t>(i)]) << 8 * i;
    bytes_ = bytes_.subspan(static_cast<std::size_t>(bytes));
    return value;
  }
  std::uint32_t take32(int bytes = 4) { return static_cast<std::uint32_t>(take(bytes)); }

 private:
  ByteView bytes_;
};

std::uint32_t checksum(ByteView bytes) {
  std::vector<std::uint64_t> words;
  for (Reader reader(bytes); words.size() < bytes.size() / 8;) words.push_back(reader.take(8));
  return static_cast<std::uint32_t>(detail::hash_words(words).low);
}

Error bad_state(const std::string& why) {
  return Error(Errc::bad_state, why + ": a state is a single word that begins with " + std::string(kTextPrefix) +
                                    ", or the bytes that it stands for");
}

}  // namespace

Result<void> detail::check_state(const State& state) {
  const bool known = state.order <= OrderKind::global && state.assign <= Assign::runs && state.tail <= Tail::wrap;
  const bool in_range = state.replicate != 0 && state.open_runs >= 1 && state.open_runs <= detail::kMaxOpenRuns &&
                        state.pool >= 1 && state.pool <= detail::kMaxPool;
  if (!known || !in_range) return bad_state("it names an option that does not exist");
  if (state.phases.empty() || state.phases.size() > State::kMaxChanges + 1) {
    return bad_state("it has " + std::to_string(state.phases.size()) + " phases");
  }
  for (std::size_t i = 0; i < state.phases.size(); ++i) {
    const State::Phase& phase = state.phases[i];
    const bool last = i + 1 == state.phases.size();
    const bool possible = phase.lanes != 0 && phase.lanes <= detail::kMaxLanes && phase.rows_per_lane != 0 &&
                          phase.steps <= detail::kMaxRecords && (last || phase.steps != 0);
    if (!possible) return bad_state("its phase " + std::to_string(i) + " is impossible");
  }
  return {};
}

Position State::position() const noexcept {
  Position position{epoch, 0};
  for (const Phase& phase : phases) position.step += phase.steps;
  return position;
}

PlanOptions State::options(std::uint32_t world, std::uint32_t batch) const {
  PlanOptions options;
  options.world = world;
  options.batch = batch;
  options.replicate = replicate;
  options.order = order;
  options.assign = assign;
  options.tail = tail;
  options.open_runs = open_runs;
  options.pool = pool;
  options.seed = seed;
  options.sticky = sticky;
  return options;
}

std::vector<std::byte> State::to_bytes() const {
  Writer writer;
  writer.put(kVersion, 1);
  writer.put(static_cast<std::uint64_t>(order) | static_cast<std::uint64_t>(assign) << 2 |
                 static_cast<std::uint64_t>(tail) << 4 | std::uint64_t{sticky} << 6 | std::uint64_t{mixed} << 7,
             1);
  writer.put(open_runs - 1, 2);
  writer.put(pool - 1, 3);
  writer.put(phases.size(), 1);
  writer.put(seed, 8);
  writer.put(content.high, 8);
  writer.put(content.low, 8);
  writer.put(epoch, 4);
  writer.put(replicate, 4);
  for (const Phase& phase : phases) {
    writer.put(phase.steps, 8);
    writer.put(phase.lanes, 4);
    writer.put(phase.rows_per_lane, 4);
  }
  writer.put(checksum(writer.bytes()), 4);
  return writer.take();
}

Result<State> State::from_bytes(ByteView bytes) {
  if (bytes.empty()) return bad_state("it is empty");
  if (std::to_integer<unsigned>(bytes[0]) == 0) return bad_state("its version is 0");
  if (std::to_integer<unsigned>(bytes[0]) < kVersion) {
    return Error(Errc::unsupported_version,
                 "the state is of an older version of the order, which this library no longer supports; begin the "
                 "epoch again, or continue with the version of Dovetail that wrote it");
  }
  if (std::to_integer<unsigned>(bytes[0]) != kVersion) {
    return Error(Errc::unsupported_version, "the state has version " +
                                                std::to_string(std::to_integer<unsigned>(bytes[0])) +
                                                ", but this library reads version " + std::to_string(kVersion));
  }
  if (bytes.size() < kFixedBytes) return bad_state("it is cut off");
  const std::size_t phases = std::to_integer<std::size_t>(bytes[7]);
  const std::size_t size = kFixedBytes + phases * kPhaseBytes + kChecksumBytes;
  if (bytes.size() != size) {
    return bad_state("it has " + std::to_string(bytes.size()) + " bytes instead of " + std::to_string(size));
  }
  if (Reader(bytes.last(kChecksumBytes)).take32() != checksum(bytes.first(size - kChecksumBytes))) {
    return bad_state("its checksum does not match");
  }
  Reader reader(bytes.subspan(1));
  const std::uint64_t kinds = reader.take(1);
  State state;
  state.order = static_cast<OrderKind>(kinds & 3);
  state.assign = static_cast<Assign>(kinds >> 2 & 3);
  state.tail = static_cast<Tail>(kinds >> 4 & 3);
  state.sticky = (kinds >> 6 & 1) != 0;
  state.mixed = (kinds >> 7 & 1) != 0;
  state.open_runs = reader.take32(2) + 1;
  state.pool = reader.take32(3) + 1;
  reader.take(1);
  state.seed = reader.take(8);
  state.content.high = reader.take(8);
  state.content.low = reader.take(8);
  state.epoch = reader.take32();
  state.replicate = reader.take32();
  for (std::size_t i = 0; i < phases; ++i) {
    Phase phase;
    phase.steps = reader.take(8);
    phase.lanes = reader.take32();
    phase.rows_per_lane = reader.take32();
    state.phases.push_back(phase);
  }
  DOVETAIL_TRY(detail::check_state(state));
  return state;
}

std::string State::to_text() const {
  return std::string(kTextPrefix) + format::to_base64url(to_bytes());
}

Result<State> State::from_text(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  if (text.substr(0, kTextPrefix.size()) != kTextPrefix) {
    return bad_state(text.empty() ? "it is empty" : "it has another beginning");
  }
  const auto bytes = format::from_base64url(text.substr(kTextPrefix.size()));
  if (!bytes) return bad_state("it has a character outside base64url, or one is missing");
  return from_bytes(*bytes);
}

}  // namespace dovetail
