// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include <dovetail/bytes.h>

#include "format/example/example_encoder.h"

namespace dovetail::detail {

/// Turns JSON objects into Examples, so that both have one kind of statistics.
///
/// A member becomes a feature, and a member of an object in it `outer.inner`. Whole numbers, true and false become ints,
/// other numbers floats, strings bytes. A list does, too, if all its values are of one of these; otherwise it becomes its
/// text in JSON, as bytes. null, and a list without values, which
/// could be of any kind, are a missing feature.
///
/// Ownership: keeps its memory from record to record.
class JsonExample {
 public:
  /// The Example of an object of up to 32 levels; nothing for what is none. It is valid until the next call.
  const std::vector<std::byte>* encode(ByteView record);

 private:
  struct Fields;

  format::ExampleEncoder encoder_;
  std::vector<std::byte> example_;
};

}  // namespace dovetail::detail
