// SPDX-License-Identifier: Apache-2.0
#include "format/text/class_names.h"

#include <algorithm>
#include <cstddef>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "format/try.h"

namespace dovetail::format {

namespace {

// A text that is not such a list names no class.
boost::json::array parse_classes(const std::string& text) {
  boost::system::error_code failed;
  const boost::json::value value = boost::json::parse(text, failed);
  return !failed && value.is_array() ? value.get_array() : boost::json::array();
}

/// The error if the names of the first `labels` labels differ.
Result<void> check(const boost::json::array& mine, const boost::json::array& theirs, std::size_t labels,
                   const std::string& where) {
  const auto name_of = [](const boost::json::array& classes, std::size_t label) {
    return label < classes.size() ? boost::json::serialize(classes[label]) : std::string("none");
  };
  const std::size_t both = std::min(mine.size(), theirs.size());
  std::size_t label = 0;
  while (label != both && mine[label] == theirs[label]) ++label;
  if (label >= labels) return {};
  return Error(Errc::invalid_option, "label " + std::to_string(label) + " is " + name_of(mine, label) + " here, but " +
                                         name_of(theirs, label) + " in " + where +
                                         "; convert their inputs with --labels and the same --classes FILE");
}

}  // namespace

Result<void> check_classes_agree(const std::string& here, const std::string& there, const std::string& where) {
  if (here == there) return {};
  const boost::json::array mine = parse_classes(here);
  const boost::json::array theirs = parse_classes(there);
  return check(mine, theirs, std::max(mine.size(), theirs.size()), where);
}

Result<bool> check_labels_agree(const std::string& here, const std::string& there, const std::string& where) {
  const boost::json::array mine = parse_classes(here);
  const boost::json::array theirs = parse_classes(there);
  DOVETAIL_TRY(check(mine, theirs, std::min(mine.size(), theirs.size()), where));
  return mine.size() > theirs.size();
}

}  // namespace dovetail::format
