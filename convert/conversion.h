// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <dovetail/convert.h>
#include <dovetail/error.h>

#include "convert/facts.h"
#include "convert/input_files.h"
#include "convert/input_line.h"
#include "convert/parts.h"
#include "convert/record_split.h"
#include "convert/shard_jobs.h"
#include "convert/survey.h"
#include "convert/work_folder.h"
#include "sources/bytes/skip_count.h"

namespace dovetail::detail {

/// One call of `convert`, from the sources to the manifest.
///
/// Ownership: borrows folder and options.
class Conversion {
 public:
  Conversion(const std::string& folder, const ConvertOptions& options) : target_(folder), options_(options) {}

  Result<ConvertReport> run();

 private:
  Result<InputFiles> open_input() const;
  Result<ConvertReport> convert_files();
  Result<void> plan();
  Result<void> choose_shards();
  Facts describe() const;
  Result<void> check_input() const;
  Result<void> check_targets() const;

  Result<ConvertReport> run_in(WorkFolder& work);
  Result<std::optional<ConvertReport>> finish_earlier(WorkFolder& work);
  Result<void> begin(const WorkFolder& work, bool fresh);
  Result<std::optional<Facts>> earlier_facts(const WorkFolder& work) const;
  /// The part that is finished, with all of its shards, or nothing.
  Result<std::optional<WholePart>> finished_part(const WorkFolder& work) const;
  Result<bool> has_shards(const WorkFolder& work, const WholePart& part) const;
  Result<WholePart> write_part_of(const WorkFolder& work);
  /// What is left behind after a failure, and the error that says so.
  Error give_up(WorkFolder& work, const Error& error);
  Error advised(const Error& error, const std::string& advice) const;
  ConvertReport report_of(const WholePart& part) const;
  void add_input(ConvertReport& report) const;

  const std::string& target_;
  const ConvertOptions& options_;
  ConvertPart part_;
  SkipCount skips_;
  std::optional<InputFiles> files_;
  std::optional<InputLine> line_;
  InputIdentity input_;  // as it was when the line was laid
  WriterOptions shard_;  // with what the sources carry on
  std::optional<RecordSplit> split_;
  Survey survey_;
  std::uint32_t shards_ = 1;
  Facts facts_;
  DatasetId dataset_id_;
  std::optional<ShardTally> tally_;
  std::uint32_t kept_ = 0;
  bool keep_all_ = false;  // a failure is none of the work folder's, or its part is whole
  bool whole_ = false;
};

/// Errors: `invalid_option`.
Result<void> check_options(const std::string& folder, const ConvertOptions& options);

}  // namespace dovetail::detail
