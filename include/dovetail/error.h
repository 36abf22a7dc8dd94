// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/assert/source_location.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

#include <dovetail/export.h>

namespace dovetail {

/// What went wrong, if the operating system has no code of its own for it. Values are never
/// renumbered.
enum class Errc {
  // The bytes are not what the format promises.
  /// The file does not begin with a Dovetail header.
  not_dovetail = 1,
  /// A newer format, or a feature that this library would have to understand and does not.
  unsupported_version = 2,
  /// No valid trailer: the writer never finished, or the end was cut off.
  unfinished = 3,
  /// The input ends inside a structure.
  truncated = 4,
  /// A file, block or trailer header fails its CRC32C.
  header_checksum = 5,
  /// The stored bytes of a block fail their CRC32C.
  payload_checksum = 6,
  /// A good block header in the wrong place: swapped, repeated, foreign, or after a gap.
  misplaced_block = 7,
  /// A length that contradicts another, or exceeds a limit of the format.
  bad_length = 8,
  /// Compressed bytes that do not decode to what was promised.
  decompression = 9,
  /// Metadata, a footer or a manifest entry that does not parse or contradicts itself.
  bad_message = 10,
  /// Index, footer and blocks disagree.
  index_mismatch = 11,
  /// The manifest disagrees with a shard.
  manifest_mismatch = 12,
  /// A TFRecord length or data CRC does not match.
  tfrecord_checksum = 13,
  /// A file is not the one that was opened or planned.
  file_changed = 14,
  /// A saved state or plan that is cut, altered or impossible.
  bad_state = 15,
  /// A source is not what its format promises: JSON, CSV, an archive, a header.
  malformed_input = 16,
  /// A source's index or partner file does not belong to it, or is older.
  sidecar_mismatch = 17,
  /// A shard is missing whose dataset has others there; the message names its number.
  missing_shard = 18,
  /// Without a manifest: names sort differently from shard numbers, or a number occurs twice.
  misplaced_shard = 19,

  // The request cannot be carried out as given.
  /// An option out of range; the message names it and the range.
  invalid_option = 30,
  /// Nothing to read: no record, no shard, no file.
  empty_input = 31,
  /// The plan has 0 steps; the message names the largest batch or world that works.
  no_steps = 32,
  /// A record above the limit of the writer or the format.
  record_too_large = 33,
  /// A file without the index that plans need; the message names the remedy.
  not_indexed = 34,
  /// The format of an input could not be detected.
  unknown_format = 35,
  /// The output already exists.
  already_exists = 36,
  /// A manifest names a file outside its own folder.
  outside_dataset = 37,
  /// A batch does not fit its slot; the message names the step and the bytes that it needs.
  batch_too_large = 38,
  /// The memory budget cannot hold one step, or the open runs; the message names what fits.
  budget_too_small = 39,
  /// A limit of the process (descriptors, locked memory) is too low.
  resource_limit = 40,
  /// A state or plan of another dataset or order; the message names what differs.
  state_mismatch = 41,
  /// More changes of world in one epoch than a state can hold.
  too_many_changes = 42,
  /// A folder of several datasets; the message names them.
  several_datasets = 43,
  /// A file of another format; the message says how to pack its content.
  foreign_file = 44,
  /// A record that `ReaderOptions::transform` rejected; the message has its reason.
  rejected_record = 45,

  // The call came at the wrong time.
  /// The object was finished, stopped or moved from.
  closed = 60,
  /// Another call, thread or process uses it; for example, an `async_next` is outstanding.
  busy = 61,
  /// The caller holds as many batches as it may; release one.
  slots_held = 62,
  /// Nothing came in the time that the caller gave; ask again.
  not_yet = 63,

  // Memory.
  /// Page-locked memory was required and could not be allocated or registered.
  registration_failed = 80,
  /// A CUDA call failed, or there is no device; the message names the call and the reason.
  device_failed = 81,
  /// The stream is being captured into a CUDA graph, so it has no end to wait for yet.
  stream_captured = 82,
};

/// How to respond to a failure; the command's exit codes follow it.
enum class ErrorKind {
  /// Data that is cut, altered or contradicts itself.
  damaged,
  /// The caller can fix it by asking for something else.
  usage,
  /// The operating system refused: unreadable, vanished, full.
  io,
  /// Requested by the caller.
  cancelled,
};

/// The only category of `Errc`. It has a fixed id, so codes compare equal across shared objects.
DOVETAIL_EXPORT const boost::system::error_category& error_category() noexcept;

/// Makes `Errc` usable as a `boost::system::error_code`.
DOVETAIL_EXPORT boost::system::error_code make_error_code(Errc code) noexcept;

/// A failure as a value: a code, and if known the file, the byte offset and what to do.
///
/// Cost: allocates once, on failure only; copies share the text. If memory for the text is not
///       available, the text is missing.
class [[nodiscard]] DOVETAIL_EXPORT Error {
 public:
  /// Success; `boost::system::result::error()` returns it if there is a value.
  Error() noexcept = default;
  explicit Error(boost::system::error_code code, std::string detail = {}) noexcept;
  explicit Error(Errc code, std::string detail = {}) noexcept;

  /// The error of the last system call, from `errno_value`.
  static Error from_errno(int errno_value, std::string detail = {}) noexcept;

  /// The same error with the file, or the file and the byte offset, added if none was known yet.
  Error in_file(std::string_view path) const noexcept;
  Error at(std::string_view path, std::uint64_t offset) const noexcept;

  const boost::system::error_code& code() const noexcept { return code_; }
  bool is(Errc code) const noexcept { return code_ == make_error_code(code); }
  ErrorKind kind() const noexcept;

  /// Empty if no file is involved.
  const std::string& path() const noexcept;
  /// Byte offset in `path()`.
  std::optional<std::uint64_t> offset() const noexcept;
  /// Description, without file and offset.
  const std::string& detail() const noexcept;

  /// One line: `path:offset: what: detail`. Characters that a terminal would not show are escaped:
  /// `\n`, `\x1b`, `\u202e`.
  std::string to_string() const;

 private:
  struct DOVETAIL_HIDDEN Text;
  boost::system::error_code code_;
  std::shared_ptr<const Text> text_;
};

/// A value, or the reason why there is none. `value()` throws `Exception`; testing never throws.
template <class T>
using Result = boost::system::result<T, Error>;

/// Thrown by `Result::value()` and by the iterator interfaces; carries the `Error` unchanged.
class DOVETAIL_EXPORT Exception : public std::exception {
 public:
  explicit Exception(Error error);
  const char* what() const noexcept override { return what_.c_str(); }
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
  std::string what_;
};

/// Called by `boost::system::result`; not for direct use.
[[noreturn]] DOVETAIL_EXPORT void throw_exception_from_error(const Error& error, const boost::source_location& where);

}  // namespace dovetail

template <>
struct boost::system::is_error_code_enum<dovetail::Errc> : std::true_type {};
