// SPDX-License-Identifier: Apache-2.0
#include "tests/format/example_messages.h"

#include <bit>
#include <cstring>
#include <vector>

#include <google/protobuf/stubs/logging.h>

#include "example.pb.h"
#include "format/example/example_wire.h"

namespace dovetail::test {

using namespace format;

namespace {

std::uint64_t random_number(Draws& draws) {
  switch (draws.below(6)) {
    case 0:
      return draws.next();
    case 1:
      return ~draws.below(1000);
    case 2:
      return std::uint64_t{1} << draws.below(64);
    case 3:
      return (std::uint64_t{1} << draws.below(64)) - 1;
    default:
      return draws.below(300);
  }
}

std::string fixed32(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string tag_of(std::uint32_t field, WireType type) {
  return wire_varint(wire_tag(field, type));
}

/// A field of the given number and any type.
std::string unknown_field(std::uint32_t field, Draws& draws) {
  switch (draws.below(6)) {
    case 0:
      return wire_varint_field(field, random_number(draws));
    case 1:
      return tag_of(field, WireType::fixed64) + noise(8, draws.next());
    case 2:
      return wire_field(field, noise(draws.below(20), draws.next()));
    case 3:
      return wire_groups(field, 1 + draws.below(4));
    case 4:
      return tag_of(field, WireType::group) + unknown_field(1 + static_cast<std::uint32_t>(draws.below(5)), draws) +
             tag_of(field, WireType::end_group);
    default:
      return tag_of(field, WireType::fixed32) + noise(4, draws.next());
  }
}

/// Now and then a field that is not known, or one that is, of a type that it has not.
std::string maybe_unknown(Draws& draws) {
  if (draws.below(6) != 0) return {};
  if (draws.below(3) == 0) return wire_varint_field(1 + static_cast<std::uint32_t>(draws.below(3)), draws.below(300));
  return unknown_field(4 + static_cast<std::uint32_t>(draws.below(1000)), draws);
}

/// A field of bytes, its tag and length now and then longer than they need to be.
std::string odd_field(std::uint32_t field, std::string_view bytes, Draws& draws) {
  if (draws.below(8) != 0) return wire_field(field, bytes);
  return wire_padded_varint(wire_tag(field, WireType::bytes), 1 + draws.below(5)) +
         wire_padded_varint(bytes.size(), wire_varint(bytes.size()).size() + draws.below(2)) + std::string(bytes);
}

std::string random_ints(Draws& draws) {
  std::string packed;
  for (std::uint64_t left = draws.below(8); left > 0; --left) {
    const std::uint64_t value = random_number(draws);
    packed += draws.below(6) == 0 ? wire_padded_varint(value, wire_varint(value).size() + draws.below(2))
                                  : wire_varint(value);
  }
  return packed;
}

std::string random_list(std::uint32_t kind, Draws& draws) {
  std::string list;
  for (std::uint64_t left = draws.below(4); left > 0; --left) {
    list += maybe_unknown(draws);
    if (kind == 1) {
      list += odd_field(1, noise(draws.below(30), draws.next()), draws);
    } else if (kind == 2) {
      list += draws.below(2) == 0 ? odd_field(1, noise(4 * draws.below(8), draws.next()), draws)
                                  : tag_of(1, WireType::fixed32) + fixed32(draws.next());
    } else {
      list +=
          draws.below(2) == 0 ? odd_field(1, random_ints(draws), draws) : wire_varint_field(1, random_number(draws));
    }
  }
  return list + maybe_unknown(draws);
}

std::string random_feature(Draws& draws) {
  std::string feature;
  std::uint32_t kind = 1 + static_cast<std::uint32_t>(draws.below(3));
  for (std::uint64_t left = draws.below(8) == 0 ? draws.below(4) : 1; left > 0; --left) {
    feature += maybe_unknown(draws) + odd_field(kind, random_list(kind, draws), draws);
    if (draws.below(2) == 0) kind = 1 + static_cast<std::uint32_t>(draws.below(3));
  }
  return feature + maybe_unknown(draws);
}

std::string random_entry(Draws& draws) {
  static const char* const kNames[] = {"", "a", "b", "label", "image", "im\xC3\xA4ge", "\xF0\x9F\x95\x8A", "x/y"};
  const std::string name = odd_field(1, kNames[draws.below(std::size(kNames))], draws);
  if (draws.below(6) != 0) return name + odd_field(2, random_feature(draws), draws);
  std::string entry;
  for (std::uint64_t left = draws.below(5); left > 0; --left) {
    entry += maybe_unknown(draws);
    entry += draws.below(2) == 0 ? name : odd_field(2, random_feature(draws), draws);
  }
  return entry;
}

void add_difference(std::string& differences, const FeatureView& ours, const tfexample::Feature& theirs) {
  FeatureValues values(ours);
  bool equal = static_cast<int>(ours.kind) == static_cast<int>(theirs.kind_case());
  std::uint64_t count = 0;
  ByteView bytes;
  for (const std::string& value : theirs.bytes_list().value()) {
    equal = equal && values.next(bytes) && as_chars(bytes) == value;
    ++count;
  }
  float number = 0;
  for (const float value : theirs.float_list().value()) {
    equal = equal && values.next(number) && std::bit_cast<std::uint32_t>(number) == std::bit_cast<std::uint32_t>(value);
    ++count;
  }
  std::int64_t integer = 0;
  for (const std::int64_t value : theirs.int64_list().value()) {
    equal = equal && values.next(integer) && integer == value;
    ++count;
  }
  const bool more = ours.kind == FeatureKind::bytes    ? values.next(bytes)
                    : ours.kind == FeatureKind::floats ? values.next(number)
                                                       : values.next(integer);
  equal = equal && count == ours.count && !more;
  if (!equal) differences += "the values of \"" + std::string(ours.name) + "\"; ";
}

}  // namespace

std::string wire_varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string wire_padded_varint(std::uint64_t value, std::size_t bytes) {
  std::string padded = wire_varint(value);
  while (padded.size() < bytes) {
    padded.back() = static_cast<char>(padded.back() | 0x80);
    padded += '\0';
  }
  return padded;
}

std::string wire_field(std::uint32_t field, std::string_view bytes) {
  return tag_of(field, WireType::bytes) + wire_varint(bytes.size()) + std::string(bytes);
}

std::string wire_varint_field(std::uint32_t field, std::uint64_t value) {
  return tag_of(field, WireType::varint) + wire_varint(value);
}

std::string wire_groups(std::uint32_t field, std::size_t depth) {
  std::string groups;
  for (std::size_t i = 0; i < depth; ++i) groups += tag_of(field, WireType::group);
  for (std::size_t i = 0; i < depth; ++i) groups += tag_of(field, WireType::end_group);
  return groups;
}

std::string wire_entry(std::string_view name, std::string_view feature) {
  return wire_field(1, wire_field(1, name) + wire_field(2, feature));
}

std::string wire_record(std::string_view entries) {
  return wire_field(1, entries);
}

std::string random_example(Draws& draws) {
  std::string record = maybe_unknown(draws);
  for (std::uint64_t parts = draws.below(8) == 0 ? draws.below(3) : 1; parts > 0; --parts) {
    std::string features;
    for (std::uint64_t left = draws.below(6); left > 0; --left) {
      features += maybe_unknown(draws) + odd_field(1, random_entry(draws), draws);
    }
    record += odd_field(1, features + maybe_unknown(draws), draws) + maybe_unknown(draws);
  }
  return record;
}

std::string mutated(std::string record, Draws& draws) {
  for (std::uint64_t left = 1 + draws.below(3); left > 0; --left) {
    const std::size_t at = draws.below(record.size() + 1);
    switch (draws.below(5)) {
      case 0:
        if (at < record.size()) record[at] = static_cast<char>(record[at] ^ (1 << draws.below(8)));
        break;
      case 1:
        if (at < record.size()) record[at] = static_cast<char>(draws.next());
        break;
      case 2:
        record.erase(at, draws.below(4));
        break;
      case 3:
        record.insert(at, noise(1 + draws.below(3), draws.next()));
        break;
      default:
        record.insert(at, record.substr(draws.below(record.size() + 1), draws.below(12)));
    }
  }
  return record;
}

bool protobuf_accepts(ByteView record) {
  // It would print a line for each name that is not UTF-8.
  static const google::protobuf::LogSilencer silencer;
  tfexample::Example example;
  return example.ParseFromArray(record.data(), static_cast<int>(record.size()));
}

std::string example_difference(ByteView input) {
  // A copy that ends where the record does, for AddressSanitizer.
  const std::vector<std::byte> record(input.begin(), input.end());
  static const google::protobuf::LogSilencer silencer;
  tfexample::Example theirs;
  const bool accepted = theirs.ParseFromArray(record.data(), static_cast<int>(record.size()));
  ExampleFeatures ours;
  const auto parsed = ours.parse(record);
  if (!parsed && accepted) return "only protobuf accepts it: " + parsed.error().to_string();
  if (!accepted) return parsed ? "only protobuf refuses it" : "";
  std::string differences;
  if (ours.all().size() != theirs.features().feature().size()) differences += "the number of features; ";
  for (const auto& [name, feature] : theirs.features().feature()) {
    const FeatureView* const found = ours.find(name);
    if (found == nullptr) {
      differences += "\"" + name + "\" is missing; ";
    } else {
      add_difference(differences, *found, feature);
    }
  }
  return differences;
}

}  // namespace dovetail::test
