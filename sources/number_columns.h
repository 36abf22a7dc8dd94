// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/schema.h>

namespace dovetail::detail {

/// The columns of numbers in a schema. As such columns take bytes for values in little endian, a
/// text in one gives wrong numbers.
class NumberColumns {
 public:
  explicit NumberColumns(const std::optional<Schema>& schema);

  /// The error for a text if a column of numbers has this name, without file and offset. `what`
  /// describes it, such as "a string".
  Result<void> check_text(std::string_view name, ByteView text, std::string_view what) const;
  /// The error for a column of a source whose values are not those of a column of numbers. `holds`
  /// describes them, such as "texts". Errors: `invalid_option`.
  Result<void> check_column(std::string_view name, const std::string& holds) const;
  /// `bytes` if no column of numbers has this name.
  Dtype type_of(std::string_view name) const;

 private:
  std::map<std::string, Dtype, std::less<>> types_;
};

}  // namespace dovetail::detail
