// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_report.h"

#include <algorithm>

#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "tools/command/render.h"

namespace dovetail::tools {

namespace {

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

std::uint64_t mean_record(const BenchReport& report) {
  return report.records > 0 ? report.raw_bytes / report.records : 0;
}

boost::json::value rate_or_null(double bytes_per_second) {
  return bytes_per_second > 0 ? boost::json::value(bytes_per_second) : boost::json::value(nullptr);
}

boost::json::object pass_json(const ReadingPass& pass) {
  return {{"steps", pass.steps},
          {"rounds", pass.rounds},
          {"batches", pass.batches},
          {"rows", pass.rows},
          {"bytes", pass.bytes},
          {"seconds", pass.seconds},
          {"bytes_per_second", pass.bytes_per_second()},
          {"rows_per_second", pass.rows_per_second()},
          {"reads", pass.reads},
          {"waiting_reads", pass.waiting_reads},
          {"waiting_for_storage", pass.waiting_for_storage},
          {"time_planning", pass.time_planning},
          {"time_reading", pass.time_reading},
          {"time_decoding", pass.time_decoding},
          {"time_gathering", pass.time_gathering}};
}

std::string pass_text(const ReadingPass& pass) {
  std::string text = human_rate(pass.bytes_per_second()) + ", " + decimal(pass.rows_per_second(), 0) + " records/s, " +
                     format::count_of(pass.steps, "step");
  if (pass.rounds > 1) text += ", " + std::to_string(pass.rounds) + " times";
  text += ", " + decimal(pass.seconds, 2) + " s";
  if (pass.waiting_reads > 0) text += "; " + percent(pass.waiting_share(), 0) + " of its reads waited for storage";
  return text;
}

std::string work_text(const ReadingPass& pass) {
  return "planning " + percent(share(pass.time_planning, pass.work()), 0) + ", reading " +
         percent(share(pass.time_reading, pass.work()), 0) + ", decoding " +
         percent(share(pass.time_decoding, pass.work()), 0) + ", gathering " +
         percent(share(pass.time_gathering, pass.work()), 0);
}

void add_limits(const BenchReport& report, Listing& listing) {
  const Limits& limits = report.limits;
  listing.add("page cache", human_rate(limits.read_rate()) + " of stored bytes, one thread");
  listing.add("checksum", human_rate(limits.check_rate()));
  if (limits.compressed_bytes > 0) listing.add("decoding", human_rate(limits.decode_rate()) + " of records");
  listing.add("row copy", limits.copied_bytes > 0 ? human_rate(limits.copy_rate()) + " of records"
                                                  : "none: records are read straight into their rows");
  std::string together = human_rate(limits.together()) + " of records, one after the other";
  if (report.threads > 1)
    together += "; " + human_rate(report.limit()) + " with " + format::count_of(report.threads, "thread");
  listing.add("together", together);
}

}  // namespace

boost::json::object to_json(const BenchReport& report) {
  const Limits& limits = report.limits;
  const Verdict verdict = judge(report);
  return {{"dataset",
           {{"path", format::to_utf8(report.path)},
            {"records", report.records},
            {"shards", report.shards},
            {"raw_bytes", report.raw_bytes},
            {"stored_bytes", report.stored_bytes},
            {"mean_record_bytes", mean_record(report)},
            {"sampled_blocks", report.sampled_blocks},
            {"compressed_share", report.compressed_share}}},
          {"rank", report.rank},
          {"world", report.world},
          {"batch", report.batch},
          {"threads", report.threads},
          {"cores", report.cores},
          {"storage", to_string(report.second.storage)},
          {"storage_note", report.second.storage_note},
          {"limits",
           {{"page_cache", rate_or_null(limits.read_rate())},
            {"checksum", rate_or_null(limits.check_rate())},
            {"decoding", rate_or_null(limits.decode_rate())},
            {"row_copy", rate_or_null(limits.copy_rate())},
            {"one_thread", rate_or_null(limits.together())},
            {"all_threads", rate_or_null(report.limit())}}},
          {"first_pass", pass_json(report.first)},
          {"second_pass", pass_json(report.second)},
          {"share_of_limit", report.share_of_limit()},
          {"limited_by", to_string(verdict.limited_by)},
          {"verdict", verdict.sentence}};
}

std::string to_text(const BenchReport& report) {
  Listing listing;
  listing.add("dataset", format::count_of(report.records, "record") + " in " +
                             format::count_of(report.shards, "shard") + ", " + human_bytes(mean_record(report)) +
                             " each on average");
  listing.add("codec",
              percent(report.compressed_share, 0) + " of the bytes compressed, in " +
                  format::count_of(report.sampled_blocks, "block") + " looked at; " +
                  decimal(share(static_cast<double>(report.stored_bytes), static_cast<double>(report.raw_bytes)), 2) +
                  " stored for each byte");
  listing.add("reader", "rank " + std::to_string(report.rank) + " of " + std::to_string(report.world) +
                            ", batches of " + std::to_string(report.batch) + ", " + std::to_string(report.threads) +
                            " of " + std::to_string(report.cores) + " cores");
  const std::string& note = report.second.storage_note;
  listing.add("storage", std::string(to_string(report.second.storage)) + (note.empty() ? "" : ": " + note));
  std::string text = listing.to_text() + "\nWhat this machine can do with these blocks\n";

  Listing limits;
  add_limits(report, limits);
  text += limits.to_text() + "\nWhat the reader reaches\n";

  Listing reading;
  reading.add("first pass", pass_text(report.first));
  reading.add("second pass", pass_text(report.second));
  reading.add("of the limit", percent(report.share_of_limit(), 0));
  reading.add("work", work_text(report.second));
  return text + reading.to_text() + '\n' + judge(report).sentence + '\n';
}

}  // namespace dovetail::tools
