// SPDX-License-Identifier: Apache-2.0
// Schemas of Examples whose shapes a format knows.
#pragma once

#include <optional>
#include <vector>

#include <dovetail/schema.h>

#include <dovetail/source_options.h>

#include "sources/idx_layout.h"
#include "sources/mds_index.h"

namespace dovetail::detail {

/// Of the items of an IDX file: `label` for single numbers, else `image`. A schema may not be able
/// to express it.
Column column_of(const IdxLayout& layout);

/// Of the shards of an MDS folder: numbers, arrays whose encoding names their type, and texts for
/// the rest. Empty if shards differ.
std::optional<Schema> schema_of(const MdsIndex& index);

/// Of CSV files. Missing real numbers become NaN; missing whole ones -1, or 0 if some are negative.
/// Empty if a schema cannot express it.
std::optional<Schema> schema_of(const std::vector<CsvColumn>& columns);

/// Of a folder's files with their keys, and with labels.
Schema schema_of_files(bool labels);

}  // namespace dovetail::detail
