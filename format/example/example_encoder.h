// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/example/example_wire.h"

namespace dovetail::format {

/// Writes the bytes of a tf.train.Example, without an object of protobuf. Equal features give equal
/// bytes, in any order of adding. The bytes equal those of protobuf's deterministic serialisation.
///
/// Ownership: borrows the bytes of bytes_list values until `encode` or `clear`; names and numbers
///            are copied. Keeps its memory from record to record.
/// Cost:      the bytes of a value are copied once.
class ExampleEncoder {
 public:
  void add_bytes(std::string_view name, ByteView value) { add_bytes(name, std::span(&value, 1)); }
  void add_bytes(std::string_view name, std::span<const ByteView> values);
  void add_float(std::string_view name, float value) { add_floats(name, std::span(&value, 1)); }
  void add_floats(std::string_view name, std::span<const float> values);
  void add_int(std::string_view name, std::int64_t value) { add_ints(name, std::span(&value, 1)); }
  void add_ints(std::string_view name, std::span<const std::int64_t> values);

  /// Replaces the content of `out` by the record, and forgets the features.
  /// Errors: `invalid_option` for a name that was added twice or is not UTF-8, `record_too_large`
  ///         above 2 GiB - 1.
  Result<void> encode(std::vector<std::byte>& out);

  void clear() noexcept;

 private:
  struct Feature {
    std::size_t name_at = 0;  // in names_
    std::size_t name_bytes = 0;
    FeatureKind kind = FeatureKind::none;
    std::size_t at = 0;     // in values_ or numbers_
    std::size_t count = 0;  // values there, or bytes
    std::uint64_t list_bytes = 0;
    std::uint64_t entry_bytes = 0;
  };

  Feature& add(std::string_view name, FeatureKind kind, std::size_t at);
  std::string_view name_of(const Feature& feature) const noexcept {
    return std::string_view(names_).substr(feature.name_at, feature.name_bytes);
  }
  std::byte* write(const Feature& feature, std::byte* to) const noexcept;

  std::string names_;
  std::vector<ByteView> values_;
  std::vector<std::byte> numbers_;  // packed, as they are in the record
  std::vector<Feature> features_;
};

}  // namespace dovetail::format
