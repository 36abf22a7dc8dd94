// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/page_head.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include <dovetail/schema.h>

#include "format/text/count_of.h"
#include "format/text/shell_quoted.h"
#include "format/text/utf8.h"
#include "tools/command/render.h"
#include "tools/command/svg.h"

namespace dovetail::tools {

namespace {

constexpr std::uint64_t kBatch = 64;
constexpr std::size_t kMostHeadBytes = 200;
constexpr std::size_t kMostDescriptionBytes = 8000;
constexpr std::size_t kMostSchemaBytes = 2000;  // a longer schema is of no use to copy

/// The value of the first of these metadata keys that exists, cut if it is long.
std::string metadata_of(const inspect::Inspection& inspection, std::initializer_list<std::string_view> keys,
                        std::size_t most_bytes = kMostHeadBytes) {
  if (inspection.shards.empty()) return {};
  for (const std::string_view key : keys) {
    const auto found = inspection.shards.front().metadata.find(std::string(key));
    if (found == inspection.shards.front().metadata.end()) continue;
    return format::shortened(found->second, most_bytes);
  }
  return {};
}

/// A string literal for both Python and C++: octal escapes end after three digits in both.
std::string literal(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += std::string("\\") + c;
    } else if (byte < 0x20 || byte == 0x7F) {
      for (const int shift : {6, 3, 0}) {
        quoted += (shift == 6 ? "\\" : "") + std::string(1, static_cast<char>('0' + (byte >> shift & 7)));
      }
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

/// The columns that the programs name.
struct Columns {
  bool stored = false;  ///< Whether the dataset has a schema.
  std::string text;
  std::string one;  ///< The column that the programs print, a small one if possible.
};

std::optional<Columns> columns_of(const inspect::Inspection& inspection) {
  std::optional<Schema> schema;
  Columns columns;
  if (!inspection.shards.empty() && !inspection.shards.front().schema.empty()) {
    const Result<Schema> parsed = parse_schema(inspection.shards.front().schema);
    if (parsed) schema = *parsed;
    columns.stored = true;
  } else if (inspection.features) {
    schema = inspection.features->schema;
  }
  if (!schema || schema->columns.empty()) return std::nullopt;
  columns.text = to_text(*schema);
  if (!columns.stored && columns.text.size() > kMostSchemaBytes) return std::nullopt;
  const auto number = std::find_if(schema->columns.begin(), schema->columns.end(),
                                   [](const Column& column) { return column.dtype != Dtype::bytes; });
  columns.one = (number == schema->columns.end() ? schema->columns.front() : *number).name;
  return columns;
}

std::string python(const std::string& path, std::uint64_t batch, const std::optional<Columns>& columns) {
  std::string option;
  if (columns) option = ", columns=" + (columns->stored ? "True" : literal(columns->text));
  return "import dovetail\n\nfor batch in dovetail.Reader(" + literal(path) + ", batch=" + std::to_string(batch) +
         option + ", epochs=1):\n    print(" + (columns ? "batch[" + literal(columns->one) + ']' : "batch.row(0)") +
         ")\n";
}

std::string cpp(const std::string& path, std::uint64_t batch, const std::optional<Columns>& columns) {
  std::string text = "#include <cstdio>\n#include <dovetail/dovetail.h>\n\nint main() {\n  const auto dataset = " +
                     ("dovetail::Dataset::open(" + literal(path)) + ").value();\n" +
                     "  dovetail::ReaderOptions options;\n  options.plan.batch = " + std::to_string(batch) + ";\n";
  if (columns) {
    text += "  options.columns = " +
            (columns->stored ? "dataset.schema()" : "dovetail::parse_schema(" + literal(columns->text) + ')') +
            ".value();\n";
  }
  text +=
      "  auto reader = dovetail::BatchReader::open(dataset, options).value();\n"
      "  for (const dovetail::Batch& batch : reader.epoch()) {\n    std::printf(\"%zu bytes\\n\", ";
  return text + (columns ? "batch.column(" + literal(columns->one) + ")->values.size()" : "batch.values().size()") +
         ");\n  }\n}\n";
}

std::string shell(const std::string& path, std::uint64_t batch, const std::optional<Columns>& columns) {
  const std::string word = format::shell_path(path);
  std::string text = "dovetail verify " + word + "\ndovetail cat " + word + " --range 0:1\ndovetail read " + word +
                     " --rank 0 --world 1 --batch " + std::to_string(batch);
  if (columns) text += " --columns " + (columns->stored ? "all" : format::shell_quoted(columns->text));
  return text + '\n';
}

std::string program(std::string_view language, std::string_view text, bool open) {
  return "<details" + std::string(open ? " open" : "") + "><summary>" + std::string(language) +
         "</summary>\n<pre class=\"program\" data-language=\"" + std::string(language) + "\">" + xml_text(text) +
         "</pre></details>\n";
}

}  // namespace

std::string page_title(const inspect::Inspection& inspection) {
  if (std::string name = metadata_of(inspection, {"name"}); !name.empty()) return name;
  std::string path = inspection.path;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

std::string head_html(const inspect::Inspection& inspection) {
  std::string html = "<header>\n<h1>" + xml_text(page_title(inspection)) + "</h1>\n";
  if (const std::string text = metadata_of(inspection, {"description"}, kMostDescriptionBytes); !text.empty()) {
    html += "<p class=\"description\">" + xml_text(text) + "</p>\n";
  }
  html += "<p class=\"badges\">";
  const auto badge = [&](const std::string& text) { html += "<span>" + xml_text(text) + "</span> "; };
  badge(format::count_of(inspection.records, "record"));
  badge(format::human_bytes(inspection.stored_bytes) + " stored");
  if (const std::string licence = metadata_of(inspection, {"licence", "license"}); !licence.empty()) {
    badge("licence " + licence);
  }
  return html + "</p>\n</header>\n";
}

std::string reading_html(const inspect::Inspection& inspection) {
  if (inspection.records == 0) return {};
  const std::string& path = inspection.path;
  if (inspection.foreign) {
    return program("shell", "dovetail convert " + format::shell_path(path) + " --to dataset\ndovetail verify dataset\n",
                   true);
  }
  const std::uint64_t batch = std::min(kBatch, inspection.records);
  const std::optional<Columns> columns = columns_of(inspection);
  return program("Python", python(path, batch, columns), true) + program("C++", cpp(path, batch, columns), false) +
         program("shell", shell(path, batch, columns), false);
}

}  // namespace dovetail::tools
