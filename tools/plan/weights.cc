// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/weights.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "format/text/number_text.h"

namespace dovetail::tools {

namespace {

/// A decimal number as it was written: its digits without the point, and the number of decimals.
struct Decimal {
  std::uint64_t digits = 0;
  std::uint32_t decimals = 0;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) {
    const auto whole = format::parse_number<std::uint64_t>(text);
    return whole ? std::optional(Decimal{*whole, 0}) : std::nullopt;
  }
  const std::string_view decimals = text.substr(point + 1);
  const auto digits = format::parse_number<std::uint64_t>(std::string(text.substr(0, point)) + std::string(decimals));
  if (!digits || decimals.empty()) return std::nullopt;
  return Decimal{*digits, static_cast<std::uint32_t>(decimals.size())};
}

/// `value` times 10 to the power of `places`; empty if out of range.
std::optional<std::uint32_t> shift(std::uint64_t value, std::uint32_t places) {
  for (; places > 0 && value != 0; --places) {
    if (value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    value *= 10;
  }
  if (value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

std::optional<std::vector<std::uint32_t>> parse_list(std::string_view text, char separator) {
  std::vector<Decimal> numbers;
  std::uint32_t decimals = 0;
  for (const std::string_view part : split(text, separator)) {
    const auto number = parse_decimal(part);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    decimals = std::max(decimals, number->decimals);
  }
  std::vector<std::uint32_t> weights;
  for (const Decimal& number : numbers) {
    const auto weight = shift(number.digits, decimals - number.decimals);
    if (!weight) return std::nullopt;
    weights.push_back(*weight);
  }
  return weights;
}

std::optional<MixWeights> parse_entry(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const auto step = format::parse_number<std::uint64_t>(text.substr(0, equals));
  auto weights = parse_list(text.substr(equals + 1), ':');
  if (!step || !weights) return std::nullopt;
  return MixWeights{*step, std::move(*weights)};
}

std::optional<std::vector<MixWeights>> parse(std::string_view text) {
  std::vector<MixWeights> schedule;
  if (text.find('=') == std::string_view::npos) {
    auto weights = parse_list(text, ',');
    if (!weights) return std::nullopt;
    schedule.push_back({0, std::move(*weights)});
    return schedule;
  }
  for (const std::string_view part : split(text, ',')) {
    auto entry = parse_entry(part);
    if (!entry) return std::nullopt;
    schedule.push_back(std::move(*entry));
  }
  return schedule;
}

}  // namespace

Result<std::vector<MixWeights>> parse_weights(std::string_view text) {
  auto schedule = parse(text);
  if (schedule) return std::move(*schedule);
  return Error(Errc::invalid_option, "--weights = " + std::string(text) +
                                         ": it must be one number per source, such as 3,1 or 0.7,0.3, or a schedule by "
                                         "steps, such as 0=3:1,1000=1:1; numbers have at most nine digits");
}

std::string to_text(const std::vector<MixWeights>& schedule) {
  std::string text;
  for (const MixWeights& entry : schedule) {
    text += (text.empty() ? "" : ",") + std::to_string(entry.from_step) + '=';
    for (std::size_t source = 0; source < entry.weights.size(); ++source) {
      text += (source == 0 ? "" : ":") + std::to_string(entry.weights[source]);
    }
  }
  return text;
}

}  // namespace dovetail::tools
