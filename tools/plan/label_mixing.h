// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/dataset.h>
#include <dovetail/mixing.h>
#include <dovetail/plan.h>

namespace dovetail::tools {

/// Reads a feature of the tf.train.Examples in a sample of an epoch's batches: at most 4,096
/// records and 64 MiB of blocks. Reads 8 to 256 rows of each batch, at even distances, so that the
/// sample has 16 batches even with the largest blocks. Equal lists of values are one label. Records
/// without the feature share one label. Damaged records are skipped.
///
/// Errors: `invalid_option` for records that are not Examples, for floats, and if no record has the
///         feature; those of `RecordReader` except damage.
Result<LabelMixing> read_labels(const Dataset& dataset, const Plan& plan, const EpochPlan& epoch,
                                const std::string& feature);

}  // namespace dovetail::tools
