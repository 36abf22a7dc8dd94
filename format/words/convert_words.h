// SPDX-License-Identifier: Apache-2.0
// The words for options of conversions: on the command line, in Python and in messages.
#pragma once

#include <dovetail/shard_info.h>
#include <dovetail/source_options.h>
#include <dovetail/tfrecord_export.h>

#include "format/text/words.h"

namespace dovetail::format {

inline constexpr Words<SourceFormat, 11> kSourceFormatWords{{{"detect", SourceFormat::detect},
                                                             {"tfrecord", SourceFormat::tfrecord},
                                                             {"tar", SourceFormat::tar},
                                                             {"jsonl", SourceFormat::jsonl},
                                                             {"csv", SourceFormat::csv},
                                                             {"lines", SourceFormat::lines},
                                                             {"folder", SourceFormat::folder},
                                                             {"mds", SourceFormat::mds},
                                                             {"recordio", SourceFormat::recordio},
                                                             {"idx", SourceFormat::idx},
                                                             {"dovetail", SourceFormat::dovetail}}};
inline constexpr Words<Compression, 7> kCompressionWords{{{"none", Compression::none},
                                                          {"gzip", Compression::gzip},
                                                          {"zlib", Compression::zlib},
                                                          {"snappy", Compression::snappy},
                                                          {"bzip2", Compression::bzip2},
                                                          {"zstd", Compression::zstd},
                                                          {"xz", Compression::xz}}};
inline constexpr Words<RecordForm, 3> kRecordFormWords{
    {{"automatic", RecordForm::automatic}, {"raw", RecordForm::raw}, {"example", RecordForm::example}}};
inline constexpr Words<ColumnType, 3> kColumnTypeWords{
    {{"bytes", ColumnType::bytes}, {"int64", ColumnType::int64}, {"real", ColumnType::real}}};
inline constexpr Words<OnError, 2> kOnErrorWords{{{"fail", OnError::fail}, {"skip", OnError::skip}}};
inline constexpr Words<Codec, 3> kCodecWords{{{"none", Codec::none}, {"snappy", Codec::snappy}, {"zstd", Codec::zstd}}};
inline constexpr Words<TfrecordCompression, 4> kTfrecordCompressionWords{{{"none", TfrecordCompression::none},
                                                                          {"gzip", TfrecordCompression::gzip},
                                                                          {"zlib", TfrecordCompression::zlib},
                                                                          {"snappy", TfrecordCompression::snappy}}};

}  // namespace dovetail::format
