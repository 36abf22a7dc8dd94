// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "tools/command/messages.h"

namespace dovetail::tools {

/// Buffered output that returns its failures, including a full disk and a closed pipe.
///
/// Errors: the first failure is kept; later writes do nothing, and `finish()` returns it.
class Sink {
 public:
  static Sink standard_output();
  /// Creates or truncates a file.
  static Result<Sink> create(const std::string& path);
  /// Creates a file. Nothing may have this name, not even a link. Errors: EEXIST; those of the
  /// system.
  static Result<Sink> create_new(const std::string& path);

  Sink(Sink&& other) noexcept;
  Sink& operator=(Sink&&) = delete;
  ~Sink();

  void write(std::string_view text);
  void write(ByteView bytes) { write(as_chars(bytes)); }
  /// False after a failed write. Further output is lost.
  bool good() const noexcept { return good_; }
  /// Flushes the buffer, and closes a file.
  Result<void> finish();

 private:
  Sink(int descriptor, std::string name);
  static Result<Sink> open(const std::string& path, int flags);
  void flush();
  void write_through(std::string_view text);

  int descriptor_;
  std::string name_;
  std::string buffer_;
  bool good_ = true;
  int errno_ = 0;
};

/// Writes a text to standard output and returns `code`. Output to a closed pipe is not an error.
Result<int> print(std::string_view text, int code = kExitGood);

}  // namespace dovetail::tools
