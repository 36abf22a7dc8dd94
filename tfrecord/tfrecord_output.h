// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/tfrecord_export.h>

#include "writer/output_file.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

/// Compresses a stream of bytes. Does no I/O.
class StreamEncoder {
 public:
  virtual ~StreamEncoder() = default;
  /// Compresses `bytes`, and appends the finished part of the stream to `out`.
  virtual void add(ByteView bytes, std::vector<std::byte>& out) = 0;
  /// Appends the rest of the stream. Last call.
  virtual void finish(std::vector<std::byte>& out) = 0;
};

/// One TFRecord file being written.
///
/// Threads: none; one thread at a time.
/// Errors:  as `OutputFile`: the first is final.
class TfrecordOutput {
 public:
  static Result<TfrecordOutput> create(std::shared_ptr<const OutputFolder> folder, const std::string& name,
                                       TfrecordCompression compression);

  Result<void> append(ByteView record);
  /// Completes the file, which is then synced, but not published. Last call.
  Result<OutputFile> finish();

 private:
  TfrecordOutput(OutputFile file, std::unique_ptr<StreamEncoder> encoder)
      : file_(std::move(file)), encoder_(std::move(encoder)) {}
  Result<void> flush();

  OutputFile file_;
  std::unique_ptr<StreamEncoder> encoder_;
  std::vector<std::byte> buffer_;
};

}  // namespace dovetail::detail
