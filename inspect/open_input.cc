// SPDX-License-Identifier: Apache-2.0
#include "inspect/open_input.h"

#include <utility>

namespace dovetail::inspect {

namespace {

/// Whether a path may hold something other than a dataset.
bool may_be_foreign(const Error& error) {
  return error.is(Errc::not_indexed) || error.is(Errc::not_dovetail) || error.is(Errc::foreign_file) ||
         error.is(Errc::empty_input);
}

}  // namespace

Result<Input> open_input(const std::string& path, SourceFormat from, std::function<bool()> cancelled) {
  if (path == "-") {
    return Error(Errc::invalid_option,
                 "standard input is not supported here; give a file, or pack it first: `... | dovetail convert - --to "
                 "DIR`")
        .in_file(path);
  }
  const bool detect = from == SourceFormat::detect;
  Result<Dataset> dataset =
      detect || from == SourceFormat::dovetail ? Dataset::open(path) : Result<Dataset>(Error(Errc::foreign_file));
  if (dataset) return Input(std::move(*dataset));
  if (!may_be_foreign(dataset.error()) || from == SourceFormat::dovetail) return dataset.error();
  SourceOptions options;
  options.format = from;
  options.cancelled = std::move(cancelled);
  Result<RecordSource> source = RecordSource::open(path, options);
  if (source) return Input(std::move(*source));
  if (!detect || source.error().kind() == ErrorKind::cancelled) return source.error();
  // The dataset's advice is to convert it, which would fail with the error of the source. If
  // neither finds a file, the error of the dataset is better.
  const bool damaged = dataset.error().kind() == ErrorKind::damaged;
  return damaged || source.error().is(Errc::empty_input) ? dataset.error() : source.error();
}

}  // namespace dovetail::inspect
