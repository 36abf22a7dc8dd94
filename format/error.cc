// SPDX-License-Identifier: Apache-2.0
#include <dovetail/error.h>

#include <new>
#include <utility>

#include <boost/system/errc.hpp>
#include <boost/system/generic_category.hpp>

#include "format/text/visible.h"

namespace dovetail {

struct Error::Text {
  std::string path;
  std::optional<std::uint64_t> offset;
  std::string detail;
};

namespace {

// From this value on, the caller or the machine is at fault. Smaller values mean damaged bytes.
constexpr int kFirstUsage = 30;

constexpr struct {
  Errc code;
  const char* text;
} kMessages[] = {
    {Errc::not_dovetail, "not a Dovetail file"},
    {Errc::unsupported_version, "unsupported format version or feature"},
    {Errc::unfinished, "unfinished file"},
    {Errc::truncated, "truncated"},
    {Errc::header_checksum, "header checksum mismatch"},
    {Errc::payload_checksum, "payload checksum mismatch"},
    {Errc::misplaced_block, "misplaced block"},
    {Errc::bad_length, "impossible length"},
    {Errc::decompression, "decompression failed"},
    {Errc::bad_message, "malformed message"},
    {Errc::index_mismatch, "index, footer and blocks disagree"},
    {Errc::manifest_mismatch, "manifest and shard disagree"},
    {Errc::tfrecord_checksum, "TFRecord checksum mismatch"},
    {Errc::file_changed, "file has changed"},
    {Errc::bad_state, "damaged state"},
    {Errc::malformed_input, "malformed input"},
    {Errc::sidecar_mismatch, "file and index disagree"},
    {Errc::missing_shard, "shards are missing"},
    {Errc::misplaced_shard, "shards are out of order"},
    {Errc::invalid_option, "invalid option"},
    {Errc::empty_input, "nothing to read"},
    {Errc::no_steps, "plan has no steps"},
    {Errc::record_too_large, "record too large"},
    {Errc::not_indexed, "file has no index"},
    {Errc::unknown_format, "unknown input format"},
    {Errc::already_exists, "already exists"},
    {Errc::outside_dataset, "file outside the dataset's folder"},
    {Errc::batch_too_large, "batch does not fit its slot"},
    {Errc::budget_too_small, "memory budget too small"},
    {Errc::resource_limit, "process limit too low"},
    {Errc::state_mismatch, "state of another run"},
    {Errc::too_many_changes, "too many changes of world"},
    {Errc::several_datasets, "more than one dataset"},
    {Errc::foreign_file, "not a Dovetail file, but another format"},
    {Errc::rejected_record, "record rejected"},
    {Errc::closed, "already closed"},
    {Errc::busy, "in use"},
    {Errc::slots_held, "too many batches held"},
    {Errc::not_yet, "timed out"},
    {Errc::registration_failed, "memory could not be registered"},
    {Errc::device_failed, "the CUDA device cannot be used"},
    {Errc::stream_captured, "the stream is being captured into a graph"},
};

const char* message_of(int value) noexcept {
  for (const auto& message : kMessages) {
    if (static_cast<int>(message.code) == value) return message.text;
  }
  return "unknown error";
}

// Boost makes this destructor protected and not virtual on purpose: no code deletes a category.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class Category final : public boost::system::error_category {
 public:
  // Two codes are equal if the ids, not the addresses, of their categories are equal. So the
  // library may be linked into several shared objects.
  constexpr Category() noexcept : error_category(0x9E3C61D5A84F20B7ull) {}

  const char* name() const noexcept override { return "dovetail"; }
  std::string message(int value) const override { return message_of(value); }
  const char* message(int value, char*, std::size_t) const noexcept override { return message_of(value); }
};
#pragma GCC diagnostic pop

// Constant-initialised and never destroyed: codes may be used before and after main().
constinit const Category kCategory;

}  // namespace

const boost::system::error_category& error_category() noexcept {
  return kCategory;
}

boost::system::error_code make_error_code(Errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

Error::Error(boost::system::error_code code, std::string detail) noexcept : code_(code) {
  if (detail.empty()) return;
  try {
    text_ = std::make_shared<Text>(Text{{}, {}, std::move(detail)});
  } catch (const std::bad_alloc&) {  // only the code remains
  }
}

Error::Error(Errc code, std::string detail) noexcept : Error(make_error_code(code), std::move(detail)) {}

Error Error::from_errno(int errno_value, std::string detail) noexcept {
  return Error(boost::system::error_code(errno_value, boost::system::generic_category()), std::move(detail));
}

Error Error::in_file(std::string_view path) const noexcept try {
  if (path.empty() || !this->path().empty()) return *this;
  Error error = *this;
  error.text_ = std::make_shared<Text>(Text{std::string(path), offset(), detail()});
  return error;
} catch (const std::bad_alloc&) {
  return *this;
}

Error Error::at(std::string_view path, std::uint64_t offset) const noexcept try {
  // An offset belongs to one file: do not attach the offset to an error that names another file.
  const bool other_file = !path.empty() && !this->path().empty() && path != this->path();
  if (other_file || this->offset().has_value()) return in_file(path);
  Error error = *this;
  error.text_ = std::make_shared<Text>(Text{this->path().empty() ? std::string(path) : this->path(), offset, detail()});
  return error;
} catch (const std::bad_alloc&) {
  return *this;
}

ErrorKind Error::kind() const noexcept {
  if (code_ == boost::system::errc::operation_canceled) return ErrorKind::cancelled;
  if (code_.category() != error_category() || is(Errc::device_failed)) return ErrorKind::io;
  return code_.value() < kFirstUsage ? ErrorKind::damaged : ErrorKind::usage;
}

namespace {
const std::string& empty_string() noexcept {
  static const std::string empty;
  return empty;
}
}  // namespace

const std::string& Error::path() const noexcept {
  return text_ ? text_->path : empty_string();
}

std::optional<std::uint64_t> Error::offset() const noexcept {
  return text_ ? text_->offset : std::nullopt;
}

const std::string& Error::detail() const noexcept {
  return text_ ? text_->detail : empty_string();
}

std::string Error::to_string() const {
  std::string text = format::visible(path());
  if (offset()) {
    text += text.empty() ? "offset " : ":";
    text += std::to_string(*offset());
  }
  if (!text.empty()) text += ": ";
  text += code_.message();
  if (!detail().empty()) text += ": " + format::visible(detail());
  return text;
}

Exception::Exception(Error error) : error_(std::move(error)), what_(error_.to_string()) {}

void throw_exception_from_error(const Error& error, const boost::source_location&) {
  throw Exception(error);
}

}  // namespace dovetail
