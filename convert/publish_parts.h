// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/error.h>

#include "convert/part_files.h"
#include "writer/staging.h"

namespace dovetail::detail {

/// Adds the records and bytes of shards to the report.
void add_shards(const std::vector<ShardInfo>& shards, ConvertReport& report);

/// Writes the manifests of complete parts, given in order, and publishes the datasets.
/// Needs:  exclusive access. Only the first of `parts` must have its spec.
/// Errors: as `merge`.
Result<ConvertReport> publish_parts(Staging& staging, const std::vector<WholePart>& parts, bool overwrite);

/// The report of published datasets: those in the folders `outputs` of a split, or one with an
/// empty name. Errors: those of `Dataset::open`.
Result<ConvertReport> published_report(const std::string& target, const std::vector<std::string>& outputs);

}  // namespace dovetail::detail
