// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/record_reader.h>

#include "tests/support/sample_records.h"

namespace dovetail::test {

/// All records up to the end or the first failure.
inline Records read_records(RecordReader& reader) {
  Records records;
  while (true) {
    auto record = reader.next();
    if (!record || !*record) return records;
    records.emplace_back(as_chars(**record));
  }
}

}  // namespace dovetail::test
