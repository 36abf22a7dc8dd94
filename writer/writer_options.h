// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <dovetail/bytes.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/error.h>
#include <dovetail/record_writer.h>

#include "format/messages.h"

namespace dovetail::detail {

inline constexpr unsigned kMaxThreads = 1024;

/// Errors: `invalid_option` if an option's value is not in [least, most].
Result<void> check_range(const char* name, std::uint64_t value, std::uint64_t least, std::uint64_t most);

/// Errors: `invalid_option`, naming the field, its value and the allowed values.
Result<void> validate(const WriterOptions& options);
Result<void> validate(const DatasetWriterOptions& options);

/// Checks what a writer takes as its record `number`. Only the first one is checked against the
/// schema, so others cost nothing.
/// Errors: `record_too_large` if it exceeds the writer's limit, `invalid_option` if it does not fit
///         the schema.
Result<void> check_record(const WriterOptions& options, std::uint64_t number, ByteView record);

/// Returns the metadata block of a shard.
format::Metadata make_metadata(const WriterOptions& options);
/// The same for a shard of which only the type of its records is known.
format::Metadata make_metadata(const std::string& record_type);

}  // namespace dovetail::detail
