// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sources/listing.h"

namespace dovetail::detail {

/// What may be a mistake in the files of a folder: empty ones, and some of training beside some of
/// evaluation.
std::vector<std::string> notes_on_files(const SourceListing& listing);

}  // namespace dovetail::detail
