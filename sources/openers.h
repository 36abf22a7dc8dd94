// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/file_records.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// The opener for the files of a listing, which must outlive it.
/// Errors: `invalid_option` for options that the format does not have; those that some formats find
///         before their first record.
Result<FileOpener> make_opener(const SourceListing& listing, const SourceOptions& options);

// One for each format. They borrow listing and options.

/// Reads the rows of CSV files: Examples with a feature per column, or the unchanged bytes of the
/// row. All files have the same columns: see `find_csv_layout`.
/// Errors: `malformed_input` with file, line and column; the next call reads the next row. Those of
///         `find_csv_layout`.
Result<FileOpener> make_csv_opener(const SourceListing& listing, const SourceOptions& options);

/// Reads every file of a folder as one record, with its relative path as key. As an Example it has
/// `data` and `__key__`; with labels also `class`, the first folder of its path, and `label`, the
/// number of that class in bytewise order.
/// Needs: with labels, every file is in a subfolder.
Result<FileOpener> make_folder_opener(const SourceListing& listing, const SourceOptions& options);

/// Reads the items of IDX files. As an Example, an item of one number is `label`, any other is
/// `image`, little-endian; images with labels beside them have both. In raw form an item is its
/// unchanged bytes.
/// Errors: `malformed_input`, `truncated`; `sidecar_mismatch` if the numbers of labels and images
///         differ.
FileOpener make_idx_opener(const SourceListing& listing, const SourceOptions& options);

/// Reads JSON lines: each non-blank line is a record, without its line end, and must be JSON. For
/// `RecordForm::example` it must be an object, whose members become features: see
/// `format::for_each_member`.
/// Errors: `malformed_input` with the number of the line; the next call reads the next line.
FileOpener make_json_opener(const SourceOptions& options);

/// Reads the samples of MDS shards: Examples with a feature per column, or the bytes of the only
/// column.
/// Errors: `sidecar_mismatch` if shard and index disagree; `malformed_input`.
Result<FileOpener> make_mds_opener(const SourceListing& listing, const SourceOptions& options);

/// Reads RecordIO files: the unchanged payload, or an Example with `image`, `label` and `id` from
/// MXNet's image header. `automatic` checks whether the first record has such a header. If `x.idx`
/// lies beside `x.rec`, each record must begin at its entry and end at the next one, and its key is
/// that of the entry. After a record that does not, reading continues at the next entry.
/// Errors: `malformed_input`, `truncated`; `sidecar_mismatch` for an index that does not fit.
Result<FileOpener> make_recordio_opener(const SourceListing& listing, const SourceOptions& options);

/// Reads the records of a dataset's shards, within a range and a sample if requested.
/// Errors: those of `RecordReader`. After damage, the records behind it can be read.
Result<FileOpener> make_shard_opener(const SourceListing& listing, const SourceOptions& options);

/// Reads tars of WebDataset. Consecutive members of one key are a record: an Example with each
/// member under its extension, the key as `__key__`, `.gz` members unpacked, and class numbers as
/// int64. In raw form a key has one member, whose bytes are the record.
/// Errors: `malformed_input` for a key with two members of one extension, or with several in raw
///         form; those of `TarReader`. After an error of a single record, the next one can be read.
FileOpener make_tar_opener(const SourceOptions& options);

/// Reads the records of TFRecords, checked against the index beside a file if there is one: the
/// unchanged bytes.
FileOpener make_tfrecord_opener(const SourceOptions& options);

/// Reads the lines of texts. For Examples a line is the feature `text`.
FileOpener make_lines_opener(const SourceOptions& options);

}  // namespace dovetail::detail
