// SPDX-License-Identifier: Apache-2.0
// Input files of every format that can be converted, made of the bytes of an input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <dovetail/source_options.h>

#include "fuzz/support.h"

namespace dovetail::fuzz {

/// A source on disk, and how it is read.
struct SourceFiles {
  std::string path;
  SourceOptions options;
  std::size_t bytes = 0;   ///< Of its files, or more.
  bool in_ranges = false;  ///< The input asks for reading in ranges.
};

/// Takes an input for itself: format, bits, partner file, and the rest as the file; of a folder its
/// files, of a dataset the changes of one. What was made by the last call goes.
SourceFiles make_source(Input& input, std::uint32_t most_record_bytes);

/// Mutates an input whose source begins behind `head` bytes, and mostly repairs the checksums of
/// formats that have some, or no mutation would get past them.
std::size_t mutate_source(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed, std::size_t head);

}  // namespace dovetail::fuzz
