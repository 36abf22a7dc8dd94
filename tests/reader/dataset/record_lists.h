// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/record_reader.h>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "tests/support/sample_records.h"

namespace dovetail::test {

/// What begins as a TFRecord file does: the header of a record, its bytes, and a wrong checksum of
/// them.
inline std::string begun_tfrecord() {
  std::string file(8, '\0');
  file[0] = 3;
  std::byte masked[4];
  format::store_le(masked, format::mask_crc(format::crc32c(as_bytes(file))));
  file += as_chars(masked);
  return file + "abc????";
}

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
