// SPDX-License-Identifier: Apache-2.0
#include "sources/folder_format.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "format/text/set_name.h"
#include "format/try.h"
#include "sources/bytes/folder_names.h"
#include "sources/bytes/names.h"
#include "sources/detect.h"
#include "sources/foreign_formats.h"

namespace dovetail::detail {
namespace {

// Returns the format by the file's name, or TFRecord if an index lies beside the file.
SourceFormat format_in(const SourceListing& listing, const ListedFile& file) {
  return listing.indexed.contains(file.name) ? SourceFormat::tfrecord : format_of_name(file.name);
}

// Returns the format of most names; on a tie, the one with the lowest number; `detect` if no name
// implies one.
SourceFormat most_named(const SourceListing& listing) {
  std::map<SourceFormat, std::size_t> counts;
  for (const ListedFile& file : listing.files) {
    const SourceFormat format = format_in(listing, file);
    if (format != SourceFormat::detect) ++counts[format];
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? SourceFormat::detect : most->first;
}

// Labels are read together with their images, so they are no source of their own.
void drop_partners(SourceListing& listing) {
  std::set<std::string> partners;
  for (const ListedFile& file : listing.files) {
    for (std::string& labels : labels_of_images(file.name)) partners.insert(std::move(labels));
  }
  std::erase_if(listing.files, [&](const ListedFile& file) { return partners.contains(file.name); });
}

// Finds a TFRecord without an index beside indexed files of its set. A TFRecord known by its name
// is read without the index, unless it is empty: its records may be lost together with the index.
Result<void> check_sets_are_indexed(const SourceListing& listing) {
  std::set<std::string> sets;
  for (const std::string& name : listing.indexed) sets.insert(format::set_name(name));
  const auto missed = [&](const std::string& name) {
    return Error(Errc::not_indexed,
                 "files beside it, whose names differ in numbers only, are indexed TFRecords: put it back or index it, "
                 "or "
                 "--exclude it")
        .in_file(listing.folder + name);
  };
  for (const std::string& name : listing.absent) {
    if (sets.contains(format::set_name(name))) return missed(name);
  }
  for (const ListedFile& file : listing.files) {
    const bool indexed = listing.indexed.contains(file.name);
    const bool known = format_of_name(file.name) == SourceFormat::tfrecord && file.size > 0;
    if (indexed || known || is_sidecar(file.name, SourceFormat::tfrecord)) continue;
    if (sets.contains(format::set_name(file.name))) return missed(file.name);
  }
  return {};
}

// Names the first file that is not of the format, so that it can be found among many.
Error of_several_formats(const SourceListing& listing, SourceFormat named, std::ptrdiff_t known, const std::string& odd,
                         const std::string& path) {
  if (named == SourceFormat::mds) {
    return Error(Errc::unknown_format,
                 "MDS shards lie below the folder, which has no index.json; give each folder that holds one")
        .in_file(path);
  }
  const std::string word(to_string(named));
  return Error(Errc::unknown_format, std::to_string(known) + " of " + std::to_string(listing.files.size()) +
                                         " files have names of " + word + ", but " + odd + " has not; give --from " +
                                         word + " to read these, or --from folder to take every file as a record")
      .in_file(path);
}

// A file and its compressed copy, as downloads leave them, would give all records twice.
Result<void> check_no_copies(const SourceListing& listing) {
  std::set<std::string_view> names;
  for (const ListedFile& file : listing.files) names.insert(file.name);
  for (const ListedFile& file : listing.files) {
    const std::string_view plain = without_compression(file.name);
    if (plain == file.name || !names.contains(plain)) continue;
    return Error(Errc::unknown_format, "it lies here uncompressed too, as " + listing.folder + std::string(plain) +
                                           ", and would give its records twice; --exclude one of them, such as "
                                           "with --exclude '*" +
                                           file.name.substr(plain.size()) + "'")
        .in_file(listing.folder + file.name);
  }
  return {};
}

// A whole table is rarely wanted as one record.
Error holds_tables(const std::string& path) {
  return Error(Errc::unknown_format,
               "the folder holds tables, which are not supported; docs/sources.md shows how to write them as JSON "
               "lines; give "
               "--from folder to take every file as a record")
      .in_file(path);
}

}  // namespace

Result<void> check_no_index_alone(const SourceListing& listing, std::string_view index, std::string_view records) {
  for (const ListedFile& file : listing.files) {
    if (!file.name.ends_with(index)) continue;
    const std::string name = file.name.substr(0, file.name.size() - index.size()) + std::string(records);
    const std::string indexed = listing.folder + name;
    const auto there = status_of(indexed, true);
    if (there && S_ISREG(there->st_mode)) continue;
    const auto is_packed = [&](const char* packing) { return status_of(indexed + packing, true).has_value(); };
    constexpr std::array kPackings = {".gz", ".zst", ".bz2", ".xz"};
    if (!records.empty() && std::any_of(kPackings.begin(), kPackings.end(), is_packed)) continue;
    const auto code = there ? make_error_code(Errc::unknown_format) : there.error().code();
    const auto itself = status_of(indexed, false);
    const bool link = itself && S_ISLNK(itself->st_mode);
    const char* const advice = link ? "fetch the target of the link" : "remove the index if it is not needed";
    return Error(code,
                 "its index lies here, " + listing.folder + file.name + ", but there is no readable file; " + advice)
        .in_file(indexed);
  }
  return {};
}

Result<void> choose_format(SourceListing& listing, SourceFormat wanted, const std::string& path) {
  if (wanted == SourceFormat::folder) {
    listing.format = wanted;
    return {};
  }
  if (wanted == SourceFormat::detect || wanted == SourceFormat::tfrecord) {
    DOVETAIL_TRY(check_no_index_alone(listing));
    DOVETAIL_TRY(check_sets_are_indexed(listing));
  }
  const SourceFormat named = wanted == SourceFormat::detect ? most_named(listing) : wanted;
  const auto holds_records = [&](const ListedFile& file) { return format_in(listing, file) == named; };
  const auto is_other = [&](const ListedFile& file) { return !holds_records(file) && !is_sidecar(file.name, named); };
  const auto known = std::count_if(listing.files.begin(), listing.files.end(), holds_records);
  if (wanted == SourceFormat::detect && named != SourceFormat::detect) {
    const auto odd = std::find_if(listing.files.begin(), listing.files.end(), is_other);
    if (odd != listing.files.end()) return of_several_formats(listing, named, known, odd->name, path);
  }
  listing.format = named == SourceFormat::detect ? SourceFormat::folder : named;
  if (listing.format == SourceFormat::recordio) {
    DOVETAIL_TRY(check_no_index_alone(listing, ".idx", ".rec"));
  }
  if (wanted == SourceFormat::detect && listing.format == SourceFormat::folder) {
    for (const ListedFile& file : listing.files) {
      if (has_table_name(file.name)) return holds_tables(listing.folder + file.name);
    }
  }
  if (known != 0 && named != SourceFormat::detect) {
    std::erase_if(listing.files, [&](const ListedFile& file) { return !holds_records(file); });
  }
  if (listing.format != SourceFormat::folder && listing.format != SourceFormat::dovetail) {
    DOVETAIL_TRY(check_no_copies(listing));
  }
  if (listing.format == SourceFormat::idx) drop_partners(listing);
  if (listing.format == SourceFormat::csv && wanted == SourceFormat::detect) {
    const auto empty = std::find_if(listing.files.begin(), listing.files.end(), [](const ListedFile& file) {
      return file.size == 0 && compression_promised_by(file.name) == Compression::none;
    });
    if (empty != listing.files.end()) {
      return Error(Errc::empty_input, "the file is empty, even without column names; write it again, or --exclude it")
          .in_file(listing.folder + empty->name);
    }
  }
  return {};
}

}  // namespace dovetail::detail
