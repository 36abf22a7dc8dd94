// SPDX-License-Identifier: Apache-2.0
// Reads and writes the text form of a schema.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dovetail/schema.h>

#include "format/example/schema_fallback.h"
#include "format/example/schema_names.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "format/try.h"

namespace dovetail {
namespace {

constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
constexpr std::string_view kNumber = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-";
constexpr std::string_view kBlanks = " \t\n";
constexpr std::string_view kHex = "0123456789abcdef";

/// Reads a schema from left to right. Errors name the place.
class SchemaText {
 public:
  explicit SchemaText(std::string_view text) : text_(text) {}

  Result<Schema> read() {
    Schema schema;
    do {
      DOVETAIL_ASSIGN(auto column, read_column());
      schema.columns.push_back(std::move(column));
    } while (take(','));
    if (at_ != text_.size()) return wrong("a comma or the end");
    DOVETAIL_TRY(validate(schema));
    return schema;
  }

  std::optional<std::vector<std::string>> read_names() {
    std::vector<std::string> names;
    do {
      if (take('"')) {
        Result<std::string> name = read_quoted();
        if (!name) return std::nullopt;
        names.push_back(std::move(*name));
      } else {
        std::string_view name = text_.substr(at_, text_.find_first_of(",:", at_) - at_);
        at_ += name.size();
        name = name.substr(0, name.find_last_not_of(kBlanks) + 1);
        names.emplace_back(name);
      }
    } while (take(','));
    if (at_ != text_.size()) return std::nullopt;
    return names;
  }

 private:
  Error wrong(const std::string& expected) const {
    const std::string found =
        at_ < text_.size() ? "\"" + std::string(format::utf8_prefix(text_.substr(at_), 12)) + "\"" : "the end";
    return Error(Errc::invalid_option,
                 "schema: expected " + expected + " at character " + std::to_string(at_ + 1) + ", found " + found);
  }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

  /// Takes the sign if it is next.
  bool take(char sign) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != sign) return false;
    ++at_;
    return true;
  }

  std::string_view take_all_of(std::string_view signs) {
    skip_blanks();
    const std::size_t end = std::min(text_.find_first_not_of(signs, at_), text_.size());
    const std::string_view taken = text_.substr(at_, end - at_);
    at_ = end;
    return taken;
  }

  Result<Column> read_column() {
    Column column;
    DOVETAIL_ASSIGN(auto name, read_name());
    column.name = std::move(name);
    if (!take(':'))
      return wrong("':' and a dtype" + std::string(at_ < text_.size() ? ", or quotes around the name" : ""));
    skip_blanks();
    if (!read_dtype(column.dtype)) return wrong("a dtype, u8 to f64 or bytes" + own_word());
    if (take('[')) {
      DOVETAIL_TRY(read_shape(column));
    }
    if (take('=')) {
      DOVETAIL_ASSIGN(auto fallback, read_fallback(column));
      auto normal = format::normal_fallback(column, fallback);
      if (!normal) return Error(Errc::invalid_option, "column \"" + column.name + "\": " + normal.error().detail());
      column.fallback = std::move(*normal);
    }
    return column;
  }

  Result<std::string> read_name() {
    if (take('"')) return read_quoted();
    const std::string_view name = take_all_of(kPlain);
    if (name.empty())
      return wrong("the name of a column, in quotes if it has characters other than letters, digits and _./-");
    return std::string(name);
  }

