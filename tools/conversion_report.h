// SPDX-License-Identifier: Apache-2.0
// The results of a conversion and of an export; text and JSON are views of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/tfrecord_export.h>
#include <boost/json/object.hpp>

namespace dovetail::tools {

struct ConvertSummary {
  ConvertReport report;
  std::vector<std::string> names;   ///< Names of the datasets of a split.
  std::optional<ConvertPart> part;  ///< Set for a part.
  double seconds = 0;
};

boost::json::object to_json(const ConvertSummary& summary);
std::string to_text(const ConvertSummary& summary);
boost::json::object to_json(const TfrecordExportReport& report);
std::string to_text(const TfrecordExportReport& report);

}  // namespace dovetail::tools
