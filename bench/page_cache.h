// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dovetail::bench {

/// Share of the pages of some files that lie in the page cache, 0 to 1. Throws what fails.
double resident_share(const std::vector<std::string>& files);

/// Reads what is missing of some files, so that all of it lies in the page cache. Returns why it
/// does not, or nothing.
std::string make_warm(const std::vector<std::string>& files);

/// Takes some files out of the page cache: first these alone, then, where that does not help and is
/// permitted, all of the cache. Returns why they are still there, or nothing.
std::string make_cold(const std::vector<std::string>& files);

}  // namespace dovetail::bench
