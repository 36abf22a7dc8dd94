// SPDX-License-Identifier: Apache-2.0
#include "tools/command/json.h"

#include <boost/json/serialize.hpp>

#include "format/text/visible.h"

namespace dovetail::tools {

std::string to_line(const boost::json::value& value) {
  return format::visible_json(boost::json::serialize(value)) + '\n';
}

}  // namespace dovetail::tools
