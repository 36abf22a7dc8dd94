// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "convert/input_line.h"
#include "format/example/example_wire.h"

namespace dovetail::detail {

/// Examples whose features with values have the same names.
struct RecordShape {
  std::vector<std::string> names;  ///< Ascending.
  std::uint64_t records = 0;
  std::uint64_t first = 0;  ///< Id of the first of them; its file and line follow.
  std::string file;
  std::uint64_t line = 0;

  bool has(std::string_view name) const;
};

/// The shapes of the records of a line.
///
/// Threads: none; one thread at a time.
/// Cost:    up to 256 shapes with 1 MiB of names, twice while two are merged.
class RecordShapes {
 public:
  /// Does nothing for a record that is not an Example.
  void add(std::uint64_t id, const LineCursor& cursor);
  void merge(const RecordShapes& other);
  /// Empty if there are too many.
  std::vector<const RecordShape*> all() const;

 private:
  void give_up();
  void take(std::uint64_t hash, const RecordShape& shape);

  std::unordered_map<std::uint64_t, RecordShape> shapes_;
  std::size_t bytes_ = 0;
  bool too_many_ = false;
  format::ExampleFeatures features_;
  std::string joined_;
};

}  // namespace dovetail::detail
