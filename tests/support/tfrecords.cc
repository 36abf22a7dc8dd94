// SPDX-License-Identifier: Apache-2.0
#include "tests/support/tfrecords.h"

#include <array>

#include <dovetail/bytes.h>

#include "format/tfrecord/tfrecord.h"

namespace dovetail::test {

std::string tfrecord_bytes(const Records& records) {
  std::string out;
  for (const std::string& record : records) {
    std::array<std::byte, format::kTfrecordHeaderBytes> header;
    format::encode_tfrecord_header(record.size(), header);
    std::array<std::byte, format::kTfrecordFooterBytes> footer;
    format::encode_tfrecord_footer(as_bytes(record), footer);
    out.append(as_chars(header)).append(record).append(as_chars(footer));
  }
  return out;
}

std::string begun_tfrecord() {
  std::string file = tfrecord_bytes({"abc"});
  return file.replace(file.size() - format::kTfrecordFooterBytes, std::string::npos, "????");
}

}  // namespace dovetail::test
