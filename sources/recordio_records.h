// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/file_records.h"
#include "sources/listing.h"

namespace dovetail::detail {

/// Reads RecordIO files: the payload as it is, or an Example with `image`, `label` and `id` out of MXNet's image header.
/// `automatic` looks whether the first record of the source has one. Where `x.idx` lies beside `x.rec`, each record has to
/// begin where the index says and end where the next one begins, its key is the one there, and reading goes on at the next
/// entry behind one that does not.
/// Errors: `malformed_input`, `truncated`; `sidecar_mismatch` for an index that does not fit.
Result<std::unique_ptr<FileOpener>> make_recordio_opener(const SourceListing& listing, const SourceOptions& options);

}  // namespace dovetail::detail
