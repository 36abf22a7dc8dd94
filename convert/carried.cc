// SPDX-License-Identifier: Apache-2.0
#include "convert/carried.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/system/errc.hpp>

#include <dovetail/convert.h>
#include <dovetail/record_reader.h>

#include "format/text/class_names.h"
#include "format/text/utf8.h"
#include "format/try.h"
#include "sources/shard_records.h"

namespace dovetail::detail {

namespace {

// Returns the value of all sources if they agree, and otherwise the default value.
template <class Value, class Holder>
Value common(const InputLine& line, Value Holder::*value) {
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

std::string classes_in(const ShardDescription& shard) {
  const auto classes = shard.metadata.find(std::string(kClassesKey));
  return classes == shard.metadata.end() ? std::string() : classes->second;
}

/// Names of the columns that are not the same in both.
std::vector<std::string> differing_columns(const Schema& a, const Schema& b) {
  std::map<std::string_view, const Column*> by_name;
  for (const Column& column : b.columns) by_name.emplace(column.name, &column);
  std::vector<std::string> names;
  for (const Column& column : a.columns) {
    const auto other = by_name.find(column.name);
    if (other == by_name.end() || *other->second != column) names.push_back(column.name);
    if (other != by_name.end()) by_name.erase(other);
  }
  for (const auto& [name, column] : by_name) names.emplace_back(name);
  return names;
}

/// Texts that are not schemas are the same only if they are equal.
bool are_same_columns(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto first = parse_schema(a);
  const auto second = parse_schema(b);
  return first && second && differing_columns(*first, *second).empty();
}

Result<void> check_agree(const ShardDescription& here, const ShardDescription& there, const std::string& where) {
  const auto differ = [&](const std::string& what, const std::string& mine, const std::string& theirs) {
    return Error(Errc::invalid_option, "the " + what + " is \"" + mine + "\" here, but \"" + theirs + "\" in " + where +
                                           "; convert the shards of each dataset separately");
  };
  if (here.record_type != there.record_type) return differ("record type", here.record_type, there.record_type);
  if (!are_same_columns(here.schema, there.schema)) return differ("schema", here.schema, there.schema);
  return format::check_classes_agree(classes_in(here), classes_in(there), where);
}

}  // namespace

Result<void> check_shards_agree(const std::string& path, const SourceOptions& options) {
  DOVETAIL_ASSIGN(const auto listing, list_dataset(path, options));
  std::optional<ShardDescription> first;
  std::string first_path;
  for (const ShardShare& share : listing.shares) {
    if (options.cancelled && options.cancelled()) {
      return Error(make_error_code(boost::system::errc::operation_canceled), "interrupted").in_file(path);
    }
    const auto reader = RecordReader::open(*listing.dataset, share.shard);
    if (!reader) continue;
    const std::string shard_path = listing.dataset->shard_path(share.shard);
    if (!first) {
      first = reader->shard();
      first_path = shard_path;
    } else if (auto agree = check_agree(reader->shard(), *first, first_path); !agree) {
      return agree.error().in_file(shard_path);
    }
  }
  return {};
}

std::optional<std::string> schema_difference(const InputLine& line) {
  constexpr std::size_t kMostShown = 3;
  constexpr std::size_t kShownName = 40;
  const auto& sources = line.sources();
  const LineSource& first = sources.front();
  for (const LineSource& source : sources) {
    if (source.schema == first.schema) continue;
    if (!source.schema || !first.schema) return (source.schema ? first : source).path + " has none";
    const std::vector<std::string> names = differing_columns(*first.schema, *source.schema);
    if (names.empty()) continue;
    std::string text = "the sources differ in ";
    for (std::size_t i = 0; i != std::min(names.size(), kMostShown); ++i) {
      text += (i == 0 ? "" : ", ") + format::shortened(names[i], kShownName);
    }
    return names.size() <= kMostShown ? text : text + " and " + std::to_string(names.size() - kMostShown) + " more";
  }
  return std::nullopt;
}

WriterOptions carry_on(WriterOptions shard, const InputLine& line) {
  const auto& sources = line.sources();
  if (shard.record_type.empty()) shard.record_type = common(line, &LineSource::record_type);
  if (!shard.schema && !schema_difference(line)) shard.schema = sources.front().schema;
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
  const auto add = [&text](const char* word, const std::string& value) {
    text += std::string(" ") + word + '=' + std::to_string(value.size()) + ':' + value;
  };
  for (const std::string& name : options.classes) add("class", name);
  for (const std::string& pattern : options.include) add("include", pattern);
  for (const std::string& pattern : options.exclude) add("exclude", pattern);
  text += " delimiter=" + std::to_string(static_cast<int>(options.csv.delimiter));
  text += options.csv.header ? "" : " no-header";
  for (const auto& [name, type] : options.csv.types) {
    add("type", name);
    text += ':' + std::string(to_string(type));
  }
  for (const std::string& null : options.csv.nulls) add("null", null);
  text += " first=" + std::to_string(options.first);
  if (options.end) text += " end=" + std::to_string(*options.end);
  text += " sample=" + std::string(sample.data(), written.ptr) + " seed=" + std::to_string(options.sample_seed);
  return text + (options.on_error == OnError::skip ? " skip" : "");
}

}  // namespace dovetail::detail
