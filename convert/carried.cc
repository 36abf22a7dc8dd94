// SPDX-License-Identifier: Apache-2.0
#include "convert/carried.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <dovetail/convert.h>

#include "format/text/utf8.h"

namespace dovetail::detail {

namespace {

// Returns the value of all sources if they agree, and otherwise the default value.
template <class Value>
Value common(const InputLine& line, Value LineSource::*value) {
  const auto& sources = line.sources();
  const Value& first = sources.front().*value;
  const bool alike =
      std::all_of(sources.begin(), sources.end(), [&](const LineSource& source) { return source.*value == first; });
  return alike ? first : Value();
}

// Encodes class names as a JSON array. Names of folders need not be UTF-8.
std::string classes_text(const std::vector<std::string>& classes) {
  boost::json::array names;
  names.reserve(classes.size());
  for (const std::string& name : classes) names.push_back(boost::json::string(format::to_utf8(name)));
  return boost::json::serialize(names);
}

// A text that is not such a list names no class.
boost::json::array parse_classes(const std::string& text) {
  boost::system::error_code failed;
  const boost::json::value value = boost::json::parse(text, failed);
  return !failed && value.is_array() ? value.get_array() : boost::json::array();
}

}  // namespace

Result<void> check_classes_agree(const std::string& here, const std::string& there, const std::string& where) {
  if (here == there) return {};
  const boost::json::array mine = parse_classes(here);
  const boost::json::array theirs = parse_classes(there);
  const auto name_of = [](const boost::json::array& classes, std::size_t label) {
    return label < classes.size() ? boost::json::serialize(classes[label]) : std::string("none");
  };
  std::size_t label = 0;
  while (label != std::min(mine.size(), theirs.size()) && mine[label] == theirs[label]) ++label;
  if (label == mine.size() && label == theirs.size()) return {};
  return Error(Errc::invalid_option, "label " + std::to_string(label) + " is " + name_of(mine, label) + " here, but " +
                                         name_of(theirs, label) + " in " + where +
                                         "; convert their inputs with --labels and the same --classes FILE");
}

WriterOptions carry_on(WriterOptions shard, const InputLine& line) {
  const auto& sources = line.sources();
  if (shard.record_type.empty()) shard.record_type = common(line, &LineSource::record_type);
  if (!shard.schema) shard.schema = common(line, &LineSource::schema);
  for (const auto& [key, value] : sources.front().metadata) {
    const bool alike = std::all_of(sources.begin(), sources.end(), [&, k = key, v = value](const LineSource& source) {
      const auto found = source.metadata.find(k);
      return found != source.metadata.end() && found->second == v;
    });
    if (alike) shard.metadata.emplace(key, value);
  }
  const std::vector<std::string> classes = common(line, &LineSource::classes);
  if (std::string text = classes_text(classes); !classes.empty() && text.size() <= kMaxClassesBytes) {
    shard.metadata.emplace(kClassesKey, std::move(text));
  }
  return shard;
}

std::string describe_options(const SourceOptions& options) {
  std::array<char, 32> sample{};
  const auto written = std::to_chars(sample.data(), sample.data() + sample.size(), options.sample);
  std::string text = "records=" + std::string(to_string(options.records));
  text += options.labels ? " labels" : "";
  for (const std::string& name : options.classes) text += " class=" + std::to_string(name.size()) + ':' + name;
  for (const std::string& pattern : options.include)
    text += " include=" + std::to_string(pattern.size()) + ':' + pattern;
  for (const std::string& pattern : options.exclude)
    text += " exclude=" + std::to_string(pattern.size()) + ':' + pattern;
  text += " delimiter=" + std::to_string(static_cast<int>(options.csv.delimiter));
  text += options.csv.header ? "" : " no-header";
  for (const auto& [name, type] : options.csv.types) {
    text += " type=" + std::to_string(name.size()) + ':' + name + ':' + std::string(to_string(type));
  }
  for (const std::string& null : options.csv.nulls) text += " null=" + std::to_string(null.size()) + ':' + null;
  text += " first=" + std::to_string(options.first);
  if (options.end) text += " end=" + std::to_string(*options.end);
  text += " sample=" + std::string(sample.data(), written.ptr) + " seed=" + std::to_string(options.sample_seed);
  return text + (options.on_error == OnError::skip ? " skip" : "");
}

}  // namespace dovetail::detail
