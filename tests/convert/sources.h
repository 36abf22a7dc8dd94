// SPDX-License-Identifier: Apache-2.0
// Input files for tests, compressed forms of them, and what a source makes of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/record_source.h>

#include "tests/support/files.h"
#include "tests/support/tfrecords.h"

namespace dovetail::test {

/// One gzip member.
std::string gzip(std::string_view bytes);
/// One zlib stream.
std::string zlib(std::string_view bytes);
/// One member, stream or frame of gzip, bzip2, xz or zstd.
std::string compress(std::string_view bytes, Compression compression);
/// What one gzip member or zlib stream holds. Throws where it is anything else.
std::string inflate(std::string_view bytes);

/// What TensorFlow writes for SNAPPY, in blocks of up to so many bytes.
std::string snappy_blocks(std::string_view bytes, std::size_t block_bytes);

/// A member of a tar in the form of POSIX: its header, its bytes and their padding. The size that
/// the header claims can be another one.
struct TarEntry {
  std::string name;
  std::string bytes;
  char type = '0';
  std::uint64_t claimed = UINT64_MAX;
};
std::string tar_entry(const TarEntry& entry);
/// Entries and the two blocks that end a tar.
std::string tar_bytes(const std::vector<TarEntry>& entries);

/// An IDX file: the type of its elements, the size of each dimension, and the elements.
std::string idx(int type, const std::vector<std::uint32_t>& sizes, std::string_view elements);

/// What an Example holds, by rising name: `a=<bytes> b=[1 2] c=(0.5)`, or what is wrong with it.
std::string example_text(std::string_view record);

std::vector<std::string> example_texts(const Records& examples);

/// All records of a source, or its first failure.
Result<Records> read_source(RecordSource source);
Result<Records> read_source(const std::string& path, const SourceOptions& options = {});

/// The Examples of a source, each as `example_text` has it.
std::vector<std::string> read_texts(const std::string& path, const SourceOptions& options = {});

/// The records with [begin, end) input bytes before them, and whether all such ranges, cut in
/// several ways, hold each record of the source once: the numbers of parts for which they do not.
std::vector<std::uint64_t> parts_that_differ(const std::string& path, const SourceOptions& options = {});

}  // namespace dovetail::test
