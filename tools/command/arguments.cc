// SPDX-License-Identifier: Apache-2.0
#include "tools/command/arguments.h"

#include <cstdint>
#include <utility>

#include <dovetail/rank_context.h>

#include "format/example/schema_names.h"
#include "format/text/number_text.h"
#include "format/try.h"
#include "format/words/convert_words.h"

namespace dovetail::tools {

void add_paths(Flags& flags, std::vector<std::string>& paths) {
  flags.add("PATH", paths, "A shard, a folder with a manifest, a manifest, or a quoted glob; several are concatenated")
      .required();
}

Result<Dataset> open_datasets(const std::vector<std::string>& paths) {
  std::vector<Dataset> datasets;
  for (const std::string& path : paths) {
    DOVETAIL_ASSIGN(Dataset dataset, Dataset::open(path));
    datasets.push_back(std::move(dataset));
  }
  if (datasets.size() == 1) return std::move(datasets.front());
  return Dataset::join(datasets);
}

void add_input(Flags& flags, std::string& path, SourceFormat& from) {
  flags
      .add("PATH", path,
           "A shard, a folder with a manifest, a manifest, or a quoted glob; or a file or folder that `convert` takes")
      .required();
  add_from(flags, from, "Format of PATH");
}

void add_from(Flags& flags, SourceFormat& from, const std::string& help) {
  flags.add_choice("--from", from, format::kSourceFormatWords, help);
}

void add_columns(Flags& flags, std::optional<std::string>& columns) {
  flags
      .add("--columns", columns,
           "Decode features into these columns, such as 'image:u8[28,28,1], label:i64'; names alone, such as "
           "'image,label': those of the dataset's schema; all: all of them")
      .shown_as("SCHEMA");
}

Result<std::optional<Schema>> columns_of(const Dataset& dataset, const std::optional<std::string>& asked_for) {
  if (!asked_for) return std::optional<Schema>();
  const std::optional<std::vector<std::string>> names = format::column_names(*asked_for);
  DOVETAIL_ASSIGN(Schema schema, names ? dataset.schema() : parse_schema(*asked_for));
  if (names && *asked_for != "all") {
    DOVETAIL_ASSIGN(schema, schema.pick(*names));
  }
  return std::optional(std::move(schema));
}

Flag add_dataset_id(Flags& flags, std::string& text) {
  return flags.add("--dataset-id", text, "32 hex digits, for reproducible files; random if not given").shown_as("ID");
}

Result<std::optional<DatasetId>> dataset_id_of(const std::string& text) {
  if (text.empty()) return std::optional<DatasetId>();
  const Result<DatasetId> id = DatasetId::from_hex(text);
  if (!id) return Error(Errc::invalid_option, "--dataset-id = " + text + ": it must be 32 hex digits");
  return std::optional(*id);
}

Result<ConvertPart> parse_part(std::string_view text) {
  if (text == "auto") {
    DOVETAIL_ASSIGN(const RankContext context, RankContext::from_environment());
    return ConvertPart{context.rank, context.world};
  }
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto number = format::parse_number<std::uint32_t>(text.substr(0, slash));
    const auto parts = format::parse_number<std::uint32_t>(text.substr(slash + 1));
    if (number && parts && *number < *parts) return ConvertPart{*number, *parts};
  }
  return Error(Errc::invalid_option,
               "--part " + std::string(text) + ": it must be I/N with I from 0 to N - 1, or auto");
}

void add_json(Flags& flags, bool& json) {
  flags.add("--json", json, "Print JSON");
}

void add_no_pager(Flags& flags, bool& no_pager) {
  flags.add("--no-pager", no_pager, "Write to the terminal directly, without $DOVETAIL_PAGER, $PAGER or less");
}

}  // namespace dovetail::tools
