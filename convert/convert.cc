// SPDX-License-Identifier: Apache-2.0
#include <dovetail/convert.h>

#include "convert/conversion.h"
#include "format/guard_memory.h"

namespace dovetail {

Result<ConvertReport> convert(const std::string& folder, const ConvertOptions& options) {
  return detail::guard_memory(folder, [&]() -> Result<ConvertReport> {
    auto report = detail::Conversion(folder, options).run();
    // The error of running out of memory for the output names no file.
    if (!report && report.error().kind() == ErrorKind::io && report.error().path().empty()) {
      return report.error().in_file(folder);
    }
    return report;
  });
}

}  // namespace dovetail
