// SPDX-License-Identifier: Apache-2.0
#include "format/text/staging_advice.h"

#include "format/staging_names.h"
#include "format/text/shell_quoted.h"

namespace dovetail::format {

std::string staging_advice(std::string_view staged) {
  std::string text = "a dataset is being written here, or its writer was stopped; run the conversion again to continue";
  const std::string_view path = staged.substr(0, staged.find_last_not_of('/') + 1);
  const std::string_view target = target_of_staging(path);
  if (target == path || target.empty() || target.ends_with('/')) return text;
  return text + ", or `dovetail merge " + shell_path(std::string(target)) + "` if all of its parts are finished";
}

std::string stopped_writer_advice(const std::string& folder) {
  return "a dataset is being written here, or its writer was stopped and cannot continue; `dovetail recover " +
         shell_path(folder) + " DST` saves its records, and a new writer of this dataset removes them";
}

}  // namespace dovetail::format
