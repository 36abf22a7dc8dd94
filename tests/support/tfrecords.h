// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/support/sample_records.h"

namespace dovetail::test {

/// Records in TFRecord framing.
std::string tfrecord_bytes(const Records& records);
/// The header of a record, its bytes, and a wrong checksum of them: no good TFRecord file.
std::string begun_tfrecord();

}  // namespace dovetail::test
