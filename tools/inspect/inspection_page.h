// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "inspect/inspection.h"
#include "tools/inspect/page_records.h"

namespace dovetail::tools {

/// A self-contained page: no script, no other file, no network. Its tables have ids, and their rows `data-key`.
/// Needs: an inspection of something finished.
std::string inspection_page(const inspect::Inspection& inspection, const PageRecords& records);

}  // namespace dovetail::tools
