// SPDX-License-Identifier: Apache-2.0
// What a conversion has made; text and JSON are views of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/error.h>
#include <dovetail/tfrecord_export.h>
#include <boost/json/object.hpp>

namespace dovetail::tools {

struct ConvertSummary {
  ConvertReport report;
  std::vector<std::string> names;   ///< Of the datasets of a split.
  std::optional<ConvertPart> part;  ///< Where it is one.
  bool shuffled = false;            ///< All records, while they were packed.
  std::uint64_t run_bytes = 0;      ///< The target that the length of runs was chosen by; 0 where it was given.
  double seconds = 0;
};

boost::json::object to_json(const ConvertSummary& summary);
std::string to_text(const ConvertSummary& summary);
boost::json::object to_json(const TfrecordExportReport& report);
std::string to_text(const TfrecordExportReport& report);

/// Reads I/N, or `auto` for the rank and the world that the launcher gives.
Result<ConvertPart> parse_part(std::string_view text);

}  // namespace dovetail::tools
