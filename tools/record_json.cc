// SPDX-License-Identifier: Apache-2.0
#include "tools/record_json.h"

#include "tools/render.h"
#include "tools/utf8.h"

namespace dovetail::tools {

boost::json::object to_json(const PlacedRecord& record) {
  boost::json::object object = {
      {"id", record.id}, {"shard", record.shard}, {"record", record.record}, {"bytes", record.bytes.size()}};
  if (is_utf8(as_chars(record.bytes))) {
    object["text"] = as_chars(record.bytes);
  } else {
    object["hex"] = hex(record.bytes);
  }
  return object;
}

}  // namespace dovetail::tools
