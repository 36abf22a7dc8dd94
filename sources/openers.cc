// SPDX-License-Identifier: Apache-2.0
#include "sources/openers.h"

#include <string>

#include "format/try.h"

namespace dovetail::detail {

namespace {

Error has_no(const SourceListing& listing, const std::string& what) {
  return Error(Errc::invalid_option, "the format " + std::string(to_string(listing.format)) + " has no " + what)
      .in_file(listing.path_of(0));
}

// Refuses options without effect, because the caller expects one.
Result<void> check_options(const SourceListing& listing, const SourceOptions& options) {
  const SourceFormat format = listing.format;
  if (options.labels && format != SourceFormat::folder)
    return has_no(listing, "labels; only a folder of files has them");
  if (!options.classes.empty() && !options.labels) return has_no(listing, "classes without labels");
  const bool chosen = !options.include.empty() || !options.exclude.empty();
  const bool choosable = !listing.folder.empty() && format != SourceFormat::mds && format != SourceFormat::dovetail;
  if (chosen && !choosable) return has_no(listing, "files to include or exclude; only a folder has them");
  const bool csv = options.csv.delimiter != 0 || !options.csv.header || !options.csv.types.empty() ||
                   options.csv.nulls != CsvOptions().nulls;
  if (csv && format != SourceFormat::csv) return has_no(listing, "CSV columns; leave out the options for CSV");
  if (format != SourceFormat::dovetail && (options.first != 0 || options.end || options.sample != 1)) {
    return has_no(listing, "record ids for a range or a sample; convert it first");
  }
  return {};
}

}  // namespace

Result<FileOpener> make_opener(const SourceListing& listing, const SourceOptions& options) {
  DOVETAIL_TRY(check_options(listing, options));
  switch (listing.format) {
    case SourceFormat::folder:
      return make_folder_opener(listing, options);
    case SourceFormat::tar:
      return make_tar_opener(options);
    case SourceFormat::csv:
      return make_csv_opener(listing, options);
    case SourceFormat::mds:
      return make_mds_opener(listing, options);
    case SourceFormat::recordio:
      return make_recordio_opener(listing, options);
    case SourceFormat::idx:
      return make_idx_opener(listing, options);
    case SourceFormat::jsonl:
      return make_json_opener(options);
    case SourceFormat::lines:
      return make_lines_opener(options);
    case SourceFormat::tfrecord:
      if (options.records == RecordForm::example) {
        return has_no(listing, "parts for an Example; leave out --records: a record stays as it is, also an Example");
      }
      return make_tfrecord_opener(options);
    case SourceFormat::dovetail:
      return make_shard_opener(listing, options);
    case SourceFormat::detect:
      break;
  }
  return has_no(listing, "reader");
}

}  // namespace dovetail::detail
