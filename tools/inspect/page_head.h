// SPDX-License-Identifier: Apache-2.0
// The head of the inspection page: a description of the dataset, and programs that read it.
#pragma once

#include <string>

#include "inspect/inspection.h"

namespace dovetail::tools {

/// The name in the metadata, else the last part of the path. Not escaped.
std::string page_title(const inspect::Inspection& inspection);

/// Name, description, licence and size. Name, description and licence are the metadata `name`,
/// `description`, and `licence` or `license`.
std::string head_html(const inspect::Inspection& inspection);

/// Programs that read the dataset in Python, C++ and a shell, ready to copy, with its path and its
/// columns.
std::string reading_html(const inspect::Inspection& inspection);

}  // namespace dovetail::tools
