// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/dataset.h>
#include <dovetail/mixing.h>
#include <dovetail/plan.h>

namespace dovetail::tools {

/// Reads a feature of the tf.train.Examples in some batches of an epoch: of at most 4,096 records, and at most 64 MiB of
/// blocks, of whole batches. Of a batch it reads 8 to 256 rows, at even distances: as many as let 16 batches fit, for the
/// largest block. Equal lists of values are one label, and so are records without the feature. Damaged records are left
/// out.
///
/// Errors: `invalid_option` for records that are no Examples, where no record has the feature, and for floats; those of
///         `RecordReader` but for damage.
Result<LabelMixing> read_labels(const Dataset& dataset, const Plan& plan, const EpochPlan& epoch,
                                const std::string& feature);

}  // namespace dovetail::tools
