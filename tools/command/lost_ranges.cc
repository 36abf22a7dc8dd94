// SPDX-License-Identifier: Apache-2.0
#include "tools/command/lost_ranges.h"

#include <boost/json/object.hpp>

#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"

namespace dovetail::tools {

boost::json::array lost_json(const std::vector<LostRange>& ranges) {
  boost::json::array list;
  for (const LostRange& range : ranges) {
    list.push_back(boost::json::object{{"file", format::to_utf8(range.file)},
                                       {"offset", range.offset},
                                       {"bytes", range.bytes},
                                       {"records", boost::json::array{range.first_record, range.end_record}},
                                       {"reason", format::to_utf8(range.reason)}});
  }
  return list;
}

std::string lost_text(const std::vector<LostRange>& ranges, std::uint64_t places) {
  std::string text;
  for (const LostRange& range : ranges) {
    text += format::visible(range.file) + ':' + std::to_string(range.offset) + ": ";
    if (range.bytes > 0) text += format::count_of(range.bytes, "byte") + ": ";
    if (range.end_record > range.first_record) {
      text += "records [" + std::to_string(range.first_record) + ", " + std::to_string(range.end_record) + "): ";
    }
    text += format::visible(range.reason) + '\n';
  }
  if (places > ranges.size()) text += "and " + format::count_of(places - ranges.size(), "more place") + '\n';
  return text;
}

}  // namespace dovetail::tools
