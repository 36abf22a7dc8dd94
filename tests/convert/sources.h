// SPDX-License-Identifier: Apache-2.0
// Input files for tests: TFRecords and their compressed forms, and what a source makes of them.
#pragma once

#include <string>
#include <string_view>

#include <dovetail/record_source.h>

#include "tests/writer/test_files.h"

namespace dovetail::test {

/// Records in TFRecord framing.
std::string tfrecord_bytes(const Records& records);
/// One gzip member.
std::string gzip(std::string_view bytes);
/// One zlib stream.
std::string zlib(std::string_view bytes);
/// What one gzip member or zlib stream holds. Throws where it is anything else.
std::string inflate(std::string_view bytes);

/// What TensorFlow writes for SNAPPY, in blocks of up to so many bytes.
std::string snappy_blocks(std::string_view bytes, std::size_t block_bytes);

/// All records of a source, or its first failure.
Result<Records> read_source(RecordSource source);
Result<Records> read_source(const std::string& path, const SourceOptions& options = {});

}  // namespace dovetail::test
