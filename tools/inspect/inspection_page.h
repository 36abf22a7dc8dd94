// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "inspect/inspection.h"
#include "tools/inspect/page_records.h"

namespace dovetail::tools {

/// A self-contained page without scripts, other files or network access. Its tables have ids, and
/// their rows have `data-key`.
/// Needs: the inspected data are finished.
std::string inspection_page(const inspect::Inspection& inspection, const PageRecords& records);

}  // namespace dovetail::tools
