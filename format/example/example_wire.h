// SPDX-License-Identifier: Apache-2.0
// The messages tf.train.Example, Features and Feature, read where they lie: no object per record, no allocation.
//
//     Example  { Features features = 1; }
//     Features { map<string, Feature> feature = 1; }                    an entry is { key = 1; value = 2; }
//     Feature  { oneof { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }
//     *List    { repeated value = 1; }                                  numbers packed or not
//
// What is accepted, and the values that come out, are those of the classes that protobuf generates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/wire.h"

namespace dovetail::format {

/// Which list a feature holds. The numbers are those of the fields.
enum class FeatureKind : std::uint8_t { none = 0, bytes = 1, floats = 2, ints = 3 };

/// "none", "bytes_list", "float_list" or "int64_list".
const char* to_text(FeatureKind kind) noexcept;

// Where the parts of an Example lie in each other: how many groups of unknown fields may follow inside.
constexpr int kExampleDepth = kWireDepth;
constexpr int kFeaturesDepth = kExampleDepth - 1;
constexpr int kEntryDepth = kFeaturesDepth - 1;
constexpr int kFeatureDepth = kEntryDepth - 1;
constexpr int kListDepth = kFeatureDepth - 1;

/// One entry of the map: a checked feature. Ownership: borrows the record.
struct FeatureView {
  std::string_view name;
  FeatureKind kind = FeatureKind::none;
  std::uint64_t count = 0;  ///< Values.
  ByteView list;            ///< The list that holds all values; without meaning where there are several lists.
  std::size_t lists = 0;    ///< A list may come in pieces, which protobuf lays end to end.

  ByteView entry;                    ///< The whole entry.
  const std::byte* first = nullptr;  ///< The first piece in it that counts: those before are of another kind.
};

/// Walks over the entries of the map of one record, in the order in which they lie there.
///
/// The same name may come again; then the last entry counts, as a whole. `ExampleFeatures` takes care of that.
/// Ownership: borrows the record.
class ExampleCursor {
 public:
  explicit ExampleCursor(ByteView record) noexcept;

  /// The bytes of the next entry, not checked yet: `scan_entry` does. False at the end, and where `fault()` says why.
  bool next(ByteView& entry) noexcept {
    // A record is one message of entries, unless somebody has put together several.
    while (features_.done()) {
      if (!next_features()) return false;
    }
    std::uint32_t tag = 0;
    if (!features_.read_tag(tag, fault_)) return false;
    if (tag == wire_tag(1, WireType::bytes)) [[likely]]
      return features_.read_bytes(entry, fault_);
    return skip_to_entry(tag, entry);
  }
  const WireFault& fault() const noexcept { return fault_; }

 private:
  bool next_features() noexcept;
  bool skip_to_entry(std::uint32_t tag, ByteView& entry) noexcept;

  WireCursor record_;
  WireCursor features_;
  WireFault fault_;
};

/// Checks an entry to its last byte. Errors: false, and `fault` says why.
bool scan_entry(ByteView entry, FeatureView& feature, WireFault& fault) noexcept;

/// The values of a checked feature, one after the other. Needs: `next` is asked for the feature's own kind.
/// Ownership: borrows the record.
class FeatureValues {
 public:
  explicit FeatureValues(const FeatureView& feature) noexcept;

  // False at the end.
  bool next(ByteView& value) noexcept;
  bool next(float& value) noexcept;
  bool next(std::int64_t& value) noexcept;

 private:
  /// Puts `list_` on the next value or packed values; their tag, or 0 at the end.
  std::uint32_t next_field() noexcept;
  bool next_list() noexcept;

  FeatureKind kind_;
  const std::byte* first_;
  WireCursor entry_;
  WireCursor feature_;
  WireCursor list_;
  WireCursor packed_;
  WireFault fault_;  // never set: all has been checked
};

/// The features of one record, each name once, by rising name.
///
/// Ownership: borrows the record that was given last; keeps its own memory from record to record.
class ExampleFeatures {
 public:
  /// Errors: `bad_message`; the text names the byte in the record.
  Result<void> parse(ByteView record);

  std::span<const FeatureView> all() const noexcept { return features_; }
  /// The feature of that name, or nullptr.
  const FeatureView* find(std::string_view name) const noexcept;

 private:
  void keep_last_of_each();

  std::vector<FeatureView> features_;
};

/// The error for a fault in `record`. Its text names the byte: an `Error`'s offset is one in a file.
Error example_error(ByteView record, const WireFault& fault);

}  // namespace dovetail::format
