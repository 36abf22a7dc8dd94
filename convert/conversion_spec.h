// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/source_options.h>

namespace dovetail::detail {

/// The inputs and options of a conversion, as named texts. Kept beside its unfinished output, and
/// compared when it is continued or merged.
class ConversionSpec {
 public:
  /// Names with this prefix may differ between the parts of one conversion.
  static constexpr std::string_view kLocal = "here.";

  void add(std::string name, std::string text) { texts_.emplace_back(std::move(name), std::move(text)); }
  /// The text of a name, empty if there is none.
  const std::string& operator[](std::string_view name) const noexcept;

  /// One line per name.
  std::string to_text() const;
  /// Errors: `bad_message`.
  static Result<ConversionSpec> parse(std::string_view text);

  /// The first difference, as text. Names that begin with `skipped` may differ.
  std::optional<std::string> difference_from(const ConversionSpec& other, std::string_view skipped) const;
  /// Derived from all texts that parts share.
  DatasetId derived_id() const;

 private:
  std::vector<std::pair<std::string, std::string>> texts_;
};

/// Names, sizes and modification times of all source files.
struct InputIdentity {
  std::string content;  ///< From names and sizes.
  std::string times;
};

/// Examines the sources: the selected files of a folder, the index or labels beside a file, and the
/// shards of a glob or manifest. Only their content counts, not their location.
/// Errors: the system's; those of `Dataset::open`.
Result<InputIdentity> identify_inputs(const std::vector<std::string>& paths, const SourceOptions& options);

}  // namespace dovetail::detail
