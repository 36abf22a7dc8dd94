// SPDX-License-Identifier: Apache-2.0
#include "convert/survey.h"

#include <algorithm>
#include <string>
#include <vector>

#include "format/block_bounds.h"

namespace dovetail::detail {

namespace {

constexpr std::uint64_t kInputBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kRawBytes = std::uint64_t{16} << 20;  // for input that compresses to almost nothing

}  // namespace

Error no_record(const InputLine& line, const SkipTally& skipped) {
  const std::string what = "no record in any source";
  const std::vector<SkippedRecord> first = skipped.first();
  if (first.empty()) return Error(Errc::empty_input, what).in_file(line.sources().front().path);
  const Error& why = first.front().error;
  const std::string reason = why.code().message() + (why.detail().empty() ? "" : ": ") + why.detail();
  const Error error(Errc::empty_input,
                    what + "; skipped " + std::to_string(skipped.count()) + ", the first because of " + reason);
  return why.offset() ? error.at(why.path(), *why.offset()) : error.in_file(why.path());
}

Result<Survey> survey(const InputLine& line, std::uint64_t run_bytes, const std::function<bool()>& cancelled) {
  Survey survey;
  format::FirstRecords sizes;
  bool run_known = false;
  LineCursor cursor(line);
  cursor.watch(cancelled);
  auto moved = cursor.seek(0);
  for (; moved && cursor.has_record(); moved = cursor.advance()) {
    const bool sized = cursor.place() >= kInputBytes || sizes.bytes >= kRawBytes;
    if (sized && run_known) {
      const double scale =
          static_cast<double>(line.bytes()) / static_cast<double>(std::max<std::uint64_t>(cursor.place(), 1));
      survey.records = static_cast<std::uint64_t>(static_cast<double>(sizes.records) * scale);
      survey.raw_bytes = static_cast<std::uint64_t>(static_cast<double>(sizes.bytes) * scale);
      return survey;
    }
    sizes.add(cursor.record().size());
    if (!run_known && format::can_choose_run(run_bytes, sizes)) {
      survey.run_records = format::choose_run_records(run_bytes, sizes);
      run_known = true;
    }
  }
  if (!moved) return moved.error();
  if (sizes.records == 0) return no_record(line, cursor.take_skips(0));
  if (!run_known) survey.run_records = format::choose_run_records(run_bytes, sizes);
  survey.records = sizes.records;
  survey.raw_bytes = sizes.bytes;
  return survey;
}

}  // namespace dovetail::detail
