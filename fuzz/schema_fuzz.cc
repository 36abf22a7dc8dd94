// SPDX-License-Identifier: Apache-2.0
// Parses the text of a schema. What is accepted is valid and comes back from its text.
#include <cstddef>
#include <cstdint>

#include <dovetail/schema.h>

#include "fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const fuzz::MemoryLimit limit((std::size_t{1} << 20) + 1024 * size);
  const auto schema = parse_schema(text);
  if (!schema) return 0;
  fuzz::require(validate(*schema).has_value(), "what is parsed is valid");
  const auto again = parse_schema(to_text(*schema));
  fuzz::require(again && *again == *schema, "a schema comes back from its text");
  fuzz::require(to_text(*again) == to_text(*schema), "a schema has one text");
  return 0;
}
