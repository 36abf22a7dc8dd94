// SPDX-License-Identifier: Apache-2.0
#include "tools/command/json.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "format/text/visible.h"

namespace dovetail::tools {

std::string to_line(const boost::json::value& value) {
  return format::visible_json(boost::json::serialize(value)) + '\n';
}

boost::json::value from_text(const std::string& text) {
  return boost::json::parse(text);
}

}  // namespace dovetail::tools
