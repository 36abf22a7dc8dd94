// SPDX-License-Identifier: Apache-2.0
#include "tools/conversion_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <boost/json/array.hpp>

#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "tools/command/json.h"
#include "tools/command/render.h"

namespace dovetail::tools {

namespace {

std::uint64_t records_of(const DatasetInfo& dataset) {
  std::uint64_t records = 0;
  for (const ShardInfo& shard : dataset.shards) records += shard.records;
  return records;
}

/// The most items of a list that a line shows: enough to recognise the list.
constexpr std::size_t kShown = 10;

// For example "cat 0, dog 1". A long list is cut, with the total.
std::string text_of(const std::vector<std::string>& classes) {
  std::string text;
  for (std::size_t label = 0; label != std::min(classes.size(), kShown); ++label) {
    text += (label == 0 ? "" : ", ") + classes[label] + " " + std::to_string(label);
  }
  if (classes.size() > kShown) text += ", ...; " + std::to_string(classes.size()) + " in all";
  return text;
}

// For example "csv: id int64, name bytes". A long list of columns is cut, with the total.
std::string format_of(const ConvertedSource& source) {
  if (source.format == SourceFormat::folder) return "folder: each file is a record";
  std::string text(to_string(source.format));
  for (std::size_t i = 0; i != std::min(source.columns.size(), kShown); ++i) {
    text += (i == 0 ? ": " : ", ") + source.columns[i].name + " " + std::string(to_string(source.columns[i].type));
  }
  if (source.columns.size() > kShown) text += ", ...; " + format::count_of(source.columns.size(), "column");
  return text;
}

// For example "id:i64, name:bytes". A long list of columns is cut, with the total.
std::string text_of(Schema schema) {
  const std::size_t all = schema.columns.size();
  schema.columns.resize(std::min(all, kShown));
  return to_text(schema) + (all > kShown ? ", ...; " + format::count_of(all, "column") : "");
}

// Shows equal lines once, because a pattern may match thousands of similar sources.
class DistinctLines {
 public:
  void add(std::string text) {
    if (!text.empty() && lines_.size() < kShown && std::find(lines_.begin(), lines_.end(), text) == lines_.end()) {
      lines_.push_back(std::move(text));
    }
  }
  void write(const std::string& name, Listing& listing) const {
    for (const std::string& line : lines_) listing.add(name, line);
  }