  /// Reads a text in quotation marks. Needs: the position is behind the first mark.
  Result<std::string> read_quoted() {
    std::string text;
    while (at_ < text_.size()) {
      const char sign = text_[at_++];
      if (sign == '"') return text;
      if (sign != '\\') {
        text += sign;
      } else if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\\')) {
        text += text_[at_++];
      } else if (unsigned byte = 0; read_hex(byte)) {
        text += static_cast<char>(byte);
      } else {
        return wrong("\\\", \\\\ or \\x and two digits");
      }
    }
    return wrong("a closing quotation mark");
  }

  bool read_hex(unsigned& byte) {
    const std::string_view digits = text_.substr(at_, 3);
    if (digits.size() != 3 || digits[0] != 'x') return false;
    const auto [end, code] = std::from_chars(digits.data() + 1, digits.data() + 3, byte, 16);
    if (code != std::errc() || end != digits.data() + 3) return false;
    at_ += 3;
    return true;
  }

  bool read_dtype(Dtype& dtype) {
    const std::size_t start = at_;
    const std::string_view text = take_all_of(kPlain);
    for (std::size_t i = 0; i <= static_cast<std::size_t>(Dtype::bytes); ++i) {
      dtype = static_cast<Dtype>(i);
      if (text == to_text(dtype)) return true;
    }
    at_ = start;
    return false;
  }

  /// Returns " (int64 is i64)" if the next word is NumPy's name of a dtype; otherwise an empty
  /// string.
  std::string own_word() {
    const std::size_t start = at_;
    const std::string text(take_all_of(kPlain));
    at_ = start;
    for (const auto& [theirs, own] :
         {std::pair("bool", "u8"), std::pair("str", "bytes"), std::pair("string", "bytes")}) {
      if (text == theirs) return " (" + text + " is " + own + ")";
    }
    for (const auto& [theirs, own] : {std::pair("uint", "u"), std::pair("int", "i"), std::pair("float", "f")}) {
      if (!text.starts_with(theirs)) continue;
      const std::string word = own + text.substr(std::string_view(theirs).size());
      for (std::size_t i = 0; i < static_cast<std::size_t>(Dtype::bytes); ++i) {
        if (word == to_text(static_cast<Dtype>(i))) return " (" + text + " is " + word + ")";
      }
    }
    return {};
  }

  /// Reads a shape. Needs: the position is behind the opening bracket.
  Result<void> read_shape(Column& column) {
    do {
      if (take('*')) {
        if (column.ragged || !column.shape.empty()) return wrong("* as the first dimension only");
        column.ragged = true;
        continue;
      }
      skip_blanks();
      std::uint32_t size = 0;
      const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (code != std::errc() || size == 0) return wrong("a dimension, 1 to 4294967295 or *");
      at_ = static_cast<std::size_t>(end - text_.data());
      column.shape.push_back(size);
      if (column.shape.size() > kMaxColumnDimensions) break;
    } while (take(','));
    if (!take(']')) return wrong("a comma or ']'");
    return {};
  }

  /// Reads a fallback. Needs: the position is behind the sign of equality.
  Result<std::string> read_fallback(const Column& column) {
    if (column.ragged) {
      if (take('[') && take(']')) return std::string();
      return wrong("[], the only fallback of a ragged column");
    }
    if (column.dtype == Dtype::bytes) {
      if (take('"')) return read_quoted();
      return wrong("a text in quotation marks");
    }
    return std::string(take_all_of(kNumber));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Escapes what is not UTF-8, and characters that a terminal does not show as they are.
void add_quoted(std::string& text, std::string_view value) {
  text += '"';
  while (!value.empty()) {
    const std::string_view sign = value.substr(0, std::max<std::size_t>(format::utf8_length(value), 1));
    value.remove_prefix(sign.size());
    if (sign == "\"" || sign == "\\") text += '\\';
    if (format::visible(sign) == sign) {
      text += sign;
      continue;
    }
    for (const char each : sign) {
      const auto byte = static_cast<unsigned char>(each);
      text += "\\x";
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    }
  }
  text += '"';
}

}  // namespace

std::string to_text(const Schema& schema) {
  std::string text;
  for (const Column& column : schema.columns) {
    if (!text.empty()) text += ", ";
    if (column.name.empty() || column.name.find_first_not_of(kPlain) != std::string::npos) {
      add_quoted(text, column.name);
    } else {
      text += column.name;
    }
    text += ':';
    text += to_text(column.dtype);
    std::string shape = column.ragged ? "*" : "";
    for (const std::uint32_t size : column.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    if (!shape.empty()) text += '[' + shape + ']';
    if (!column.fallback) continue;
    text += '=';
    if (column.ragged) {
      text += "[]";
    } else if (column.dtype == Dtype::bytes) {
      add_quoted(text, *column.fallback);
    } else {
      text += *column.fallback;
    }
  }
  return text;
}

Result<Schema> parse_schema(std::string_view text) {
  if (text.size() > kMaxSchemaTextBytes) {
    return Error(Errc::invalid_option,
                 "a schema of more than " + std::to_string(kMaxSchemaTextBytes) + " bytes of text");
  }
  return SchemaText(text).read();
}

std::optional<std::vector<std::string>> format::column_names(std::string_view text) {
  return SchemaText(text).read_names();
}

}  // namespace dovetail
