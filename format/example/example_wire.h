// SPDX-License-Identifier: Apache-2.0
// Reads the messages tf.train.Example, Features and Feature in place: no object per record, no
// allocation.
//
//     Example  { Features features = 1; }
//     Features { map<string, Feature> feature = 1; }                    an entry is { key = 1; value = 2; }
//     Feature  { oneof { BytesList bytes_list = 1; FloatList float_list = 2;
//                        Int64List int64_list = 3; } }
//     *List    { repeated value = 1; }                                  numbers packed or not
//
// The code accepts the same bytes, and gives the same values, as the classes that protobuf
// generates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/example/packed_ints.h"
#include "format/wire.h"

namespace dovetail::format {

/// Which list a feature holds. The numbers are those of the fields.
enum class FeatureKind : std::uint8_t { none = 0, bytes = 1, floats = 2, ints = 3 };

/// "none", "bytes_list", "float_list" or "int64_list".
const char* to_text(FeatureKind kind) noexcept;

// The nesting depth left for groups of unknown fields inside each message of an Example.
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
  ByteView list;            ///< The list with all values; unspecified if there are several lists.
  std::size_t lists = 0;    ///< Number of lists. A list may come in pieces, which protobuf concatenates.

  ByteView entry;                    ///< The whole entry.
  const std::byte* first = nullptr;  ///< The first piece that counts. Earlier pieces are of another kind.

  /// The bytes of the text or of the packed numbers, if this is the only field of the only list.
  /// Otherwise it has no data, not even a pointer.
  ByteView only;
};

/// Walks over the entries of the map of one record, in the order of the bytes.
///
/// The same name may come again. Then the last entry counts, as a whole; `ExampleFeatures`
/// implements this.
/// Ownership: borrows the record.
class ExampleCursor {
 public:
  explicit ExampleCursor(ByteView record) noexcept;

  /// Returns the bytes of the next entry, not yet checked; `scan_entry` checks them. Returns false
  /// at the end and for an error, which `fault()` describes.
  bool next(ByteView& entry) noexcept {
    return features_.read_short(wire_tag(1, WireType::bytes), entry) || next_long(entry);
  }
  const WireFault& fault() const noexcept { return fault_; }

  /// The bytes of the message that holds the next entry, or none.
  ByteView rest() const noexcept { return {features_.at(), features_.left()}; }
  /// Goes on behind `bytes` of the rest. Needs: these are whole entries.
  void skip(std::size_t bytes) noexcept { features_ = WireCursor(rest().subspan(bytes)); }

 private:
  bool next_features() noexcept;
  bool next_long(ByteView& entry) noexcept;

  WireCursor record_;
  WireCursor features_;
  WireFault fault_;
};

/// Checks all bytes of an entry. Returns false for an error, which `fault` describes.
bool scan_entry(ByteView entry, FeatureView& feature, WireFault& fault) noexcept;

/// Whether two texts of this size are the same. Without a call: names are short.
inline bool same_bytes(const std::byte* a, const std::byte* b, std::size_t size) noexcept {
  std::size_t i = 0;
  for (; i + 8 < size; i += 8) {
    if (load_le<std::uint64_t>(a + i) != load_le<std::uint64_t>(b + i)) return false;
  }
  if (size >= 8) return load_le<std::uint64_t>(a + size - 8) == load_le<std::uint64_t>(b + size - 8);
  while (i < size && a[i] == b[i]) ++i;
  return i == size;
}

/// Does the same for a short entry of this name in the form that writers use: one list, of one text
/// or of packed numbers, and no length above 127. Returns false for all other entries.
/// Needs: a name that is UTF-8.
inline bool scan_short(ByteView entry, std::string_view name, FeatureView& feature) noexcept {
  constexpr std::size_t kHeads = 6;  // the tags and lengths behind the name
  const std::size_t before = 2 + name.size();
  if (entry.size() < before + kHeads || entry.size() >= 0x80) return false;
  const std::byte* const at = entry.data() + before;
  const auto size = static_cast<std::uint32_t>(entry.size() - before - kHeads);
  const std::uint32_t list_tag = std::to_integer<std::uint32_t>(at[2]);
  // Each message ends where the entry ends.
  if (load_le<std::uint16_t>(entry.data()) != (name.size() << 8 | wire_tag(1, WireType::bytes)) ||
      load_le<std::uint32_t>(at) !=
          ((size + 2) << 24 | list_tag << 16 | (size + 4) << 8 | wire_tag(2, WireType::bytes)) ||
      load_le<std::uint16_t>(at + 4) != (size << 8 | wire_tag(1, WireType::bytes)) ||
      !same_bytes(entry.data() + 2, as_bytes(name).data(), name.size())) {
    return false;
  }
  std::uint64_t count = 1;
  if (list_tag == wire_tag(2, WireType::bytes)) {
    if (size % sizeof(float) != 0) return false;
    count = size / sizeof(float);
  } else if (list_tag == wire_tag(3, WireType::bytes)) {
    if (size != 1 || std::to_integer<unsigned>(at[kHeads]) >= 0x80) {
      const auto counted = count_packed_ints(ByteView(at + kHeads, size));
      if (!counted) return false;
      count = *counted;
    }
  } else if (list_tag != wire_tag(1, WireType::bytes)) {
    return false;
  }
  feature = {as_chars(ByteView(entry.data() + 2, name.size())),
             static_cast<FeatureKind>(list_tag >> 3),
             count,
             ByteView(at + 4, size + 2),
             1,
             entry,
             at + 2,
             ByteView(at + kHeads, size)};
  return true;
}

/// Walks over the values of a checked feature. Needs: the caller asks `next` for the feature's own
/// kind.
/// Ownership: borrows the record.
class FeatureValues {
 public:
  explicit FeatureValues(const FeatureView& feature) noexcept;

  // Returns false at the end.
  bool next(ByteView& value) noexcept;
  bool next(float& value) noexcept;
  bool next(std::int64_t& value) noexcept;

 private:
  /// Moves `list_` to the next value or packed values, and returns their tag, or 0 at the end.
  std::uint32_t next_field() noexcept;
  bool next_list() noexcept;
  template <std::uint32_t single, class Read>
  bool next_number(const Read& read) noexcept;

  FeatureKind kind_;
  const std::byte* first_;
  WireCursor entry_;
  WireCursor feature_;
  WireCursor list_;
  WireCursor packed_;
  WireFault fault_;  // never set: the feature was checked
};

/// The features of one record, each name once, in ascending order of names.
///
/// Ownership: borrows the last record parsed. Keeps its own memory from record to record.
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

/// Returns the error for a fault in `record`. The text names the byte, because the offset of an
/// `Error` refers to a file.
Error example_error(ByteView record, const WireFault& fault);

}  // namespace dovetail::format
