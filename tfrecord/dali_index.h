// SPDX-License-Identifier: Apache-2.0
// The text index of a TFRecord file that NVIDIA DALI reads and its `tfrecord2idx` writes. Each
// record has a line: the offset of its frame, a space, and the frame's size, in decimal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <dovetail/error.h>

#include "sources/file_records.h"
#include "writer/output_file.h"

namespace dovetail::detail {

/// Compares such an index, line by line, with the records of the file.
/// Errors: `index_mismatch` with the path of the index, the offset of the line and its number; the
///         system's.
class DaliIndexCheck {
 public:
  static Result<DaliIndexCheck> open(const std::string& path);

  /// Compares the next line with the next record's frame.
  Result<void> expect(std::uint64_t offset, std::uint64_t bytes);
  /// Checks that no line is left.
  Result<void> expect_end();

 private:
  DaliIndexCheck(std::string path, std::unique_ptr<FileRecords> lines)
      : path_(std::move(path)), lines_(std::move(lines)) {}
  Error disagrees(const std::string& what) const;

  std::string path_;
  std::unique_ptr<FileRecords> lines_;
  std::uint64_t line_ = 0;
};

/// Writes such an index. The file gets its name in `finish`; without that call, no file remains.
/// Errors: the system's; the first is final.
class DaliIndexOutput {
 public:
  static Result<DaliIndexOutput> create(const std::string& path);

  Result<void> add(std::uint64_t offset, std::uint64_t bytes);
  /// Completes the index, and replaces an existing one.
  Result<void> finish();

 private:
  explicit DaliIndexOutput(OutputFile file) : file_(std::move(file)) {}
  Result<void> flush();

  OutputFile file_;
  std::string text_;
};

}  // namespace dovetail::detail
