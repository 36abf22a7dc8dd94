// SPDX-License-Identifier: Apache-2.0
#include "tools/command/datasets.h"

#include "format/try.h"

namespace dovetail::tools {

Result<Dataset> open_datasets(const std::vector<std::string>& paths) {
  std::vector<Dataset> datasets;
  for (const std::string& path : paths) {
    DOVETAIL_ASSIGN(Dataset dataset, Dataset::open(path));
    datasets.push_back(std::move(dataset));
  }
  if (datasets.size() == 1) return std::move(datasets.front());
  return Dataset::join(datasets);
}

}  // namespace dovetail::tools
