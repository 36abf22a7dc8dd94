// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sample_records.h"

#include <iterator>

namespace dovetail::test {

std::uint64_t Draws::next() noexcept {
  state_ += 0x9E3779B97F4A7C15ull;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

std::string noise(std::size_t size, std::uint64_t seed) {
  Draws draws(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(draws.below(256));
  return text;
}

std::string prose(std::size_t size, std::uint64_t seed) {
  static const char* const kWords[] = {"dove ", "tail ", "joint ", "board ", "saw ", "pin ", "glue ", "clamp "};
  Draws draws(seed);
  std::string text;
  while (text.size() < size) text += kWords[draws.below(std::size(kWords))];
  text.resize(size);
  return text;
}

Records sample_records(std::size_t count, std::size_t most, std::uint64_t seed) {
  Draws draws(seed);
  Records records;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = draws.below(8) == 0 ? 0 : draws.below(most + 1);
    records.push_back(draws.below(2) == 0 ? noise(size, draws.next()) : prose(size, draws.next()));
  }
  return records;
}

Records numbered_records(std::size_t count, const std::string& prefix) {
  Records records;
  for (std::size_t i = 0; i < count; ++i) {
    records.push_back(i == 0 ? "" : prefix + " " + std::to_string(i) + std::string(i % 7, '.'));
  }
  return records;
}

}  // namespace dovetail::test
