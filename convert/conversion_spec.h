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

/// What a conversion is made of, as named texts: kept beside its unfinished output, compared when it is continued or
/// merged.
class ConversionSpec {
 public:
  /// Texts of names that begin with it need not agree between the parts of one conversion.
  static constexpr std::string_view kLocal = "here.";

  void add(std::string name, std::string text) { texts_.emplace_back(std::move(name), std::move(text)); }
  /// The text of a name, empty where there is none.
  const std::string& operator[](std::string_view name) const noexcept;

  /// One line for each.
  std::string to_text() const;
  /// Errors: `bad_message`.
  static Result<ConversionSpec> parse(std::string_view text);

  /// The first that differs, in words; `skipped` begins the names of those that may.
  std::optional<std::string> difference_from(const ConversionSpec& other, std::string_view skipped) const;
  /// Made of all texts that parts share.
  DatasetId derived_id() const;

 private:
  std::vector<std::pair<std::string, std::string>> texts_;
};

/// Names and sizes of all files of the sources, and when each was last written.
struct InputIdentity {
  std::string content;  ///< Of names and sizes.
  std::string times;
};

/// Looks at the sources: at what they take of those that are folders, at the index or the labels beside a file, and at the shards of a
/// glob or a manifest. Where they lie does not matter, only what is in them.
/// Errors: the system's; those of `Dataset::open`.
Result<InputIdentity> identify_inputs(const std::vector<std::string>& paths, const SourceOptions& options);

}  // namespace dovetail::detail
