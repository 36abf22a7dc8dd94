// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/tfrecord_export.h>

#include "writer/output_file.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

/// Compresses a stream of bytes: bytes in, bytes out.
class StreamEncoder {
 public:
  virtual ~StreamEncoder() = default;
  /// Appends to `out` what is complete of the stream once `bytes` have come.
  virtual Result<void> add(ByteView bytes, std::vector<std::byte>& out) = 0;
  /// Appends the rest. Last call.
  virtual Result<void> finish(std::vector<std::byte>& out) = 0;
};

/// Errors: the system's, where memory is short.
Result<std::unique_ptr<StreamEncoder>> make_stream_encoder(TfrecordCompression compression);

/// One TFRecord file on its way to the disk.
///
/// Threads: none; one thread at a time.
/// Errors:  as `OutputFile`: the first is final.
class TfrecordOutput {
 public:
  static Result<TfrecordOutput> create(std::shared_ptr<const OutputFolder> folder, const std::string& name,
                                       TfrecordCompression compression);

  Result<void> append(ByteView record);
  /// Completes the file, which is synced and not published. Last call.
  Result<OutputFile> finish();

 private:
  TfrecordOutput(OutputFile file, std::unique_ptr<StreamEncoder> encoder);
  Result<void> flush();

  OutputFile file_;
  std::unique_ptr<StreamEncoder> encoder_;
  std::vector<std::byte> buffer_;
};

}  // namespace dovetail::detail
