// SPDX-License-Identifier: Apache-2.0
// The head of the page of an inspection: what the dataset is, and how to read it.
#pragma once

#include <string>

#include "inspect/inspection.h"

namespace dovetail::tools {

/// The name that the metadata give, else the last part of the path. Not escaped.
std::string page_title(const inspect::Inspection& inspection);

/// Name, description, licence and size. Name, description and licence are the metadata `name`, `description`, and
/// `licence` or `license`.
std::string head_html(const inspect::Inspection& inspection);

/// Programs that read the dataset in Python, C++ and a shell, as they are to be copied: each with the path as it was given
/// and with the columns that are known.
std::string reading_html(const inspect::Inspection& inspection);

}  // namespace dovetail::tools
