// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/file_records.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// Reads RecordIO files: the unchanged payload, or an Example with `image`, `label` and `id` from
/// MXNet's image header. `automatic` checks whether the first record has such a header. If `x.idx`
/// lies beside `x.rec`, each record must begin at its entry and end at the next one, and its key is
/// that of the entry. After a record that does not, reading continues at the next entry.
/// Errors: `malformed_input`, `truncated`; `sidecar_mismatch` for an index that does not fit.
Result<std::unique_ptr<FileOpener>> make_recordio_opener(const SourceListing& listing, const SourceOptions& options);

}  // namespace dovetail::detail
