// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/inspection.h"
#include "tools/record_cards.h"

namespace dovetail::tools {

/// One page that needs nothing else: no script, no file, no network. Its tables have ids, and their rows `data-key`.
/// `trouble` says why there are no more records, where that is so. Needs: the inspection is of something finished.
std::string inspection_page(const Inspection& inspection, const RecordCards& records, const std::string& trouble);

}  // namespace dovetail::tools
