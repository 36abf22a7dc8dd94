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

namespace dovetail {

/// What went wrong, where the operating system has no code of its own for it. Values are never renumbered.
enum class Errc {
  // The bytes are not what the format promises.
  not_dovetail = 1,         ///< The file does not begin with a Dovetail header.
  unsupported_version = 2,  ///< A newer format, or a feature that this library must understand and does not.
  unfinished = 3,           ///< No valid trailer: the writer never finished, or the end was cut off.
  truncated = 4,            ///< The input ends inside a structure.
  header_checksum = 5,      ///< A file, block or trailer header fails its CRC32C.
  payload_checksum = 6,     ///< The stored bytes of a block fail their CRC32C.
  misplaced_block = 7,      ///< A good block header that belongs elsewhere: swapped, repeated, foreign, or after a gap.
  bad_length = 8,           ///< A length that contradicts another, or exceeds a limit of the format.
  decompression = 9,        ///< Compressed bytes that do not decode to what was promised.
  bad_message = 10,         ///< Metadata, footer or manifest entry that does not parse or contradicts itself.
  index_mismatch = 11,      ///< Index, footer and blocks disagree.
  manifest_mismatch = 12,   ///< The manifest disagrees with a shard.
  tfrecord_checksum = 13,   ///< A TFRecord length or data CRC does not match.
  file_changed = 14,        ///< A file is not the one that was opened or planned.
  bad_state = 15,           ///< A saved state or plan that is cut, altered or impossible.
  malformed_input = 16,     ///< A source is not what its format promises: JSON, CSV, an archive, a header.
  sidecar_mismatch = 17,    ///< A source's index or partner file does not belong to it, or is older.
  missing_shard = 18,       ///< Others of its dataset are there; the message names its number.
  misplaced_shard = 19,     ///< Without a manifest: names that sort other than shard numbers, or a number twice.

  // The request cannot be carried out as given.
  invalid_option = 30,    ///< An option out of its range; the message names it and the range.
  empty_input = 31,       ///< Nothing to read: no record, no shard, no file.
  no_steps = 32,          ///< The plan has 0 steps; the message names the largest batch or world that works.
  record_too_large = 33,  ///< A record above the writer's or the format's limit.
  not_indexed = 34,       ///< A file without the index that plans need; the message says what to do.
  unknown_format = 35,    ///< The kind of an input could not be told.
  already_exists = 36,    ///< The output is already there.
  outside_dataset = 37,   ///< A manifest names a file outside its own folder.
  batch_too_large = 38,   ///< A batch does not fit its slot; the message names the record.
  budget_too_small = 39,  ///< The memory budget cannot hold one step, or the open runs; the message names what fits.
  resource_limit = 40,    ///< A limit of the process (descriptors, locked memory) is too low.
  state_mismatch = 41,    ///< A state or plan of another dataset or order; the message names what differs.
  too_many_changes = 42,  ///< More changes of world in one epoch than a state can hold.
  several_datasets = 43,  ///< A folder of several datasets; the message names them.
  foreign_file = 44,      ///< A file of another format; the message says how to pack what it holds.

  // The call came at the wrong time.
  closed = 60,      ///< The object was finished, stopped or moved from.
  busy = 61,        ///< A second `async_next` while one is outstanding.
  slots_held = 62,  ///< The caller holds as many batches as it was promised; release one.
  not_yet = 63,     ///< Nothing came in the time that the caller gave; ask again.

  // Memory.
  registration_failed = 80,  ///< Page-locked memory was required and could not be had.
  device_failed = 81,        ///< A CUDA call failed, or there is no device; the message names the call and the reason.
  stream_captured = 82,      ///< The stream is being captured into a CUDA graph, so that it has no end to wait for yet.
};

/// How a failure should be answered; the command's exit codes follow it.
enum class ErrorKind {
  damaged,    ///< Data that is cut, altered or contradicts itself.
  usage,      ///< The caller can fix it by asking for something else.
  io,         ///< The operating system refused: unreadable, vanished, full.
  cancelled,  ///< Asked for by the caller.
};

/// The one category of `Errc`. It has a fixed id, so codes compare equal across shared objects.
const boost::system::error_category& error_category() noexcept;

/// Makes `Errc` usable where a `boost::system::error_code` is wanted.
boost::system::error_code make_error_code(Errc code) noexcept;

/// A failure as a value: a code, and where known the file, the byte offset and what to do.
///
/// Cost: allocates once, on failure only; copies share the text. Where there is no memory for it, the text is what is missing.
class [[nodiscard]] Error {
 public:
  /// Success; `boost::system::result::error()` gives it where there is a value.
  Error() noexcept = default;
  explicit Error(boost::system::error_code code, std::string detail = {}) noexcept;
  explicit Error(Errc code, std::string detail = {}) noexcept;

  /// The error of the last system call, taken from `errno_value`.
  static Error from_errno(int errno_value, std::string detail = {}) noexcept;

  /// The same error with the file, or the file and the byte offset, added where none was known yet.
  Error in_file(std::string_view path) const noexcept;
  Error at(std::string_view path, std::uint64_t offset) const noexcept;

  const boost::system::error_code& code() const noexcept { return code_; }
  bool is(Errc code) const noexcept { return code_ == make_error_code(code); }
  ErrorKind kind() const noexcept;

  /// Empty where no file is involved.
  const std::string& path() const noexcept;
  /// Byte offset in `path()`.
  std::optional<std::uint64_t> offset() const noexcept;
  /// What happened in words, without file and offset.
  const std::string& detail() const noexcept;

  /// One line: `path:offset: what: detail`. What a terminal would not show is escaped: `\n`, `\x1b`, `\u202e`.
  std::string to_string() const;

 private:
  struct Text;
  boost::system::error_code code_;
  std::shared_ptr<const Text> text_;
};

/// A value or the reason why there is none. `value()` throws `Exception`; testing it never throws.
template <class T>
using Result = boost::system::result<T, Error>;

/// Thrown by `Result::value()` and by the iterator interfaces; carries the `Error` unchanged.
class Exception : public std::exception {
 public:
  explicit Exception(Error error);
  const char* what() const noexcept override { return what_.c_str(); }
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
  std::string what_;
};

/// Found by `boost::system::result`; not for direct use.
[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& where);

}  // namespace dovetail

template <>
struct boost::system::is_error_code_enum<dovetail::Errc> : std::true_type {};
