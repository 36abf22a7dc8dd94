// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/weights.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "format/text/number_text.h"

namespace dovetail::tools {

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// The digits behind the point, if there is one.
std::optional<std::string_view> decimals_of(std::string_view number) {
  const std::size_t point = number.find('.');
  return point == std::string_view::npos ? std::nullopt : std::optional(number.substr(point + 1));
}

/// Drops the points, after zeros have given all numbers equally many decimals.
std::optional<std::vector<std::uint32_t>> parse_list(std::string_view text, char separator) {
  const std::vector<std::string_view> numbers = split(text, separator);
  std::size_t most = 0;
  for (const std::string_view number : numbers) most = std::max(most, decimals_of(number).value_or("").size());
  std::vector<std::uint32_t> weights;
  for (const std::string_view number : numbers) {
    const std::optional<std::string_view> decimals = decimals_of(number);
    if (number.empty() || (decimals && decimals->empty())) return std::nullopt;
    std::string digits(number);
    if (decimals) digits.erase(digits.find('.'), 1);
    digits.append(most - decimals.value_or("").size(), '0');
    const auto weight = format::parse_number<std::uint32_t>(digits);
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
