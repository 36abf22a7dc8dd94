// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/bench/bench_report.h"

namespace dovetail::tools {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

/// A second of one thread that copies out of the page cache, as fast as the bare walk.
BenchReport usual() {
  BenchReport report;
  report.records = 1000;
  report.raw_bytes = report.stored_bytes = 100 * kMiB;
  report.piece_bytes = 64 << 10;
  report.cores = 2;
  report.cat = {.cached_share = 1, .bytes = 100 * kMiB, .seconds = 0.1};
  report.limits.read_seconds = 0.6;
  report.limits.check_seconds = 0.1;
  report.limits.copy_seconds = 0.3;
  report.limits.raw_bytes = 1000 * kMiB;
  report.second = {.batches = 1000,
                   .rows = 10000,
                   .bytes = 1000 * kMiB,
                   .seconds = 1,
                   .reads = 16000,
                   .read_bytes = 1000 * kMiB,
                   .time_planning = 0.1,
                   .time_reading = 0.6,
                   .time_gathering = 0.3,
                   .storage_note = {}};
  report.first = report.second;
  return report;
}

/// The first pass waits for storage most of its time, and gets so many bytes a second.
void make_cold(BenchReport& report, std::uint64_t bytes, std::uint64_t cat_bytes) {
  report.first = {.batches = 1,
                  .rows = 100,
                  .bytes = bytes,
                  .seconds = 1,
                  .reads = 10,
                  .read_bytes = bytes,
                  .waiting_reads = 10,
                  .time_reading = 0.1,
                  .waiting_for_storage = 0.9,
                  .storage_note = {}};
  report.cat = {.cached_share = 0, .bytes = cat_bytes, .seconds = 1};
}

struct VerdictCase {
  std::string name;
  std::function<void(BenchReport&)> change;
  Part limited_by;
  std::string says;
  std::string says_not = {};
  bool cold = false;
};

const std::vector<VerdictCase> kCases{
    {"AtTheLimit", [](BenchReport&) {}, Part::reading, "as fast as 1 thread of this machine can be: 100 %", "convert"},
    {"SmallReads", [](BenchReport& r) { r.piece_bytes = 4096; }, Part::reading,
     "Convert with --run-bytes 256K for longer reads."},
    {"SmallReadsOfLongRuns",
     [](BenchReport& r) {
       r.piece_bytes = 4096;
       r.piece_raw_bytes = 250 << 10;
     },
     Part::reading, "Convert with --run-bytes 1M for longer reads.", "256K"},
    {"SmallReadsOfVeryLongRuns",
     [](BenchReport& r) {
       r.piece_bytes = 4096;
       r.piece_raw_bytes = 1 << 20;
     },
     Part::reading, "goes to reading.", "--run-bytes"},
    {"SmallBatchesOfReads", [](BenchReport& r) { r.second.batches = 1000000; }, Part::reading, "Larger batches"},
    {"SlowerThanTheWalk", [](BenchReport& r) { r.limits.raw_bytes *= 2; }, Part::reading, "60 %, goes to reading.",
     "as fast as"},
    {"Decoding",
     [](BenchReport& r) {
       r.compressed_share = 1;
       r.limits.decode_seconds = r.second.time_decoding = 2;
       r.second.seconds = 3;
     },
     Part::decoding, "Convert with a faster --codec, or none"},
    {"Checks",
     [](BenchReport& r) {
       r.limits.check_seconds = r.second.time_decoding = 2;
       r.second.seconds = 3;
     },
     Part::checks, "goes to checks."},
    {"SmallRecords",
     [](BenchReport& r) {
       r.records = r.raw_bytes / 8;
       r.second.time_gathering = 2;
     },
     Part::copying, "pack several records into one"},
    {"LargeRecords", [](BenchReport& r) { r.second.time_gathering = 2; }, Part::copying, "goes to copying.", "pack"},
    {"Order",
     [](BenchReport& r) {
       r.records = r.raw_bytes / 8;
       r.second.time_planning = 2;
     },
     Part::order, "pack several records into one"},
    {"LargeRecordsGoStraightIntoRows",
     [](BenchReport& r) {
       r.second.direct_bytes = r.second.read_bytes;
       r.second.time_reading = 0;
       r.second.time_gathering = 2;
       r.limits.copy_seconds = 0;
     },
     Part::reading, "goes to reading."},
    {"Columns",
     [](BenchReport& r) {
       r.columns = true;
       r.second.time_gathering = 2;
     },
     Part::columns, "goes to columns."},
    {"SmallBatches",
     [](BenchReport& r) {
       r.second.batches = 1000000;
       r.second.seconds = 4;
     },
     Part::handover, "Larger batches"},
    {"LargeBatches", [](BenchReport& r) { r.second.seconds = 4; }, Part::handover,
     "The largest share of the time, 75 %, goes to handover.", "Larger batches"},
    {"NothingStaysCached",
     [](BenchReport& r) {
       r.second.seconds = 4;
       r.second.waiting_for_storage = 3;
     },
     Part::storage, "do not stay in the page cache"},
    {"PastThePageCache",
     [](BenchReport& r) {
       r.second.seconds = 4;
       r.second.waiting_for_storage = 3;
       r.second.storage = StorageKind::io_uring_direct;
     },
     Part::storage, "use --storage automatic"},
    {"ATrialHelps",
     [](BenchReport& r) {
       r.trials.push_back({.option = "--decode-threads 2", .pass = r.second});
       r.trials.back().pass.rows *= 2;
     },
     Part::reading, "Use --decode-threads 2: 2.0 times as fast."},
    {"ATrialDoesNotHelp",
     [](BenchReport& r) { r.trials.push_back({.option = "--decode-threads 2", .pass = r.second}); }, Part::reading, "",
     "--decode-threads"},
    {"ColdAsFastAsCat", [](BenchReport& r) { make_cold(r, 90 * kMiB, 100 * kMiB); }, Part::reading,
     "as fast as this machine reads these files. If the records compress, convert with --codec zstd to read fewer "
     "bytes.",
     "--run-bytes", true},
    {"ColdAndFast", [](BenchReport& r) { make_cold(r, 500 * kMiB, 600 * kMiB); }, Part::reading,
     "as fast as this machine reads these files.", "zstd", true},
    {"ColdSingleReads", [](BenchReport& r) { make_cold(r, 10 * kMiB, 100 * kMiB); }, Part::reading,
     "Convert with --run-bytes 256K", "as fast as this machine reads these files", true},
    {"ColdSingleReadsOfLongRuns",
     [](BenchReport& r) {
       make_cold(r, 10 * kMiB, 100 * kMiB);
       r.piece_raw_bytes = 250 << 10;
     },
     Part::reading, "It waits for single reads. Convert with --run-bytes 1M", "256K", true},
    {"ColdLongReads",
     [](BenchReport& r) {
       make_cold(r, 10 * kMiB, 100 * kMiB);
       r.piece_bytes = 256 << 10;
     },
     Part::reading, "storage is the limit", "--run-bytes", true},
    {"ColdDirectHelps",
     [](BenchReport& r) {
       make_cold(r, 10 * kMiB, 100 * kMiB);
       r.trials.push_back({.option = "--storage io_uring_direct", .cold = true, .pass = r.first});
       r.trials.back().pass.read_bytes *= 5;
     },
     Part::reading, "Use --storage io_uring_direct: 5.0 times as fast.", "", true},
    {"TooShort",
     [](BenchReport& r) {
       r.second.bytes /= 10;
       r.raw_bytes *= 100;
       r.stored_bytes *= 100;
     },
     Part::reading, "Raise --seconds", "The largest share"},
};

class BenchVerdictTest : public ::testing::TestWithParam<VerdictCase> {};

TEST_P(BenchVerdictTest, NamesWhatLimitsAndWhatHelps) {
  BenchReport report = usual();
  GetParam().change(report);
  const Verdict verdict = judge(report);
  EXPECT_EQ(to_string(verdict.limited_by), to_string(GetParam().limited_by));
  EXPECT_EQ(verdict.first_limited_by.has_value(), GetParam().cold);
  EXPECT_NE(verdict.sentences.find(GetParam().says), std::string::npos) << verdict.sentences;
  if (!GetParam().says_not.empty()) {
    EXPECT_EQ(verdict.sentences.find(GetParam().says_not), std::string::npos) << verdict.sentences;
  }
  const Shares shares = report.shares(report.second);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Verdicts, BenchVerdictTest, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace dovetail::tools
