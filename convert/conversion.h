// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/convert.h>
#include <dovetail/error.h>

#include "convert/conversion_spec.h"
#include "convert/input_files.h"
#include "convert/input_line.h"
#include "convert/part_files.h"
#include "convert/record_split.h"
#include "convert/shard_jobs.h"
#include "convert/survey.h"
#include "sources/bytes/skip_count.h"
#include "writer/file_lock.h"
#include "writer/staging.h"

namespace dovetail::detail {

/// One call of `convert`, from the sources to the manifest.
///
/// Ownership: borrows folder and options.
class Conversion {
 public:
  Conversion(const std::string& folder, const ConvertOptions& options) : target_(folder), options_(options) {}

  Result<ConvertReport> run();

 private:
  Result<ConvertReport> convert_files();
  Result<void> plan();
  Result<void> choose_shards();
  unsigned jobs() const noexcept;
  ConversionSpec describe() const;
  Result<void> check_input() const;

  Result<void> open_staging();
  Result<std::optional<ConvertReport>> finish_earlier();
  Result<ConvertReport> convert_staged();
  Result<void> lock_part();
  void unlock_part();
  Result<void> check_other_parts() const;
  Result<void> begin(const std::optional<ConversionSpec>& earlier);
  Result<void> check_nobody_elses() const;
  Result<void> remove_earlier(bool only_partial) const;
  /// Returns the part if all its shards are finished, and otherwise nothing.
  Result<std::optional<WholePart>> finished_part() const;
  Result<WholePart> write_part();
  /// Cleans up after a failure. Adds to the error what remains.
  Error give_up(const Error& error);
  void remove_part();
  Error advised(const Error& error, const std::string& advice) const;
  ConvertReport report_of(const WholePart& part) const;
  void add_input(ConvertReport& report) const;

  const std::string& target_;
  const ConvertOptions& options_;
  ConvertPart part_;
  PartFiles own_{ConvertPart{}};
  std::optional<Staging> staging_;
  std::optional<FileLock> part_lock_;
  SkipCount skips_;
  RecordNotes record_notes_;
  std::vector<std::string> notes_;
  std::optional<InputFiles> files_;
  std::optional<InputLine> line_;
  InputIdentity input_;  // taken when the line was laid out
  WriterOptions shard_;  // completed from the sources
  std::optional<RecordSplit> split_;
  Survey survey_;
  std::uint32_t shards_ = 1;
  ConversionSpec spec_;
  DatasetId dataset_id_;
  std::optional<ShardTally> tally_;
  std::uint32_t kept_ = 0;
  bool keep_staged_ = true;  // whether finished shards stay after a failure
  bool whole_ = false;
};

/// Errors: `invalid_option`.
Result<void> check_options(const std::string& folder, const ConvertOptions& options);

/// What is probably not meant in a conversion that succeeded, for `ConvertReport::notes`.
/// `run_bytes` is the target size of runs, and 0 if their length was given. Without memory for them
/// there are none: the conversion has succeeded all the same.
std::vector<std::string> conversion_notes(const ConvertReport& report, bool shuffled, std::uint64_t run_bytes) noexcept;

}  // namespace dovetail::detail
