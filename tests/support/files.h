// SPDX-License-Identifier: Apache-2.0
// Whole files, names in folders, and open descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::test {

using Bytes = std::vector<std::byte>;

/// All of a file. Throws where it cannot be read.
Bytes read_file(const std::string& path);
/// Writes a new file in the place of one that may be there, with the folders that it needs.
void write_file(const std::string& path, std::string_view bytes);
/// Flips a bit of a file in place.
void flip_bit(const std::string& path, std::uint64_t offset, unsigned bit = 0);
/// Names of everything in a folder, hidden files too, in bytewise order.
std::vector<std::string> names_in(const std::string& folder);
/// How many descriptors the process has open.
std::size_t open_descriptors();

}  // namespace dovetail::test