 private:
  std::vector<std::string> lines_;
};

void add_sources(const std::vector<ConvertedSource>& sources, Listing& listing) {
  LeftOut left_out;
  DistinctLines formats;
  DistinctLines classes;
  for (const ConvertedSource& source : sources) {
    left_out += source.left_out;
    formats.add(format_of(source));
    classes.add(text_of(source.classes));
  }
  formats.write("format", listing);
  classes.write("classes", listing);
  if (left_out != LeftOut()) listing.add("left out", to_string(left_out));
}

boost::json::object to_json(const LeftOut& left_out) {
  return {{"hidden", left_out.hidden},   {"litter", left_out.litter},     {"dangling", left_out.dangling},
          {"special", left_out.special}, {"excluded", left_out.excluded}, {"unlabelled", left_out.unlabelled}};
}

boost::json::object to_json(const ConvertedSource& source) {
  boost::json::object json = {{"path", format::to_utf8(source.path)}, {"format", to_string(source.format)}};
  if (source.left_out != LeftOut()) json["left_out"] = to_json(source.left_out);
  if (!source.classes.empty()) json["classes"] = texts_json(source.classes);
  if (!source.columns.empty()) {
    boost::json::array columns;
    for (const CsvColumn& column : source.columns) {
      columns.push_back(
          boost::json::object{{"name", format::to_utf8(column.name)}, {"type", std::string(to_string(column.type))}});
    }
    json["columns"] = std::move(columns);
  }
  return json;
}

std::string text_of(const ConvertPart& part) {
  return std::to_string(part.number) + "/" + std::to_string(part.parts);
}

}  // namespace

boost::json::object to_json(const ConvertSummary& summary) {
  const ConvertReport& report = summary.report;
  boost::json::object json;
  if (summary.part) json["part"] = text_of(*summary.part);
  if (report.datasets.size() == 1) json["manifest"] = format::to_utf8(report.datasets.front().manifest);
  if (!report.datasets.empty()) json["dataset_id"] = report.datasets.front().id.to_hex();
  if (!summary.names.empty()) {
    boost::json::array datasets;
    for (std::size_t i = 0; i != report.datasets.size(); ++i) {
      datasets.push_back(boost::json::object{{"name", format::to_utf8(summary.names[i])},
                                             {"manifest", format::to_utf8(report.datasets[i].manifest)},
                                             {"records", records_of(report.datasets[i])}});
    }
    json["datasets"] = std::move(datasets);
  }
  if (!report.formats.empty()) {
    boost::json::array formats;
    for (const SourceFormat format : report.formats) formats.push_back(boost::json::string(to_string(format)));
    json["formats"] = std::move(formats);
    boost::json::array sources;
    for (const ConvertedSource& source : report.sources) sources.push_back(to_json(source));
    json["sources"] = std::move(sources);
    json["files"] = report.files;
    json["input_bytes"] = report.input_bytes;
  }
  if (report.schema) json["schema"] = format::to_utf8(to_text(*report.schema));
  json["records"] = report.records;
  json["raw_bytes"] = report.raw_bytes;
  json["skipped"] = report.skipped;
  json["shards"] = report.shards;
  json["kept_shards"] = report.kept_shards;
  json["stored_bytes"] = report.stored_bytes;
  json["seconds"] = summary.seconds;
  json["notes"] = texts_json(report.notes);
  return json;
}

std::string to_text(const ConvertSummary& summary) {
  const ConvertReport& report = summary.report;
  Listing listing;
  if (summary.part)
    listing.add("part", text_of(*summary.part) + "; run `dovetail merge` after all parts are converted");
  for (std::size_t i = 0; i != report.datasets.size(); ++i) {
    const DatasetInfo& dataset = report.datasets[i];
    const std::string of = summary.names.empty() ? "" : ", " + format::count_of(records_of(dataset), "record");
    listing.add("manifest", dataset.manifest + of);
  }
  if (!report.datasets.empty()) listing.add("dataset", report.datasets.front().id.to_hex());
  if (!report.formats.empty()) {
    listing.add("input", format::count_of(report.files, "file") + ", " + format::human_bytes(report.input_bytes));
    add_sources(report.sources, listing);
  }
  if (report.schema) listing.add("columns", text_of(*report.schema));
  listing.add("records", std::to_string(report.records) + ", " + format::human_bytes(report.raw_bytes));
  if (report.skipped != 0) listing.add("skipped", report.skipped);
  std::string shards = std::to_string(report.shards) + ", " + format::human_bytes(report.stored_bytes) + " stored";
  if (report.kept_shards != 0) shards += ", " + std::to_string(report.kept_shards) + " of an earlier run";
  listing.add("shards", shards);
  std::string text = listing.to_text();
  for (const std::string& note : report.notes) text += "note: " + format::visible(note) + '\n';
  return text;
}

boost::json::object to_json(const TfrecordExportReport& report) {
  return {{"files", texts_json(report.files)},
          {"records", report.records},
          {"raw_bytes", report.raw_bytes},
          {"skipped", report.skipped},
          {"stored_bytes", report.stored_bytes}};
}

std::string to_text(const TfrecordExportReport& report) {
  Listing listing;
  if (!report.files.empty()) listing.add("first file", report.files.front());
  listing.add("files", std::to_string(report.files.size()) + ", " + format::human_bytes(report.stored_bytes));
  listing.add("records", std::to_string(report.records) + ", " + format::human_bytes(report.raw_bytes));
  if (report.skipped != 0) listing.add("skipped", report.skipped);
  return listing.to_text();
}

}  // namespace dovetail::tools
