// SPDX-License-Identifier: Apache-2.0
// Messages of tf.train.Example in every form that the wire format allows, and what protobuf makes
// of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <dovetail/bytes.h>

#include "tests/support/sample_records.h"

namespace dovetail::test {

// Parts of messages, as texts of bytes.
std::string wire_varint(std::uint64_t value);
/// The same number in `bytes` bytes. Needs: it takes no more.
std::string wire_padded_varint(std::uint64_t value, std::size_t bytes);
/// A field of bytes.
std::string wire_field(std::uint32_t field, std::string_view bytes);
std::string wire_varint_field(std::uint32_t field, std::uint64_t value);
/// `depth` groups in each other.
std::string wire_groups(std::uint32_t field, std::size_t depth);
/// An entry of the map, and a record of entries.
std::string wire_entry(std::string_view name, std::string_view feature);
std::string wire_record(std::string_view entries);

/// A record in the forms that writers use, and in all others: names that come again, lists in
/// pieces, values packed and not, fields that nobody knows, numbers in more bytes than they need.
std::string random_example(Draws& draws);
/// The record with some of its bytes changed, cut off, repeated or put in.
std::string mutated(std::string record, Draws& draws);

/// What the reading of this record by `ExampleFeatures` and by protobuf has in difference; empty
/// where they agree.
std::string example_difference(ByteView input);
/// Whether protobuf accepts the record.
bool protobuf_accepts(ByteView record);

}  // namespace dovetail::test
