// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace dovetail::tools {

/// One line of JSON with its newline, safe for a terminal (format/text/visible.h). Keys keep the
/// order in which they were added.
std::string to_line(const boost::json::value& value);

}  // namespace dovetail::tools
