// SPDX-License-Identifier: Apache-2.0
// The names for values of the option `format`.
#pragma once

#include <dovetail/source_options.h>

#include "python/src/words.h"

namespace dovetail::python {

inline constexpr Words<SourceFormat, 11> kFormats{{{"detect", SourceFormat::detect},
                                                   {"tfrecord", SourceFormat::tfrecord},
                                                   {"folder", SourceFormat::folder},
                                                   {"lines", SourceFormat::lines},
                                                   {"jsonl", SourceFormat::jsonl},
                                                   {"tar", SourceFormat::tar},
                                                   {"csv", SourceFormat::csv},
                                                   {"mds", SourceFormat::mds},
                                                   {"recordio", SourceFormat::recordio},
                                                   {"idx", SourceFormat::idx},
                                                   {"dovetail", SourceFormat::dovetail}}};

}  // namespace dovetail::python
