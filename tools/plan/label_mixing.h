// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/dataset.h>
#include <dovetail/mixing.h>
#include <dovetail/plan.h>

namespace dovetail::tools {

/// Reads a feature of the tf.train.Examples in a sample of the batches of an epoch: at most 4,096 records and 64 MiB of
/// blocks. It reads 8 to 256 rows of a batch, at even distances, so that 16 batches fit even with the largest block.
/// Equal lists of values are one label; so are records without the feature. Damaged records are left out.
///
/// Errors: `invalid_option` for records that are not Examples, for floats, and if no record has the feature; those of
///         `RecordReader` except damage.
Result<LabelMixing> read_labels(const Dataset& dataset, const Plan& plan, const EpochPlan& epoch,
                                const std::string& feature);

}  // namespace dovetail::tools
